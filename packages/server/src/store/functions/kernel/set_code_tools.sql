-- By a trigger, since runs begin and change their snapshot in many places, and each of them must not be able to forget
-- it.
create or replace function troupe.set_code_tools() returns trigger language plpgsql as $$
begin
  select s.code_tools into new.code_tools from troupe.compiled_snapshots s where s.id = new.snapshot_id;
  return new;
end $$;

create trigger runs_code_tools before insert or update of snapshot_id on troupe.runs for each row
  execute function troupe.set_code_tools();
