-- Creates a task from outside, in a session or a space: task, sub-agent, thread, instruction and run are one commit. No
-- call waits for it and no agent is notified. A repetition with the same id and content returns the existing task.
-- Locks: table runs (row exclusive), the thread of the chat (key share), then as the start of a run.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.create_task(p_task jsonb, p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  t troupe.tasks; v_project uuid := (p_item->>'project')::uuid; v_id uuid := (p_task->>'id')::uuid;
  v_chat uuid := (p_task->>'chat')::uuid; v_sub uuid := (p_task->>'subAgent')::uuid; v_thread uuid;
  v_user uuid := (p_task->>'user')::uuid; v_message uuid := (p_task->>'triggerMessage')::uuid; v_budgets jsonb;
  started jsonb;
begin
  -- Taken before the first row lock, like every start, so that keep_used cannot deadlock with it.
  lock table troupe.runs in row exclusive mode;
  select s.thread_id, s.entity_id into v_thread, v_user from troupe.sessions s where s.id = v_chat
    and s.project_id = v_project;
  if not found then
    v_user := (p_task->>'user')::uuid;
    select s.id into v_thread from troupe.spaces s where s.id = v_chat and s.project_id = v_project;
  end if;
  -- A delete of the chat locks its thread first, so it sees this task or this task sees no thread.
  perform 1 from troupe.threads x where x.id = v_thread for key share;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'chat_not_found');
  end if;
  select * into t from troupe.tasks x where x.id = v_id;
  if found then
    return case when t.project_id = v_project and t.chat_id = v_chat and t.parent_run_id is null
        and t.type = p_task->>'type' and t.name = p_task->>'name' and t.instruction = p_task->>'instruction'
        -- In a session the task belongs to the owner of the session, regardless of p_task.
        and (p_task->>'user' is null or v_thread <> v_chat or t.user_id is not distinct from (p_task->>'user')::uuid)
      then jsonb_build_object('ok', true, 'duplicate', true, 'thread', p_item->'thread', 'chatThread', v_thread)
      else jsonb_build_object('ok', false, 'code', 'task_id_taken') end;
  elsif v_thread = v_chat and v_user is not null and not exists (select from troupe.memberships m
      where m.space_id = v_chat and m.entity_id = v_user) then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  elsif v_message is not null and not exists (select from troupe.messages m where m.id = v_message
      and m.thread_id = v_thread) then
    return jsonb_build_object('ok', false, 'code', 'message_not_found');
  end if;
  select jsonb_agg(b.id) into v_budgets from troupe.budgets b where b.scope in ('session', 'space')
    and b.scope_id = v_chat;
  started := troupe.start(jsonb_build_array(p_item || jsonb_build_object('run', (p_item->'run')
    || case when v_budgets is null then '{}' else jsonb_build_object('budgets', v_budgets) end)))->0;
  if not (started->>'ok')::boolean then
    return jsonb_build_object('ok', false, 'code', 'task_id_taken');
  elsif (started->>'duplicate')::boolean then
    raise exception 'troupe.create_task: another transaction created the task' using errcode = 'serialization_failure';
  end if;
  update troupe.runs x set task_id = v_id where x.id = (p_item->'run'->>'id')::uuid;
  insert into troupe.tasks (id, project_id, user_id, chat_id, chat_thread_id, type, name, instruction, args,
    sub_agent_id, trigger_message_id, background, depth, run_id)
    values (v_id, v_project, v_user, v_chat, v_thread, p_task->>'type', p_task->>'name', p_task->>'instruction',
      p_task->'args', v_sub, v_message, true, 1, (p_item->'run'->>'id')::uuid);
  if v_sub is not null then
    insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id)
      values (v_sub, v_project, v_user, v_chat, v_id, (p_item->'run'->>'agent')::uuid, p_task->>'role',
        (p_item->>'thread')::uuid);
  end if;
  return jsonb_build_object('ok', true, 'duplicate', false, 'thread', p_item->'thread', 'chatThread', v_thread);
end $$;
