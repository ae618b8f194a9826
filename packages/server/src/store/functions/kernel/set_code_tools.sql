-- Copies the code tools of the snapshot to the run. A trigger, because runs start and change their snapshot in several
-- places.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.set_code_tools() returns trigger language plpgsql as $$
begin
  select s.code_tools into new.code_tools from troupe.compiled_snapshots s where s.id = new.snapshot_id;
  return new;
end $$;

create trigger runs_code_tools before insert or update of snapshot_id on troupe.runs for each row
  execute function troupe.set_code_tools();
