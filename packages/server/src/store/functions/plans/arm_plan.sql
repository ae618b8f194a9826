-- Schedules the job of a plan, or removes it if p_at is null.
-- Locks: none of its own.
-- Called by: troupe.plan_armed, troupe.rearm_plans.
create or replace function troupe.arm_plan(p_plan uuid, p_at timestamptz) returns void language plpgsql as $$
begin
  if p_at is null then
    perform graphile_worker.remove_job('plan:' || p_plan);
  else
    perform graphile_worker.add_job('fire_plan', json_build_object('planId', p_plan), run_at => p_at, job_key => 'plan:'
      || p_plan);
  end if;
end $$;
