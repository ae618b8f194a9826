import type { Json, JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { StoredCall, StoredMessage } from './commit.ts';

export interface RunRow {
  id: string;
  projectId: string;
  door: string;
  agentId: string | null;
  entityId: string | null;
  snapshotId: string;
  threadId: string;
  parentRunId: string | null;
  rootRunId: string;
  triggerType: string;
  triggerMessageId: string | null;
  triggerSeq: number | null;
  trigger: JsonObject;
  chainDepth: number;
  serial: boolean;
  status: string;
  step: number;
  epoch: number;
  /** 1, and one more each time that it was taken up again after it had ended. */
  lives: number;
  version: number;
  attempt: number;
  modelIndex: number;
  takeovers: number;
  openCalls: number;
  steers: number;
  waitState: Json;
  remainingMs: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  budgetIds: string[] | null;
  /** Where the message was said that it is about; null where it is about none. */
  spaceId: string | null;
  metadata: JsonObject;
}

/** A run as it is handed to a worker: the row, the thread's tail, the ledger. */
export interface ClaimedRun extends RunRow {
  messages: StoredMessage[];
  lastSeq: number;
  /** Calls that are settled have neither arguments nor results. */
  calls: StoredCall[];
  /** The run could not be loaded: `code` is the SQLSTATE. Messages and calls are empty. */
  unclaimable?: { code: string; message: string };
  /** Other runs may be due that were not claimed. */
  more?: true;
}

/** Only runs whose code tools are all among those of the worker. */
export async function claim(
  db: Database,
  worker: string,
  limit: number,
  doors: string[],
  startEvents: Record<string, string[]>,
  codeTools: readonly string[] = [],
): Promise<ClaimedRun[]> {
  const rows = await db.run<{ run: ClaimedRun }>({
    name: 'claim',
    text: 'select run from troupe.claim($1, $2, $3, $4::jsonb, $5) as run',
    values: [worker, limit, doors, toJsonText(startEvents), codeTools],
  });
  return rows.map((row) => row.run);
}

export interface Resync {
  messages: StoredMessage[];
  openCalls: number;
  steers: number;
  ready: StoredCall[];
}

/** Where a run stands; for a worker that lost the answer to its own commit. */
export async function resync(db: Database, run: string, known: number): Promise<Resync> {
  const rows = await db.run<{ resync: Resync }>({
    name: 'resync',
    text: `select jsonb_build_object('openCalls', r.open_calls, 'steers', r.steers,
        'messages', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m where m.thread_id = r.thread_id and m.seq > $2
          and (m.run_id is not null or (select b.id from troupe.runs b where b.entity_id = r.entity_id and b.trigger_message_id = m.id) is null)),
        'ready', (select coalesce(jsonb_agg(troupe.call_json(c) order by c.position), '[]') from troupe.tool_calls c
          where c.run_id = r.id and c.status = 'requested' and c.waits_for is null)) as resync
      from troupe.runs r where r.id = $1`,
    values: [run, known],
  });
  return rows[0]!.resync;
}
