-- Answers the question of a sub-agent with a call of another run. In the foreground that call then waits for the task.
-- Locks: the runs of parent and task by id, the head, the spaces by id, both calls, both threads by id.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.reply_to_task(p_parent uuid, p_call text, p_epoch int, p_worker uuid,
  p_sub_agent uuid, p_content text, p_deadline_ms bigint) returns jsonb
language plpgsql as $$
declare
  r troupe.runs; c troupe.tool_calls; child troupe.runs; t troupe.tasks; asked text; working uuid;
  by_call text := 'run:' || p_parent || ':' || p_call; done jsonb; answer jsonb;
begin
  select x.run_id into working from troupe.tasks x where x.sub_agent_id = p_sub_agent;
  perform 1 from troupe.runs x where x.id in (p_parent, working) order by x.id for no key update;
  select * into r from troupe.runs x where x.id = p_parent;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.watchers is not null then
    perform troupe.lock_watchers(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  t := troupe.task_for(r, p_sub_agent);
  if t.id is null then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_not_found');
  elsif t.run_id is distinct from working then
    raise exception 'troupe.reply_to_task: somebody was faster' using errcode = 'serialization_failure';
  end if;
  select * into child from troupe.runs x where x.id = working;
  done := jsonb_build_object('ok', true, 'run', child.id, 'thread', child.thread_id, 'parentThread', r.thread_id,
    'task', t.id, 'subAgent', p_sub_agent,
    'waits', not t.background);
  if exists (select from troupe.tool_calls x where x.run_id = working and x.settled_by = by_call) then
    return done || jsonb_build_object('duplicate', true, 'waits', c.waits_for is not null or c.status <> 'running');
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  select x.call_id into asked from troupe.tool_calls x where x.run_id = working and x.waits_for::text = 'answer'
    order by x.step, x.position limit 1;
  -- A call that still waits for the task must receive the question first, or it would wait for ever.
  if t.status <> 'waiting' or asked is null or child.parent_call_id is not null then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status);
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = working and x.call_id = asked for no key update;
  perform 1 from troupe.threads x where x.id in (r.thread_id, child.thread_id) order by x.id for no key update;
  answer := troupe.settle(working, asked,
    jsonb_build_object('status', 'completed', 'output', jsonb_build_object('answer', p_content)), by_call,
    troupe.new_id());
  if not (answer->>'ok')::boolean then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status);
  end if;
  if not t.background then
    update troupe.runs x set parent_run_id = p_parent, parent_call_id = p_call where x.id = working;
    update troupe.tasks x set parent_run_id = p_parent, parent_call_id = p_call where x.id = t.id;
    perform troupe.wait_for_task(r, c, p_deadline_ms, working);
  end if;
  return done || '{"duplicate": false}';
end $$;
