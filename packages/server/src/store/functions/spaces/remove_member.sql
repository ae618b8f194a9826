-- Removes a member. Everybody may leave; others are removed by an admin. Waits for a reply of the member end.
-- Locks: the waiting runs of the space by id, the thread of the space, then as troupe.end_wait.
-- Called by: store/queries/memberships.ts.
create or replace function troupe.remove_member(p_project uuid, p_space uuid, p_by uuid, p_entity uuid) returns jsonb
  language plpgsql as $$
declare
  locked uuid[]; refused text; v_role text; w troupe.reply_waits; awaited jsonb; ended int := 0;
begin
  -- Runs before spaces.
  locked := array(select distinct x.run_id from troupe.reply_waits x join troupe.runs r on r.id = x.run_id
    where x.space_id = p_space and r.project_id = p_project);
  perform 1 from troupe.runs r where r.id = any(locked) order by r.id for no key update;
  refused := troupe.lock_space(p_project, p_space, p_by);
  if refused is not null and not (refused = 'not_an_admin' and p_by = p_entity) then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  delete from troupe.memberships m where m.space_id = p_space and m.entity_id = p_entity returning m.role into v_role;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  perform troupe.append(p_space, null, null,
    jsonb_build_array(troupe.member_event('space.member.left', p_entity, v_role)));
  for w in select x.* from troupe.reply_waits x where x.space_id = p_space and (x.entity_id = p_entity
      or x.waiting_for @> jsonb_build_array(jsonb_build_object('entityId', p_entity, 'responded', false)))
      order by x.run_id, x.call_id loop
    if not w.run_id = any(locked) then
      raise exception 'troupe.remove_member: a run began to wait just now' using errcode = 'serialization_failure';
    end if;
    if w.entity_id <> p_entity then
      select coalesce(jsonb_agg(x), '[]') into awaited from jsonb_array_elements(w.waiting_for) x
        where x->>'entityId' <> p_entity::text;
      update troupe.reply_waits x set waiting_for = awaited where x.run_id = w.run_id and x.call_id = w.call_id;
      continue when awaited @> '[{"responded": false}]';
    end if;
    perform troupe.end_wait(w.run_id, w.call_id,
      case when w.entity_id <> p_entity and w.replies <> '[]' then 'resolved' else 'left' end);
    ended := ended + 1;
  end loop;
  return jsonb_build_object('ok', true, 'resumed', ended);
end $$;
