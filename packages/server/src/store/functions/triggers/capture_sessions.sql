-- Captures changes of sessions.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_sessions() returns trigger language plpgsql as $$
declare
  r troupe.sessions;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'sessions') then
    perform troupe.capture('sessions', r.project_id, r.id, troupe.session_path(r), r.id::text, r.entity_id,
      case when tg_op <> 'INSERT' then troupe.session_document(old) end,
      case when tg_op <> 'DELETE' then troupe.session_document(new) end, 0);
  end if;
  return null;
end $$;

create trigger sessions_capture after insert or update or delete on troupe.sessions for each row
  execute function troupe.capture_sessions();
