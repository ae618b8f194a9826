-- Notifies the agent that talks in the chat about a task that it does not wait for: by a message that starts a run
-- (session), or by a run alone (space). Ids are derived from the task and `told`, so each outcome and question is
-- delivered once. For a task from outside, the agent of its session gets the notice, if one was requested. p_current
-- is the current snapshot and limits of that agent; null: those of the run that gave the task.
-- Locks: the thread of the chat, then as the start of a run. The caller holds table runs (row exclusive).
-- Called by: troupe.join_task.
create or replace function troupe.tell_giver(j troupe.joins, p_current jsonb) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; giver troupe.runs; v_run uuid; about jsonb; failed uuid; message jsonb; started jsonb; chain int;
  silent boolean; v_how jsonb;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  -- A sub-agent that gave the task is still running and reads the state itself.
  if not found or t.depth > 1 or (j.what = 'question' and (t.status <> 'waiting' or t.told <> j.told)) then
    return '{}';
  end if;
  if t.parent_run_id is null then
    select e.agent_id, e.id into giver.agent_id, giver.entity_id from troupe.sessions s
      join troupe.entities e on e.agent_id = s.agent_id where s.thread_id = t.chat_thread_id;
    if not found then
      return '{}';
    end if;
    giver.door := 'session'; chain := 1;
  else
    select top.* into giver from troupe.runs g join troupe.runs top on top.id = g.root_run_id
      where g.id = t.parent_run_id;
    select x.chain_depth + 1 into chain from troupe.runs x where x.id = t.parent_run_id;
  end if;
  -- A canceled tree gets no answer, and an agent that gives new tasks after every notice must stop without a person.
  silent := t.quiet or not exists (select from troupe.agents x where x.id = giver.agent_id and x.status = 'active')
    or coalesce(p_current->'snapshot', to_jsonb(giver.snapshot_id)) is null
    or coalesce(chain > (select coalesce((s.compiled->'limits'->>'chainDepth')::int, 8)
      from troupe.compiled_snapshots s where s.id = giver.snapshot_id), false);
  v_run := troupe.id_near(t.id || ':told:' || j.told, t.id);
  about := jsonb_strip_nulls(jsonb_build_object('taskId', t.id, 'name', t.name, 'subAgentId', t.sub_agent_id,
    'told', j.told)) || (j.data - 'result');
  v_how := jsonb_build_object('id', v_run, 'door', giver.door, 'agent', giver.agent_id, 'entity', giver.entity_id,
    'chainDepth', chain,
    'snapshot', coalesce(p_current->'snapshot', to_jsonb(giver.snapshot_id)),
    'wallMs', coalesce(p_current->'wallMs', to_jsonb(giver.wall_ms)),
    'historyLimit', case when giver.door = 'session'
      then coalesce(p_current->'historyLimit', to_jsonb(giver.history_limit)) else to_jsonb(giver.history_limit) end);
  if giver.door = 'space' then
    if silent or not exists (select from troupe.threads x where x.id = t.chat_thread_id) then
      return '{}';
    end if;
    started := troupe.start(jsonb_build_array(jsonb_build_object('project', t.project_id,
      'thread', troupe.id_near(v_run || ':thread', v_run), 'createThread', 'run',
      'run', v_how || jsonb_build_object('triggerType', 'service',
        'trigger', jsonb_build_object('serviceName', 'task', 'taskId', t.id,
          'payload', jsonb_build_object('spaceId', t.chat_id, 'text', troupe.task_news(t, j.data)) || about)))))->0;
    return jsonb_build_object('told', started->'thread', 'queued', true);
  end if;
  perform 1 from troupe.sessions s where s.thread_id = t.chat_thread_id;
  if not found then
    return '{}';
  end if;
  select x.failed_run_id into failed from troupe.threads x where x.id = t.chat_thread_id for update;
  message := jsonb_build_object('id', troupe.id_near(v_run || ':message', v_run), 'role', 'system',
    'content', jsonb_build_object('text', troupe.task_news(t, j.data)),
    'metadata', jsonb_build_object('task', about));
  -- A failed session waits for a person: the message starts no run.
  if silent or failed is not null then
    if not exists (select from troupe.messages m where m.id = (message->>'id')::uuid) then
      perform troupe.append(t.chat_thread_id, null, jsonb_build_array(message),
        jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0,
        'data', jsonb_build_object('id', message->'id', 'role', 'system'))));
    end if;
    return jsonb_build_object('told', t.chat_thread_id, 'queued', false);
  end if;
  started := troupe.start(jsonb_build_array(jsonb_build_object('project', t.project_id, 'thread', t.chat_thread_id,
    'message', message || jsonb_build_object('run', v_run),
    'run', v_how || jsonb_build_object('triggerType', 'message', 'serial', true,
      'trigger', jsonb_build_object('task', about)))))->0;
  return jsonb_build_object('told', t.chat_thread_id, 'queued', coalesce((started->>'ready')::boolean, false));
end $$;
