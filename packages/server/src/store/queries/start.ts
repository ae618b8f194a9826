import type { JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { ClaimedRun } from './claim.ts';
import type { NewMessage, StoredMessage } from './commit.ts';

export interface NewRun {
  id: string;
  door: string;
  agent?: string;
  entity?: string;
  snapshot: string;
  parent?: string;
  root?: string;
  triggerType: string;
  trigger?: JsonObject;
  chainDepth?: number;
  /** One run at a time in its thread; later ones wait their turn. */
  serial?: boolean;
  lane?: string;
  laneLimit?: number;
  wallMs: number;
  historyLimit?: number;
  budgets?: string[];
  metadata?: JsonObject;
  delayMs?: number;
  /** The version of a network that it runs, and what the system gives to tools, encrypted. */
  network?: { id: string; version: number; sealed: JsonObject | null };
}

export interface StartItem {
  /** Take the run at once, if it may start: for a process that has a place free. */
  claim?: { worker: string; events: string[] };
  project: string;
  thread: string;
  createThread?: 'session' | 'space' | 'sub_agent' | 'run';
  /** A new message to a serial thread at rest is refused where the last run failed. */
  unlessFailed?: true;
  message?: NewMessage;
  run?: NewRun;
}

export type Started =
  | {
      ok: true;
      run: string | null;
      thread: string;
      seq: number | null;
      ready?: boolean;
      duplicate: boolean;
      /** When the message was stored; absent where that was before. */
      createdAt?: string;
      /** Set where the run was taken at once: the thread's tail, or null where it holds nothing but the message. */
      claimed?: StoredMessage[] | null;
      lastSeq?: number;
    }
  | { ok: false; code: 'thread_not_found' | 'thread_failed' | 'message_id_taken' };

/** Starts runs in one statement. Runs that ask to be claimed ask for the same worker. */
export async function start(db: Database, items: StartItem[]): Promise<Started[]> {
  const rows = await db.run<{ verdicts: Started[] }>({
    name: 'start',
    text: 'select troupe.start($1::jsonb) as verdicts',
    values: [toJsonText(items)],
  });
  return rows[0]!.verdicts;
}

/** The run as a worker takes it, where it was taken as it started. */
export function claimedRun(item: StartItem, started: Started): ClaimedRun | null {
  const { run, message } = item;
  if (!run || !started.ok || started.claimed === undefined) return null;
  const own: StoredMessage[] = message
    ? [
        {
          id: message.id,
          seq: started.seq!,
          role: message.role,
          content: message.content,
          callId: message.callId ?? null,
          sender: message.sender ?? null,
          runId: null,
          step: message.step ?? null,
          metadata: message.metadata ?? null,
        },
      ]
    : [];
  return {
    id: run.id,
    projectId: item.project,
    door: run.door,
    agentId: run.agent ?? null,
    entityId: run.entity ?? null,
    snapshotId: run.snapshot,
    threadId: item.thread,
    parentRunId: run.parent ?? null,
    rootRunId: run.root ?? run.id,
    triggerType: run.triggerType,
    triggerMessageId: message?.id ?? null,
    triggerSeq: started.seq,
    trigger: run.trigger ?? {},
    chainDepth: run.chainDepth ?? 0,
    serial: run.serial ?? false,
    status: 'running',
    step: 0,
    epoch: 1,
    lives: 1,
    version: 1,
    attempt: 0,
    modelIndex: 0,
    takeovers: 0,
    openCalls: 0,
    steers: 0,
    waitState: null,
    remainingMs: run.wallMs,
    inputTokens: 0,
    outputTokens: 0,
    cost: 0,
    budgetIds: run.budgets ?? null,
    spaceId: null,
    metadata: run.metadata ?? {},
    messages: started.claimed ?? own,
    lastSeq: started.lastSeq!,
    calls: [],
  };
}

export type PostPolicy = 'queue' | 'steer' | 'interrupt' | 'reject';

export type Posted =
  | {
      ok: true;
      outcome: 'started' | 'steered' | 'interrupted' | 'duplicate';
      thread: string;
      seq: number;
      run: string | null;
      /** Whether the run may be claimed at once. */
      ready?: boolean;
      /** The run that had to give way. */
      canceled?: string;
      /** When the message was stored; absent where that was before. */
      createdAt?: string;
    }
  | { ok: false; code: 'busy' | 'thread_not_found' | 'thread_failed' | 'message_id_taken'; run?: string };

/** A message to a serial thread that may be busy. */
export async function post(
  db: Database,
  item: StartItem & { message: NewMessage; run: NewRun; policy: PostPolicy; by?: string },
): Promise<Posted> {
  const rows = await db.run<{ verdict: Posted }>({
    name: 'post',
    text: 'select troupe.post($1::jsonb) as verdict',
    values: [toJsonText(item)],
  });
  return rows[0]!.verdict;
}
