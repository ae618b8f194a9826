-- Locks a space for a change and checks the right to it. p_by is the asking person; null: a key. Returns null, or the
-- code of the refusal.
-- Locks: the thread of the space.
-- Called by: troupe.add_member, troupe.remove_member, troupe.update_space.
create or replace function troupe.lock_space(p_project uuid, p_space uuid, p_by uuid) returns text
  language plpgsql as $$
declare
  v_role text;
begin
  perform 1 from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space'
    for no key update;
  if not found then
    return 'space_not_found';
  end if;
  if p_by is null then
    return null;
  end if;
  select m.role into v_role from troupe.memberships m where m.space_id = p_space and m.entity_id = p_by;
  return case when v_role is null then 'space_not_found' when v_role <> 'admin' then 'not_an_admin' end;
end $$;
