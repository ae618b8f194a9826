-- Adds a member to a space, or changes the role and ordering of one.
-- Locks: the thread of the space, the entity.
-- Called by: store/queries/memberships.ts.
create or replace function troupe.add_member(p_project uuid, p_space uuid, p_by uuid, p_member jsonb) returns jsonb
  language plpgsql as $$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  e uuid; is_new boolean;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  e := troupe.member_entity(p_project, p_member);
  if e is null then
    return jsonb_build_object('ok', false,
      'code', case when p_member ? 'agentId' then 'agent_not_found' else 'entity_not_found' end);
  end if;
  insert into troupe.memberships as m (space_id, entity_id, role, ordering, joined_seq, last_processed_seq, joined_at)
    select p_space, e, p_member->>'role', p_member->>'ordering', t.last_message_seq, t.last_message_seq,
      clock_timestamp() from troupe.threads t where t.id = p_space
    on conflict (space_id, entity_id) do update set role = excluded.role, ordering = excluded.ordering
    returning m.xmax = 0 into is_new;
  if is_new then
    perform troupe.append(p_space, null, null,
      jsonb_build_array(troupe.member_event('space.member.joined', e, p_member->>'role')));
  end if;
  return jsonb_build_object('ok', true, 'entity', e);
end $$;
