import type { Database } from '../database.ts';

/** What there is to do and who is there to do it, over all projects: for whoever runs the server. */
export interface Load {
  /** Runs that have not ended, by status. */
  runs: Record<'queued' | 'running' | 'waiting_tool' | 'waiting_reply', number>;
  /** Runs that a worker could take now. */
  due: number;
  /** How long the oldest of them has waited. */
  oldestDueMs: number;
  workers: number;
  capacity: number;
  /** Jobs that could begin now, and jobs that have failed for good. */
  /** Runs in the queue whose code tools no worker has. */
  waitingForCode: number;
  dueJobs: number;
  deadJobs: number;
  /** Changes that triggers have yet to judge. */
  changes: number;
  /** Deliveries that have yet to be made; how late the latest is, of those that are due and whose trigger is on; and those given up. */
  openDeliveries: number;
  lateDeliveryMs: number;
  deadDeliveries: number;
}

/** Each part is answered from a partial index of runs that have not ended: what has ended costs nothing, however much it is. */
export async function readLoad(db: Database): Promise<Load> {
  const rows = await db.run<Omit<Load, 'runs'> & Load['runs']>(
    {
      name: 'load',
      text: `with code as (
          select count(*) as queued, count(*) filter (where run_at <= now()) as due, min(run_at) as oldest,
            exists (select from troupe.workers w where not w.draining and w.code_tools @> r.code_tools) as taken
            from troupe.runs r where status = 'queued' and ready and lane is null and code_tools is not null group by r.code_tools),
        open as (
          select count(*) as queued, count(*) filter (where run_at <= now()) as due, min(run_at) as oldest
            from troupe.runs where status = 'queued' and ready and lane is null and code_tools is null
          union all
          select coalesce(sum(queued), 0), coalesce(sum(due) filter (where taken), 0), min(oldest) filter (where taken) from code
          union all
          select count(*), count(*) filter (where run_at <= now()), min(run_at)
            from troupe.runs where status in ('queued', 'running') and lane is not null and status = 'queued' and ready
          union all
          select count(*), 0, null from troupe.runs where status = 'queued' and not ready),
        queue as (select sum(queued)::int as queued, sum(due)::int as due,
          greatest(0, coalesce(extract(epoch from now() - min(oldest)), 0) * 1000)::float8 as "oldestDueMs" from open),
        waiting as (select count(*) filter (where status = 'waiting_tool') as tool, count(*) filter (where status = 'waiting_reply') as reply
          from troupe.runs where status in ('waiting_tool', 'waiting_reply')),
        worker as (select count(*) as workers, coalesce(sum(capacity) filter (where not draining), 0) as capacity from troupe.workers),
        job as (select count(*) filter (where run_at <= now() and locked_at is null and attempts < max_attempts) as due,
          count(*) filter (where attempts >= max_attempts and locked_at is null) as dead from graphile_worker.jobs),
        delivery as (select count(*) as open, greatest(0, coalesce(extract(epoch from now() - min(d.next_attempt_at) filter (where t.enabled)), 0) * 1000)::float8 as late
          from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id where d.status in ('pending', 'sending'))
        select q.queued, q.due, q."oldestDueMs", w.tool as waiting_tool, w.reply as waiting_reply, k.workers, k.capacity,
          (select count(*) from troupe.runs where status = 'running') as running, (select coalesce(sum(due) filter (where not taken), 0)::int from code) as "waitingForCode", j.due as "dueJobs", j.dead as "deadJobs",
          (select count(*) from troupe.changes) as changes, d.open as "openDeliveries", d.late as "lateDeliveryMs",
          (select count(*) from troupe.trigger_deliveries x where x.status = 'dead') as "deadDeliveries"
        from queue q, waiting w, worker k, job j, delivery d`,
      values: [],
    },
    db.pool,
  );
  const { queued, running, waiting_tool, waiting_reply, ...rest } = rows[0]!;
  return { ...rest, runs: { queued, running, waiting_tool, waiting_reply } };
}
