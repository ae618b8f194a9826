-- Gives more work to a sub-agent that ended, in its own thread. The task runs again; its last result stays until there
-- is another.
-- Locks: table runs (row exclusive), the runs of parent and task by id, the head, the spaces by id, the call, the
-- threads by id.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.reactivate_task(p_parent uuid, p_call text, p_epoch int, p_worker uuid, p_task jsonb,
  p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; t troupe.tasks; last uuid; place jsonb; started jsonb;
  child uuid := (p_item->'run'->>'id')::uuid;
  v_sub uuid := (p_task->>'subAgent')::uuid; in_background boolean := (p_task->>'background')::boolean;
  v_thread uuid := (p_item->>'thread')::uuid; done jsonb;
begin
  lock table troupe.runs in row exclusive mode;
  select x.run_id into last from troupe.tasks x where x.sub_agent_id = v_sub;
  perform 1 from troupe.runs x where x.id in (p_parent, last) order by x.id for no key update;
  select * into r from troupe.runs x where x.id = p_parent;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.watchers is not null then
    perform troupe.lock_watchers(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  t := troupe.task_for(r, v_sub);
  done := jsonb_build_object('ok', true, 'run', child, 'thread', v_thread, 'parentThread', r.thread_id, 'task', t.id,
    'subAgent', v_sub);
  if exists (select from troupe.runs x where x.id = child) then
    return done || '{"duplicate": true}';
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  elsif t.id is null then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_not_found');
  elsif t.run_id is distinct from last then
    raise exception 'troupe.reactivate_task: somebody was faster' using errcode = 'serialization_failure';
  elsif t.status in ('pending', 'running', 'waiting') then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_busy', 'status', t.status);
  end if;
  place := troupe.place_of(p_parent);
  if in_background and not (place->>'direct')::boolean then
    return jsonb_build_object('ok', false, 'code', 'no_background');
  end if;
  perform 1 from troupe.threads x where x.id in (r.thread_id, v_thread) order by x.id for update;
  started := troupe.start_task_run(r, p_call, p_item, t.id, in_background, (p_task->'most'->>'runs')::int);
  if not (started->>'ok')::boolean then
    return started;
  end if;
  update troupe.tasks x set status = 'running', run_id = child, parent_run_id = p_parent, parent_call_id = p_call,
    background = in_background, error = null,
    quiet = false, updated_at = now() where x.id = t.id;
  update troupe.sub_agents x set status = 'active', updated_at = now() where x.id = v_sub;
  if not in_background then
    perform troupe.wait_for_task(r, c, (p_task->>'deadlineMs')::bigint, child);
  end if;
  return done || '{"duplicate": false}';
end $$;
