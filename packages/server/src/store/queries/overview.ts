import type { WaitsFor } from '@troupe/protocol';
import type { Database } from '../database.ts';

/** How a project stands now. */
export interface Overview {
  running: number;
  queued: number;
  waiting: number;
  calls: Partial<Record<WaitsFor, number>>;
  oldestQueuedMs: number | null;
  failed: number;
  inbox: number;
  deadDeliveries: number;
  now: Date;
}

// Runs of all projects that have not ended, each kind by its own partial index: what has ended costs nothing.
const OPEN = `select r.project_id, r.ready and r.run_at <= now() as due, r.run_at from troupe.runs r
    where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null
  union all select r.project_id, r.run_at <= now(), r.run_at from troupe.runs r
    where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
  union all select r.project_id, r.run_at <= now(), r.run_at from troupe.runs r
    where r.status in ('queued', 'running') and r.lane is not null and r.status = 'queued' and r.ready
  union all select r.project_id, false, r.run_at from troupe.runs r where r.status = 'queued' and not r.ready`;

export async function readOverview(db: Database, project: string): Promise<Overview> {
  const rows = await db.run<Overview>(
    {
      name: 'overview',
      text: `with queue as (select count(*)::int as queued, (extract(epoch from now() - min(o.run_at) filter (where o.due)) * 1000)::float8 as oldest
            from (${OPEN}) o where o.project_id = $1),
          waits as (select c.waits_for, count(*)::int as calls, count(*) filter (where c.deadline is null or c.deadline > now())::int as open
            from troupe.tool_calls c join troupe.runs r on r.id = c.run_id where c.waits_for is not null and r.project_id = $1 group by c.waits_for)
        select (select count(*)::int from troupe.runs r where r.status = 'running' and r.project_id = $1) as running, q.queued, q.oldest as "oldestQueuedMs",
          (select count(*)::int from troupe.runs r where r.status in ('waiting_tool', 'waiting_reply') and r.project_id = $1) as waiting,
          (select coalesce(jsonb_object_agg(w.waits_for, w.calls), '{}') from waits w) as calls,
          (select coalesce(sum(w.open), 0)::int from waits w where w.waits_for in ('approval', 'person', 'answer')) as inbox,
          (select count(*)::int from troupe.runs r where r.project_id = $1 and r.status in ('completed', 'failed', 'canceled') and r.status = 'failed'
            and coalesce(r.completed_at, r.canceled_at) > now() - interval '24 hours') as failed,
          (select count(*)::int from troupe.triggers t join troupe.trigger_deliveries d on d.trigger_id = t.id and d.status = 'dead'
            where t.project_id = $1) as "deadDeliveries", clock_timestamp() as now
        from queue q`,
      values: [project],
      plannedAnew: true,
    },
    db.pool,
  );
  return rows[0]!;
}
