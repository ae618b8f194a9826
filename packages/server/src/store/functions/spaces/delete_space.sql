-- Deletes a space with its messages and events. If a run has not ended, its id is returned and nothing is deleted: the
-- caller cancels it and repeats. Runs are locked first, because a run that ends writes to its spaces.
-- Locks: the runs of the space by id, the thread of the space.
-- Called by: store/queries/spaces.ts.
create or replace function troupe.delete_space(p_project uuid, p_space uuid, p_actor_kind text, p_actor text)
  returns jsonb language plpgsql as $$
declare
  held uuid[]; known uuid[]; live uuid[];
begin
  held := array(select r.id from troupe.runs r where r.space_id = p_space or (r.active_space_id = p_space
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')) order by r.id for update);
  perform 1 from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  known := array(select r.id from troupe.runs r where r.space_id = p_space or (r.active_space_id = p_space
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')));
  live := array(select r.id from troupe.runs r where (r.space_id = p_space or r.active_space_id = p_space)
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') order by r.id);
  if cardinality(live) > 0 then
    return jsonb_build_object('ok', false, 'code', 'runs_live', 'runs', to_jsonb(live));
  elsif not known <@ held then
    raise exception 'troupe.delete_space: a run came in between' using errcode = 'serialization_failure';
  end if;
  insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data)
    select s.project_id, p_actor_kind, p_actor, 'space.deleted', s.id::text,
      jsonb_build_object('name', s.name, 'members', (select count(*) from troupe.memberships m where m.space_id = s.id))
    from troupe.spaces s where s.id = p_space;
  delete from troupe.run_shown x where x.space_id = p_space;
  delete from troupe.messages m where m.thread_id = p_space;
  delete from troupe.event_batches e where e.thread_id = p_space;
  delete from troupe.spaces s where s.id = p_space;
  delete from troupe.threads t where t.id = p_space;
  return jsonb_build_object('ok', true);
end $$;
