-- Creates a task for a call of a run: task, sub-agent, thread, instruction and run are one commit. In the foreground
-- the call waits for it. Only the worker that holds the parent may do this; a repetition returns the existing task.
-- Locks: table runs (row exclusive), the parent run, its head, its spaces by id, the call, the advisory lock of the
-- root, the threads.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.begin_task(p_parent uuid, p_call text, p_epoch int, p_worker uuid, p_task jsonb,
  p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; place jsonb; started jsonb; child uuid := (p_item->'run'->>'id')::uuid;
  v_task uuid := (p_task->>'id')::uuid;
  v_sub uuid := (p_task->>'subAgent')::uuid; in_background boolean := (p_task->>'background')::boolean; done jsonb;
begin
  -- Taken before the first row lock, like every start, so that keep_used cannot deadlock with it.
  lock table troupe.runs in row exclusive mode;
  select * into r from troupe.runs x where x.id = p_parent for no key update;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.watchers is not null then
    perform troupe.lock_watchers(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  done := jsonb_build_object('ok', true, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id,
    'task', v_task, 'subAgent', v_sub);
  if exists (select from troupe.tasks x where x.id = v_task) then
    return done || '{"duplicate": true}';
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  place := troupe.place_of(p_parent);
  if in_background and not (place->>'direct')::boolean then
    return jsonb_build_object('ok', false, 'code', 'no_background');
  elsif (place->>'depth')::int >= (p_task->'most'->>'depth')::int then
    return jsonb_build_object('ok', false, 'code', 'task_depth', 'limit', p_task->'most'->'depth');
  end if;
  started := troupe.start_task_run(r, p_call, p_item, v_task, in_background, (p_task->'most'->>'runs')::int);
  if not (started->>'ok')::boolean then
    return started;
  end if;
  insert into troupe.tasks (id, project_id, user_id, chat_id, chat_thread_id, type, name, instruction, args,
    sub_agent_id, trigger_message_id, background, depth,
      parent_task_id, parent_run_id, parent_call_id, run_id)
    values (v_task, r.project_id, (place->>'user')::uuid, (place->>'chat')::uuid, (place->>'thread')::uuid,
      p_task->>'type', p_task->>'name',
      p_task->>'instruction', p_task->'args', v_sub, (place->>'message')::uuid, in_background,
      (place->>'depth')::int + 1, (place->>'task')::uuid,
      p_parent, p_call, child);
  if v_sub is not null then
    insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id)
      values (v_sub, r.project_id, (place->>'user')::uuid, (place->>'chat')::uuid, v_task,
        (p_item->'run'->>'agent')::uuid, p_task->>'role', (p_item->>'thread')::uuid);
  end if;
  if not in_background then
    perform troupe.wait_for_task(r, c, (p_task->>'deadlineMs')::bigint, child);
  end if;
  return done || '{"duplicate": false}';
end $$;
