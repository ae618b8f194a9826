import type { JsonObject, RunError, RunStatus, ToolCallStatus } from '@troupe/protocol';
import type { Database } from '../database.ts';

// What is known of the time of a run: its steps and calls, what its thread's log tells of it, and the runs that it began.

export interface TimedRun {
  status: RunStatus;
  step: number;
  workerId: string | null;
  /** How often another worker had to take it over. */
  takeovers: number;
  error: RunError | null;
  createdAt: Date;
  endedAt: Date | null;
  now: Date;
}

export interface TimedStep {
  step: number;
  model: string;
  agentKey: string | null;
  worker: string;
  attempt: number;
  startedAt: Date;
  firstTokenAt: Date | null;
  finishedAt: Date;
}

export interface TimedCall {
  id: string;
  step: number;
  tool: string;
  status: ToolCallStatus;
  attempt: number;
  error: { code: string; message: string } | null;
  createdAt: Date;
  settledAt: Date | null;
}

export interface TimedEvent {
  type: string;
  step: number | null;
  data: JsonObject | null;
  at: Date;
}

export interface TimedChild {
  runId: string;
  callId: string | null;
  taskId: string | null;
  name: string | null;
  agentId: string | null;
  networkId: string | null;
  status: RunStatus;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
}

export interface RunTimes {
  run: TimedRun;
  steps: TimedStep[];
  calls: TimedCall[];
  events: TimedEvent[];
  children: TimedChild[];
}

/** Events that say where the run was, and not what it said. */
const TELLING = [
  ...['run.queued', 'run.started', 'run.resumed', 'run.waiting_tool', 'run.waiting_reply'],
  ...['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'],
  ...['step.started', 'step.error', 'tool.waiting', 'tool.approved'],
];

const ENDED = (run: string) => `coalesce(${run}.completed_at, ${run}.canceled_at)`;
const CHILD = `r.id as "runId", r.task_id as "taskId", r.agent_id as "agentId", r.network_id as "networkId", r.status,
  r.created_at as "createdAt", r.started_at as "startedAt", ${ENDED('r')} as "endedAt"`;

/** Of each kind at most `most`, of children `mostChildren`. */
export async function readRunTimes(
  db: Database,
  id: string,
  thread: string,
  { most, mostChildren }: { most: number; mostChildren: number },
): Promise<RunTimes | null> {
  const read = <Row extends object>(name: string, text: string, values: unknown[]) =>
    db.run<Row>({ name: `times_of_${name}`, text, values }, db.pool);
  const [runs, steps, calls, events, children] = await Promise.all([
    read<TimedRun>(
      'run',
      `select r.status, coalesce(h.step, r.step) as step, r.worker_id as "workerId", r.takeovers_in_all as takeovers, r.error, r.created_at as "createdAt", ${ENDED('r')} as "endedAt", clock_timestamp() as now
        from troupe.runs r left join troupe.run_heads h on h.run_id = r.id where r.id = $1`,
      [id],
    ),
    read<TimedStep>(
      'steps',
      `select step, model, agent_key as "agentKey", worker_id as worker, attempt, started_at as "startedAt", first_token_at as "firstTokenAt", finished_at as "finishedAt"
        from troupe.run_steps where run_id = $1 order by step limit $2`,
      [id, most],
    ),
    read<TimedCall>(
      'calls',
      `select call_id as id, step, tool, status, attempt, error, created_at as "createdAt", settled_at as "settledAt"
        from troupe.tool_calls where run_id = $1 order by step, position limit $2`,
      [id, most],
    ),
    read<TimedEvent>(
      'events',
      `select type, step, data, created_at as at from troupe.events where thread_id = $1 and run_id = $2 and type = any($3) order by seq limit $4`,
      [thread, id, TELLING, most],
    ),
    read<TimedChild>(
      'children',
      // Those whose call waits for them, then those of tasks in the background, which are found by what it all began with.
      `with child as (
          select ${CHILD}, r.parent_call_id as "callId", t.name as task from troupe.runs r left join troupe.tasks t on t.id = r.task_id
            where r.parent_run_id = $1 and r.parent_call_id is not null
          union all
          select ${CHILD}, t.parent_call_id, t.name from troupe.runs r join troupe.tasks t on t.id = r.task_id
            where r.root_run_id = (select x.root_run_id from troupe.runs x where x.id = $1) and r.task_id is not null and r.parent_call_id is null and t.parent_run_id = $1)
        select c."runId", c."callId", c."taskId", coalesce(c.task, a.name, n.name) as name, c."agentId", c."networkId", c.status, c."createdAt", c."startedAt", c."endedAt"
        from child c left join troupe.agents a on a.id = c."agentId" left join troupe.networks n on n.id = c."networkId" order by c."runId" limit $2`,
      [id, mostChildren],
    ),
  ]);
  const run = runs[0];
  return run ? { run, steps, calls, events, children } : null;
}
