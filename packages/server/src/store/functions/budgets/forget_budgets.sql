-- Deletes the budgets of a deleted session or space. The first trigger argument is their scope.
-- Locks: the deleted budgets.
-- Called by: trigger.
create or replace function troupe.forget_budgets() returns trigger language plpgsql as $$
begin
  delete from troupe.budgets b where b.scope = tg_argv[0] and b.scope_id = old.id;
  return null;
end $$;

create trigger forget_budgets after delete on troupe.sessions for each row
  execute function troupe.forget_budgets('session');

create trigger forget_budgets after delete on troupe.spaces for each row
  execute function troupe.forget_budgets('space');
