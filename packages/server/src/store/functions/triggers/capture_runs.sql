-- Captures changes of runs.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_runs() returns trigger language plpgsql as $$
declare
  r troupe.runs; place troupe.place;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'runs') then
    place := troupe.place_of_thread(r.thread_id);
    perform troupe.capture('runs', r.project_id, place.chat_id, troupe.run_path(r), r.id::text, place.user_id,
      case when tg_op <> 'INSERT' then troupe.run_document(old) end,
      case when tg_op <> 'DELETE' then troupe.run_document(new) end, troupe.trigger_depth(r.id));
  end if;
  return null;
end $$;

create trigger runs_capture after insert or update or delete on troupe.runs for each row
  execute function troupe.capture_runs();
