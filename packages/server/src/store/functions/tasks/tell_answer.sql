-- Notifies the agent of a session that a person answered a question of its sub-agent, by a message that starts no run.
-- In a space the agent sees the answer in its list of tasks.
-- Locks: the thread of the chat.
-- Called by: troupe.join_task.
create or replace function troupe.tell_answer(j troupe.joins) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; v_message uuid;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  if not found or t.depth > 1 or not exists (select from troupe.sessions s where s.thread_id = t.chat_thread_id) then
    return '{}';
  end if;
  perform 1 from troupe.threads x where x.id = t.chat_thread_id for no key update;
  v_message := troupe.id_near(t.id || ':answered:' || t.run_id || ':' || (j.data->>'callId'), t.id);
  perform troupe.append(t.chat_thread_id, null, jsonb_build_array(jsonb_build_object('id', v_message, 'role', 'system',
      'content', jsonb_build_object('text', troupe.task_news(t, j.data)),
      'metadata', jsonb_build_object('task', jsonb_strip_nulls(jsonb_build_object('taskId', t.id, 'name', t.name,
        'subAgentId', t.sub_agent_id)) || (j.data - 'callId')))),
    jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0,
      'data', jsonb_build_object('id', v_message, 'role', 'system'))));
  return jsonb_build_object('told', t.chat_thread_id, 'queued', false);
end $$;
