-- Whoever writes a plan, the job is part of it.
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
