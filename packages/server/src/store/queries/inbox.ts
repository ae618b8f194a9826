import type { Json, WaitsFor } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { SettleOutcome } from './outside.ts';
import { WORKS_FOR } from './runs.ts';

// Calls that wait for somebody outside: who looks for them, and who settles them.

export interface WaitingRow {
  runId: string;
  callId: string;
  agentId: string | null;
  agentName: string | null;
  network: { id: string; name: string; version: number } | null;
  agentKey: string | null;
  rootRunId: string | null;
  taskId: string | null;
  sessionId: string | null;
  spaceId: string | null;
  step: number;
  tool: string;
  arguments: Json;
  waitsFor: WaitsFor;
  error: { code: string; message: string } | null;
  deadline: Date | null;
  createdAt: Date;
}

export interface WaitingFilter {
  waitsFor: readonly WaitsFor[];
  agentId?: string | undefined;
  /** Of its sub-agents too. */
  sessionId?: string | undefined;
  runId?: string | undefined;
  /** Only those that come after this one. */
  after: { runId: string; callId: string } | null;
  limit: number;
}

/** Those of the oldest run first, without those whose time is over. A person sees those of their own sessions and of the sub-agents at work for these, and those that their spaces see. */
export async function listWaiting(
  db: Database,
  scope: { project: string; entityId: string | null },
  filter: WaitingFilter,
): Promise<WaitingRow[]> {
  return db.run<WaitingRow>(
    {
      name: 'list_waiting',
      text: `select c.run_id as "runId", c.call_id as "callId", r.agent_id as "agentId", a.name as "agentName",
          case when r.network_id is not null then jsonb_build_object('id', r.network_id, 'name', r.trigger->'network'->'name', 'version', r.network_version) end as network,
          x.agent_key as "agentKey", case when r.parent_run_id is not null then r.root_run_id end as "rootRunId", r.task_id as "taskId", s.id as "sessionId", (c.shown->>'spaceId')::uuid as "spaceId", c.step, c.tool,
          c.args as arguments, c.waits_for as "waitsFor", c.error, c.deadline, c.created_at as "createdAt"
        from troupe.tool_calls c join troupe.runs r on r.id = c.run_id left join troupe.sessions s on s.thread_id = r.thread_id
          left join troupe.agents a on a.id = r.agent_id left join troupe.run_steps x on x.run_id = c.run_id and x.step = c.step
        where c.waits_for is not null and (c.deadline is null or c.deadline > now()) and r.project_id = $1
          and ($2::uuid is null or s.entity_id = $2 or ${WORKS_FOR} or exists (select from troupe.memberships m where m.entity_id = $2 and m.space_id = (c.shown->>'spaceId')::uuid)) and c.waits_for::text = any($3)
          and ($4::uuid is null or r.agent_id = $4) and ($5::uuid is null or s.id = $5 or exists (select from troupe.tasks t where t.id = r.task_id and t.chat_id = $5)) and ($6::uuid is null or r.id = $6)
          and ($7::uuid is null or (c.run_id, c.call_id) > ($7, $8))
        order by c.run_id, c.call_id limit $9`,
      values: [
        scope.project,
        scope.entityId,
        filter.waitsFor,
        filter.agentId ?? null,
        filter.sessionId ?? null,
        filter.runId ?? null,
        filter.after?.runId ?? null,
        filter.after?.callId ?? null,
        filter.limit,
      ],
    },
    db.pool,
  );
}

/** Which of these calls no space of the person sees. */
export async function callsHiddenFrom(
  db: Database,
  entity: string,
  run: string,
  calls: readonly string[],
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'calls_hidden_from',
      text: `select x.id from unnest($3::text[]) x(id) where not exists (
        select from troupe.tool_calls c join troupe.memberships m on m.space_id = (c.shown->>'spaceId')::uuid and m.entity_id = $1
        where c.run_id = $2 and c.call_id = x.id)`,
      values: [entity, run, calls],
    },
    db.pool,
  );
  return rows.map(({ id }) => id);
}

export interface CallSettlement {
  call: string;
  /** Who the call must wait for: an approval says nothing about a call whose outcome is in doubt. */
  waitsFor: WaitsFor;
  outcome: SettleOutcome;
  /** The id of the message that tells of the result. */
  message: string;
}

export interface RefusedSettlement {
  call: string;
  code: 'call_not_found' | 'call_not_open' | 'wrong_settlement';
  status: string | null;
  waitsFor: WaitsFor | null;
  settledBy: string | null;
  /** What the run is doing. */
  run: string;
}

export type SettledAll =
  | { ok: true; queued: boolean; thread: string; repeated: number }
  | { ok: false; code: 'run_not_found' }
  | { ok: false; code: 'refused'; refused: RefusedSettlement[] };

/** All of them, or none. */
export async function settleAll(
  db: Database,
  run: string,
  settlements: readonly CallSettlement[],
  by: string | null,
): Promise<SettledAll> {
  const rows = await db.run<{ answer: SettledAll }>({
    name: 'settle_all',
    text: 'select troupe.settle_all($1, $2::jsonb, $3) as answer',
    values: [run, toJsonText(settlements), by],
  });
  return rows[0]!.answer;
}

/** A call as its settler needs it, with the snapshot that its run is pinned to. */
export interface CallToSettle {
  tool: string;
  arguments: Json;
  snapshotId: string;
  /** Null where it waits for nobody. */
  waitsFor: WaitsFor | null;
}

export async function findCalls(
  db: Database,
  run: string,
  calls: readonly string[],
): Promise<Map<string, CallToSettle>> {
  const rows = await db.run<CallToSettle & { id: string }>(
    {
      name: 'find_calls',
      text: `select c.call_id as id, c.tool, c.args as arguments, r.snapshot_id as "snapshotId", c.waits_for as "waitsFor"
        from troupe.tool_calls c join troupe.runs r on r.id = c.run_id where c.run_id = $1 and c.call_id = any($2)`,
      values: [run, calls],
    },
    db.pool,
  );
  return new Map(rows.map(({ id, ...call }) => [id, call]));
}
