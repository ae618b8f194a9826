-- Returns messages of a space without entering it: p_offset messages before the end, or those that contain p_search.
-- Locks: the head of the run, the row of run_shown.
-- Called by: store/queries/in-spaces.ts.
create or replace function troupe.read_space(p_run uuid, p_epoch int, p_worker uuid, p_space uuid, p_limit int,
  p_offset bigint, p_search text) returns jsonb language plpgsql as $$
declare
  v_entity uuid; v_project uuid; last_seq bigint; history jsonb;
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select x.entity_id, x.project_id into v_entity, v_project from troupe.runs x where x.id = p_run;
  select t.last_message_seq into last_seq from troupe.threads t join troupe.memberships m on m.space_id = t.id
    and m.entity_id = v_entity
    where t.id = p_space and t.project_id = v_project;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  if p_search is null then
    history := troupe.space_history(p_space, v_entity, last_seq - p_offset, p_limit, 60000);
  else
    select coalesce(jsonb_agg(h order by (h->>'seq')::bigint), '[]') into history from (
      select m.seq from troupe.messages m where m.thread_id = p_space
        and position(lower(p_search) in lower(m.content->>'text')) > 0
      order by m.seq desc offset p_offset limit p_limit) f
      cross join lateral jsonb_array_elements(troupe.space_history(p_space, v_entity, f.seq, 1, 0)) h;
  end if;
  perform troupe.note_history(p_run, p_space, history);
  return jsonb_build_object('ok', true, 'spaceId', p_space, 'history', history, 'total', last_seq);
end $$;
