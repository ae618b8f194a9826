-- Schedules or removes the job of a plan in the statement that writes the plan.
-- Locks: none of its own.
-- Called by: trigger.
create or replace function troupe.plan_armed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform troupe.arm_plan(old.id, null);
  elsif tg_op = 'INSERT' or new.next_run_at is distinct from old.next_run_at then
    perform troupe.arm_plan(new.id, new.next_run_at);
  end if;
  return null;
end $$;

create trigger plans_arm after insert or update or delete on troupe.plans for each row
  execute function troupe.plan_armed();
