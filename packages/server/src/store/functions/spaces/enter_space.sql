-- Makes another space of its agent the active space of a run, and returns its recent messages.
-- Locks: the run, its head, the threads of both spaces by id.
-- Called by: store/queries/in-spaces.ts.
create or replace function troupe.enter_space(p_run uuid, p_epoch int, p_worker uuid, p_space uuid, p_limit int)
  returns jsonb language plpgsql as $$
declare
  r troupe.runs; place troupe.spaces; last_seq bigint; history jsonb; about jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found or not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select s.* into place from troupe.spaces s join troupe.memberships m on m.space_id = s.id
    and m.entity_id = r.entity_id where s.id = p_space and s.project_id = r.project_id;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  perform 1 from troupe.threads t where t.id in (p_space, r.active_space_id) order by t.id for no key update;
  select t.last_message_seq into last_seq from troupe.threads t where t.id = p_space;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  if p_space is distinct from r.active_space_id then
    update troupe.runs x set active_space_id = p_space, updated_at = now() where x.id = p_run;
    about := jsonb_build_object('entityId', r.entity_id,
      'agentName', (select e.display_name from troupe.entities e where e.id = r.entity_id));
    if p_space is distinct from r.space_id then
      perform troupe.append(p_space, p_run, null,
        jsonb_build_array(jsonb_build_object('type', 'agent.active', 'data', about)));
    end if;
    if r.active_space_id is not null and r.active_space_id is distinct from r.space_id
      and exists (select from troupe.spaces s where s.id = r.active_space_id) then
      perform troupe.append(r.active_space_id, p_run, null,
        jsonb_build_array(jsonb_build_object('type', 'agent.inactive', 'data', about)));
    end if;
  end if;
  history := troupe.space_history(p_space, r.entity_id, last_seq, p_limit, 60000);
  perform troupe.note_history(p_run, p_space, history);
  return jsonb_build_object('ok', true, 'spaceId', p_space, 'spaceName', place.name, 'history', history,
    'total', last_seq, 'left', r.active_space_id,
    'members', (select jsonb_agg(jsonb_build_object('entityId', e.id, 'name', coalesce(e.display_name, e.external_id),
      'type', e.type) order by m.joined_at, e.id)
      from troupe.memberships m join troupe.entities e on e.id = m.entity_id where m.space_id = p_space));
end $$;
