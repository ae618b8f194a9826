import type pg from 'pg';
import { inTransaction } from '../client-transaction.ts';
import type { Database } from '../database.ts';
import { DELETE_CONTENT, deleteThreads } from './delete-threads.ts';
import { LIVE_RUNS, type Scope } from './retention-scope.ts';
import { KEEP_USAGE_OF_STEPS_OF } from './usage-purged.ts';

// Ended runs in the order in which they ended. The index `runs_ended` has that order for each status, so that a purge
// which remembers how far it came reads each run once.

/** `at` is a time as Postgres writes it: to the microsecond, which a Date does not have. */
export interface TimePosition {
  at: string;
  id: string;
}
export const startAt = (at: string): TimePosition => ({ at, id: '00000000-0000-0000-0000-000000000000' });

export interface ExpiredRun {
  id: string;
  endedAt: string;
  threadId: string;
  kind: 'session' | 'space' | 'sub_agent' | 'run';
  /** Rows of its thread. */
  size: number;
  /** It can be deleted by itself: it is outside sessions, and no call and no batch began it. */
  alone: boolean;
  /** There are steps to delete. */
  hasSteps: boolean;
  /** Nothing that has not ended refers to it. */
  free: boolean;
}

const ENDED = `coalesce(r.completed_at, r.canceled_at)`;
const HAS_ENDED = `r.status in ('completed', 'failed', 'canceled')`;
const LIVE_TASK = `('pending', 'running', 'waiting')`;
const IS_FREE = `r.id not in (select l.id from live l where l.id is not null)
    and not exists (select from troupe.tasks k where k.chat_id = r.id and k.status in ${LIVE_TASK})
    and not exists (select from troupe.runs c join troupe.tasks k on k.id = c.task_id and k.status in ${LIVE_TASK}
      where c.root_run_id = r.root_run_id and c.parent_call_id is not null)
    and not exists (select from troupe.runs c join troupe.tasks k on k.id = c.task_id and k.status in ${LIVE_TASK}
      where c.root_run_id = r.root_run_id and c.task_id is not null and c.parent_call_id is null)
    and not exists (select from troupe.plans p where p.agent_id = r.agent_id and p.status = 'pending' and p.last_run_id = r.id)
    and not exists (select from troupe.joins j where j.run_id = r.id or j.thread_id = r.thread_id or j.task_id = r.task_id)
    and not exists (select from troupe.run_steps s where s.run_id = r.id and s.budgeted)`;
const IS_ALONE = `r.parent_call_id is null and coalesce(r.lane, '') not like 'batch:%'
    and (t.kind = 'run' and r.task_id is null or t.kind = 'sub_agent'
      and exists (select from troupe.tasks k join troupe.spaces s on s.id = k.chat_id where k.id = r.task_id))`;

const RUN = `select r.id, r.ended_at::text as "endedAt", r.thread_id as "threadId", t.kind, t.last_message_seq + t.last_event_seq as size,
    ${IS_ALONE} as alone, exists (select from troupe.run_steps s where s.run_id = r.id) as "hasSteps", ${IS_FREE} as free`;

/** The next runs after a position, oldest end first, that ended before the cutoff. */
export async function expiredRuns(
  db: Database,
  { project, agents, cutoff }: Scope,
  after: TimePosition,
  limit: number,
): Promise<ExpiredRun[]> {
  const of = (status: string) => `(select r.*, ${ENDED} as ended_at from troupe.runs r
    where r.project_id = $1 and ${HAS_ENDED} and r.status = '${status}' and ${ENDED} >= $3 and ${ENDED} < $5 and (${ENDED}, r.id) > ($3, $4::uuid)
      ${agents ? 'and r.agent_id = any($2::uuid[])' : 'and $2::uuid[] is null'} order by ${ENDED}, r.id limit $6)`;
  const { rows } = await db.pool.query<ExpiredRun>(
    `with live as materialized (${LIVE_RUNS}),
        page as materialized (select * from (${['completed', 'failed', 'canceled'].map(of).join(' union all ')}) x order by x.ended_at, x.id limit $6)
      ${RUN} from page r join troupe.threads t on t.id = r.thread_id order by r.ended_at, r.id`,
    [project, agents, after.at, after.id, cutoff, limit],
  );
  return rows;
}

