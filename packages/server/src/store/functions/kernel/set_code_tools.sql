-- Copies the code tools of the new snapshot of a run to the run. Functions that insert runs write them.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.set_code_tools() returns trigger language plpgsql as $$
begin
  select s.code_tools into new.code_tools from troupe.compiled_snapshots s where s.id = new.snapshot_id;
  return new;
end $$;

create trigger runs_code_tools before update of snapshot_id on troupe.runs for each row
  execute function troupe.set_code_tools();
