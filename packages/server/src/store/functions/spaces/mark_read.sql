-- Advances the read marker of a person. It never moves back.
-- Locks: the thread of the space, the membership.
-- Called by: store/queries/memberships.ts.
create or replace function troupe.mark_read(p_project uuid, p_space uuid, p_entity uuid, p_message uuid) returns jsonb
  language plpgsql as $$
declare
  v_seq bigint; last_seq bigint; marker record; moved boolean;
begin
  select t.last_message_seq into last_seq from troupe.threads t where t.id = p_space and t.project_id = p_project
    and t.kind = 'space' for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  select e.type, m.last_seen_seq, m.last_seen_message_id, m.joined_seq into marker from troupe.memberships m
    join troupe.entities e on e.id = m.entity_id
    where m.space_id = p_space and m.entity_id = p_entity;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  elsif marker.type <> 'human' then
    return jsonb_build_object('ok', false, 'code', 'not_a_person');
  end if;
  select m.seq into v_seq from troupe.messages m where m.id = p_message and m.thread_id = p_space;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'message_not_found');
  end if;
  moved := v_seq > marker.last_seen_seq;
  if moved then
    update troupe.memberships m set last_seen_seq = v_seq, last_seen_message_id = p_message where m.space_id = p_space
      and m.entity_id = p_entity;
    perform troupe.append(p_space, null, null,
      jsonb_build_array(jsonb_build_object('type', 'space.read',
        'data', jsonb_build_object('entityId', p_entity, 'messageId', p_message, 'sequence', v_seq))));
  end if;
  return jsonb_build_object('ok', true, 'moved', moved,
    'lastSeenMessageId', case when moved then p_message else marker.last_seen_message_id end,
    'unread', last_seq - greatest(v_seq, marker.last_seen_seq, marker.joined_seq));
end $$;
