-- Captures changes of spaces.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_spaces() returns trigger language plpgsql as $$
declare
  r troupe.spaces;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'spaces') then
    perform troupe.capture('spaces', r.project_id, r.id, troupe.space_path(r), r.id::text, null,
      case when tg_op <> 'INSERT' then troupe.space_document(old) end,
      case when tg_op <> 'DELETE' then troupe.space_document(new) end, 0);
  end if;
  return null;
end $$;

create trigger spaces_capture after insert or update or delete on troupe.spaces for each row
  execute function troupe.capture_spaces();
