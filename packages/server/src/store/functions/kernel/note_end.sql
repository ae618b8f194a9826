-- Records a failed or canceled run for the export of its span. Completed runs are exported by their worker.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.note_end() returns trigger language plpgsql as $$
begin
  insert into troupe.ended_runs (run_id, lives) values (new.id, new.lives) on conflict do nothing;
  return null;
end $$;

create trigger runs_note_end after update of status on troupe.runs for each row
  when (new.status in ('failed', 'canceled') and old.status <> new.status) execute function troupe.note_end();
