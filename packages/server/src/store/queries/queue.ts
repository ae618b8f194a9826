import type { Database } from '../database.ts';

export interface QueuedRun {
  id: string;
  agentId: string | null;
  networkId: string | null;
  door: string;
  attempt: number;
  dueAt: Date;
  createdAt: Date;
  waitsForCode: string[] | null;
}

export interface Queue {
  due: number;
  later: number;
  inTurn: number;
  forFunctions: number;
  byAge: { olderThanMs: number; runs: number }[];
  oldest: QueuedRun[];
  now: Date;
}

export const AGES_MS = [0, 1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000];

const COLUMNS = `r.id, r.project_id, r.agent_id, r.network_id, r.door, r.attempt, r.run_at, r.created_at, r.ready, r.code_tools`;
// Each part by its own partial index, as for the whole server in load.ts.
const QUEUED = `select ${COLUMNS} from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null
  union all select ${COLUMNS} from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
  union all select ${COLUMNS} from troupe.runs r where r.status in ('queued', 'running') and r.lane is not null and r.status = 'queued' and r.ready
  union all select ${COLUMNS} from troupe.runs r where r.status = 'queued' and not r.ready`;

/** What waits for a worker in a project. */
export async function readQueue(db: Database, project: string, limit: number): Promise<Queue> {
  const rows = await db.run<Omit<Queue, 'byAge' | 'oldest'> & { ages: number[]; oldest: RawQueued[] }>(
    {
      name: 'queue',
      text: `with queued as materialized (select q.*, case when q.code_tools is not null and not exists (select from troupe.workers w
              where not w.draining and w.code_tools @> q.code_tools) then q.code_tools end as lacks from (${QUEUED}) q where q.project_id = $1),
          due as (select q.run_at from queued q where q.ready and q.run_at <= now() and q.lacks is null)
        select (select count(*)::int from due) as due,
          (select count(*)::int from queued q where q.ready and q.run_at > now() and q.lacks is null) as later,
          (select count(*)::int from queued q where not q.ready) as "inTurn",
          (select count(*)::int from queued q where q.ready and q.lacks is not null) as "forFunctions",
          (select array_agg((select count(*) from due d where d.run_at <= now() - make_interval(secs => a.ms / 1000.0)) order by a.ms)
            from unnest($2::bigint[]) a(ms)) as ages,
          (select coalesce(jsonb_agg(x order by x."dueAt", x.id), '[]') from (select q.id, q.agent_id as "agentId", q.network_id as "networkId", q.door, q.attempt,
            q.run_at as "dueAt", q.created_at as "createdAt", q.lacks as "waitsForCode" from queued q where q.ready order by q.run_at, q.id limit $3) x) as oldest,
          clock_timestamp() as now`,
      values: [project, AGES_MS, limit],
      plannedAnew: true,
    },
    db.pool,
  );
  const { ages, oldest, ...queue } = rows[0]!;
  return {
    ...queue,
    byAge: AGES_MS.map((olderThanMs, place) => ({ olderThanMs, runs: Number(ages[place] ?? 0) })),
    oldest: oldest.map((run) => ({
      ...run,
      dueAt: new Date(run.dueAt),
      createdAt: new Date(run.createdAt),
    })),
  };
}
type RawQueued = Omit<QueuedRun, 'dueAt' | 'createdAt'> & { dueAt: string; createdAt: string };

export interface DeadJob {
  id: string;
  task: string;
  attempts: number;
  error: string | null;
  createdAt: Date;
  lastTriedAt: Date;
}

/** Jobs of all projects that are tried no more, the newest first. */
export async function readDeadJobs(
  db: Database,
  limit: number,
): Promise<{ total: number; newest: DeadJob[] }> {
  const rows = await db.run<DeadJob & { total: number }>(
    {
      name: 'dead_jobs',
      text: `select j.id::text, j.task_identifier as task, j.attempts::int, left(j.last_error, 2000) as error, j.created_at as "createdAt", j.updated_at as "lastTriedAt",
          count(*) over ()::int as total
        from graphile_worker.jobs j where j.attempts >= j.max_attempts and j.locked_at is null order by j.updated_at desc limit $1`,
      values: [limit],
    },
    db.pool,
  );
  return { total: rows[0]?.total ?? 0, newest: rows.map(({ total: _, ...job }) => job) };
}
