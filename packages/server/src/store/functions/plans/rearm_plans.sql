-- Schedules jobs for overdue plans whose job failed too often, and removes jobs that were replaced while a process that
-- died executed them. Returns the number of scheduled jobs.
-- Locks: none of its own.
-- Called by: store/queries/plans.ts.
create or replace function troupe.rearm_plans(p_late interval) returns int language plpgsql as $$
declare
  late uuid; armed int := 0;
begin
  for late in select p.id from troupe.plans p where p.status = 'pending' and p.next_run_at < now() - p_late
      and not exists (select from graphile_worker.jobs j where j.key = 'plan:' || p.id and j.attempts < j.max_attempts)
    order by p.next_run_at limit 1000 loop
    perform troupe.arm_plan(late, now());
    armed := armed + 1;
  end loop;
  perform graphile_worker.complete_jobs(array(select j.id from graphile_worker.jobs j
    where j.task_identifier = 'fire_plan' and j.key is null and j.locked_at is null and j.attempts >= j.max_attempts));
  return armed;
end $$;
