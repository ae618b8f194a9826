-- Stores the code tools that a new snapshot needs.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.find_code_tools() returns trigger language plpgsql as $$
begin
  new.code_tools := troupe.code_tools_of(new.compiled);
  return new;
end $$;

create trigger compiled_snapshots_code_tools before insert on troupe.compiled_snapshots for each row
  execute function troupe.find_code_tools();
