import type {
  CancelReason,
  Json,
  JsonObject,
  MessageRole,
  RunError,
  RunStatus,
  ToolCallStatus,
  ToolEffect,
  WaitsFor,
} from '@troupe/protocol';
import type { Database } from '../database.ts';
import { RUN } from './run-columns.ts';

export interface RunEnd {
  status: 'completed' | 'failed' | 'canceled';
  outcome: Json;
  error: RunError | null;
}

/** How a run ended, or null while it has not. */
export async function endOf(db: Database, run: string): Promise<RunEnd | null> {
  const rows = await db.run<RunEnd>(
    {
      name: 'end_of',
      text: `select status, outcome, error from troupe.runs where id = $1 and status in ('completed', 'failed', 'canceled')`,
      values: [run],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface RunRecord {
  id: string;
  agentId: string | null;
  entityId: string | null;
  sessionId: string | null;
  spaceId: string | null;
  activeSpaceId: string | null;
  networkId: string | null;
  networkVersion: number | null;
  door: string;
  threadId: string;
  status: RunStatus;
  step: number;
  attempt: number;
  takeovers: number;
  triggerType: string;
  triggerMessageId: string | null;
  trigger: JsonObject;
  chainDepth: number;
  forkedFrom: { runId: string; step: number } | null;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  outcome: Json;
  error: RunError | null;
  cancelReason: CancelReason | null;
  absorbedBy: string | null;
  parentRunId: string | null;
  parentCallId: string | null;
  taskId: string | null;
  metadata: JsonObject;
  waitsForCode: string[] | null;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  canceledAt: Date | null;
}

// Somebody works on a task that was given for this person. In a space, as long as they are in it.
export const worksFor = (
  run: string,
  person: string,
) => `exists (select from troupe.tasks t where t.id = ${run}.task_id and t.user_id = ${person}
  and (not exists (select from troupe.spaces o where o.id = t.chat_id) or exists (select from troupe.memberships m where m.space_id = t.chat_id and m.entity_id = ${person})))`;
export const WORKS_FOR = worksFor('r', '$2');

export async function findRun(
  db: Database,
  scope: { project: string; entityId: string | null },
  id: string,
): Promise<RunRecord | null> {
  const rows = await db.run<RunRecord>(
    {
      name: 'find_run',
      text: `${RUN} where r.project_id = $1 and ($2::uuid is null or s.entity_id = $2 or ${WORKS_FOR}) and r.id = $3`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** A run that began or speaks in spaces of this person, and these spaces. */
export async function findRunInSpaces(
  db: Database,
  scope: { project: string; entityId: string },
  id: string,
): Promise<{ run: RunRecord; shared: string[] } | null> {
  const rows = await db.run<RunRecord & { shared: string[] }>(
    {
      name: 'find_run_in_spaces',
      text: `select x.*, y.shared from (${RUN} where r.project_id = $1 and r.id = $3 and r.door = 'space') x
          cross join lateral (select array_agg(m.space_id) as shared from troupe.memberships m
            where m.entity_id = $2 and m.space_id in (x."spaceId", x."activeSpaceId")) y
        where y.shared is not null`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  if (!rows[0]) return null;
  const { shared, ...run } = rows[0];
  return { run, shared };
}

export interface RunChoice {
  door: string;
  agentId: string | null;
  /** What the message named, or whoever took the run up again. */
  modelId: string | null;
  /** What its session names. */
  sessionModelId: string | null;
  /** A task that is one call of a tool: it has a snapshot of its own, whatever becomes of the agent. */
  isToolTask: boolean;
}

/** Who chose which model for a run. */
export async function choiceOf(db: Database, run: string): Promise<RunChoice | null> {
  const rows = await db.run<RunChoice>(
    {
      name: 'choice_of',
      text: `select r.door, r.agent_id as "agentId", r.metadata->>'modelId' as "modelId", s.model_id as "sessionModelId",
          r.task_id is not null and r.trigger ? 'tool' as "isToolTask"
        from troupe.runs r left join troupe.sessions s on s.thread_id = r.thread_id where r.id = $1`,
      values: [run],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface TakenOver {
  sequence: number;
  role: MessageRole;
  toolCallId: string | null;
}

/** Which of these messages a fork after that step takes over: `troupe.fork` counts as this does. Messages never change. */
export async function takenOver(
  db: Database,
  run: string,
  step: number,
  sequences: number[],
): Promise<TakenOver[]> {
  return db.run<TakenOver>(
    {
      name: 'taken_over',
      text: `select m.seq as sequence, m.role, m.tool_call_id as "toolCallId"
        from troupe.runs r join troupe.messages m on m.thread_id = r.thread_id and m.seq = any($3::bigint[])
        where r.id = $1 and m.seq <= greatest(coalesce(r.trigger_seq, 0), coalesce((select max(o.seq) from troupe.messages o
          where o.thread_id = r.thread_id and o.run_id = r.id and o.step <= $2), 0))`,
      values: [run, step, sequences],
    },
    db.pool,
  );
}

export interface RunStepRecord {
  step: number;
  provider: string;
  model: string;
  attempt: number;
  startedAt: Date;
  firstTokenAt: Date | null;
  finishedAt: Date;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  finishReason: string;
  agentKey: string | null;
  decision: Json;
}

export async function listRunSteps(db: Database, run: string): Promise<RunStepRecord[]> {
  return db.run<RunStepRecord>(
    {
      name: 'list_run_steps',
      text: `select step, provider, model, attempt, started_at as "startedAt", first_token_at as "firstTokenAt", finished_at as "finishedAt",
          input_tokens as "inputTokens", output_tokens as "outputTokens", cost, finish_reason as "finishReason",
          agent_key as "agentKey", decision
        from troupe.run_steps where run_id = $1 order by step`,
      values: [run],
    },
    db.pool,
  );
}

export interface RunCallRecord {
  id: string;
  step: number;
  tool: string;
  arguments: Json;
  edited: boolean;
  effect: ToolEffect;
  status: ToolCallStatus;
  waitsFor: WaitsFor | null;
  output: Json;
  error: { code: string; message: string } | null;
  attempt: number;
  deadline: Date | null;
  createdAt: Date;
  settledAt: Date | null;
  settledBy: string | null;
}

export async function listRunCalls(db: Database, run: string): Promise<RunCallRecord[]> {
  return db.run<RunCallRecord>(
    {
      name: 'list_run_calls',
      text: `select call_id as id, step, tool, args as arguments, edited, effect, status, waits_for as "waitsFor", output, error, attempt, deadline,
          created_at as "createdAt", settled_at as "settledAt", settled_by as "settledBy"
        from troupe.tool_calls where run_id = $1 order by step, position`,
      values: [run],
    },
    db.pool,
  );
}

/** Runs of a thread that have not ended, the last one first: who stops them in this order lets none of them in. */
export async function openRuns(db: Database, thread: string): Promise<string[]> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'open_runs',
      text: `select id from troupe.runs where thread_id = $1 and status in ('queued', 'running', 'waiting_tool', 'waiting_reply')
        order by ready, trigger_seq desc, id desc`,
      values: [thread],
    },
    db.pool,
  );
  return rows.map((row) => row.id);
}

/** The run that left the thread failed; null where it has not. */
export async function failedRun(db: Database, thread: string): Promise<string | null> {
  const rows = await db.run<{ id: string | null }>(
    {
      name: 'failed_run',
      text: 'select failed_run_id as id from troupe.threads where id = $1',
      values: [thread],
    },
    db.pool,
  );
  return rows[0]?.id ?? null;
}
