-- Captures changes of memberships. The trigger depth of an agent's membership is that of its newest run in a space.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_memberships() returns trigger language plpgsql as $$
declare
  r troupe.memberships; project uuid;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  select t.project_id into project from troupe.threads t where t.id = r.space_id;
  if troupe.is_captured(project, 'memberships') then
    perform troupe.capture('memberships', project, r.space_id, troupe.membership_path(r), r.space_id || ':'
      || r.entity_id, r.entity_id,
      case when tg_op <> 'INSERT' then troupe.membership_document(old) end,
      case when tg_op <> 'DELETE' then troupe.membership_document(new) end,
      coalesce((select troupe.trigger_depth(x.id) from troupe.runs x where x.entity_id = r.entity_id
        and x.door = 'space' order by x.id desc limit 1), 0));
  end if;
  return null;
end $$;

create trigger memberships_capture after insert or update or delete on troupe.memberships for each row
  execute function troupe.capture_memberships();
