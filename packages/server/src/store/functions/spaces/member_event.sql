-- The event of a member who joined or left.
-- Locks: none.
-- Called by: troupe.add_member, troupe.create_space, troupe.remove_member.
create or replace function troupe.member_event(p_type text, p_entity uuid, p_role text) returns jsonb
  language sql stable as $$
  select jsonb_build_object('type', p_type,
    'data', jsonb_build_object('entityId', e.id, 'name', coalesce(e.display_name, e.external_id), 'type', e.type,
    'role', p_role))
  from troupe.entities e where e.id = p_entity
$$;