/** Those of the runs that, seen under locks, have ended before the cutoff and are free. */
async function stillFree(client: pg.PoolClient, runs: string[], cutoff: Date): Promise<ExpiredRun[]> {
  const { rows } = await client.query<ExpiredRun>(
    `with live as materialized (${LIVE_RUNS}), page as (select r.*, ${ENDED} as ended_at from troupe.runs r where r.id = any($1) and ${HAS_ENDED} and ${ENDED} < $2)
      select x.* from (${RUN} from page r join troupe.threads t on t.id = r.thread_id) x where x.free`,
    [runs, cutoff],
  );
  return rows;
}

const MAX_ROWS = 5_000;

/** Deletes runs with their threads and children. `all`: all of them, or none. Returns how many. */
export async function deleteRuns(
  db: Database,
  runs: readonly Pick<ExpiredRun, 'id' | 'threadId' | 'size'>[],
  cutoff: Date,
  { all = false, also }: { all?: boolean; also?: (client: pg.PoolClient) => Promise<void> } = {},
): Promise<number> {
  if (runs.length === 0) return 0;
  const ids = runs.map(({ id }) => id);
  const threads = [...new Set(runs.map(({ threadId }) => threadId))];
  return deleteThreads(db, {
    threads,
    author: null,
    later: runs.reduce((sum, { size }) => sum + size, 0) > MAX_ROWS,
    confirm: async (client) => {
      const free = new Set((await stillFree(client, ids, cutoff)).map(({ id }) => id));
      const kept = new Set(runs.filter(({ id }) => !free.has(id)).map(({ threadId }) => threadId));
      return all && kept.size > 0 ? [] : threads.filter((thread) => !kept.has(thread));
    },
    together: all,
    ...(also ? { also } : {}),
  });
}

const STEPS: string[] = [
  `delete from troupe.run_steps x where x.run_id = any($1)`,
  `delete from troupe.tool_calls x where x.run_id = any($1)`,
  `delete from troupe.run_prompts x where x.run_id = any($1)`,
  `delete from troupe.run_shown x where x.run_id = any($1)`,
  `delete from troupe.run_heads x where x.run_id = any($1)`,
];

/**
 * Deletes everything of the runs but their rows, which have answer and usage. Messages and events stay in sessions and with
 * sub-agents; a run without a step has only its input, and keeps it. Returns how many runs.
 */
export async function keepResults(
  db: Database,
  runs: readonly ExpiredRun[],
  cutoff: Date,
): Promise<{ rows: number; skipped: string[] }> {
  if (runs.length === 0) return { rows: 0, skipped: [] };
  const ids = runs.map(({ id }) => id);
  return inTransaction(db, async (client) => {
    await client.query('select 1 from troupe.runs r where r.id = any($1) order by r.id for update', [ids]);
    // A fork reads the thread under this lock.
    const own = `select r.thread_id from troupe.runs r where r.id = any($1)`;
    await client.query(`select 1 from troupe.threads t where t.id in (${own}) order by t.id for update`, [
      ids,
    ]);
    const free = await stillFree(client, ids, cutoff);
    const chosen = free.map(({ id }) => id);
    const { rows } = await client.query<{ id: string }>(
      `select r.id from troupe.runs r where r.id = any($1) and exists (select from troupe.run_steps s where s.run_id = r.id)`,
      [chosen],
    );
    const purged = rows.map(({ id }) => id);
    const emptied = free.filter(({ id, kind }) => kind === 'run' && purged.includes(id));
    await client.query(KEEP_USAGE_OF_STEPS_OF, [purged]);
    for (const text of STEPS) await client.query(text, [purged]);
    for (const text of emptied.length > 0 ? DELETE_CONTENT : [])
      await client.query(text, [emptied.map(({ threadId }) => threadId)]);
    return { rows: purged.length, skipped: ids.filter((id) => !chosen.includes(id)) };
  });
}
