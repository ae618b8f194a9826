-- The document of a message of a sub-agent, in the form that models receive; null for a row that belongs to the
-- document of another. The rows of a step are written by one transaction but not always by one statement, so a trigger
-- must call this at the end of the transaction.
-- Locks: none.
-- Called by: troupe.capture_messages, troupe.message_document.
create or replace function troupe.sub_agent_message_document(m troupe.messages, p troupe.place) returns jsonb
  language sql stable as $$
  select case when troupe.begins_document(m) then
    jsonb_strip_nulls(jsonb_build_object('id', m.id, 'userId', coalesce((p).user_id::text, ''), 'chatId', (p).chat_id,
      'subAgentId', (p).sub_agent_id, 'sequence', m.seq,
      'role', case m.role when 'tool_call' then 'assistant' when 'tool_result' then 'tool' else m.role::text end,
      'content', case m.role when 'tool_call' then '' when 'tool_result'
        then coalesce(nullif(m.content->'result', 'null') #>> '{}', m.content->'error'->>'message', '')
        else coalesce(m.content->>'text', '') end,
      'toolCallId', case when m.role = 'tool_result' then troupe.call_document_id(m.run_id, m.tool_call_id) end,
      'name', case when m.role = 'tool_result'
        then (select c.tool from troupe.tool_calls c where c.run_id = m.run_id and c.call_id = m.tool_call_id) end,
      'createdAt', troupe.milliseconds(m.created_at)))
    || case when m.role in ('assistant', 'tool_call') then troupe.field('toolCalls', (
      select jsonb_agg(jsonb_build_object('id', troupe.call_document_id(x.run_id, x.tool_call_id), 'type', 'function',
        'function',
        jsonb_build_object('name', x.content->>'name', 'arguments', x.content->'arguments' #>> '{}')) order by x.seq)
      from troupe.messages x where x.thread_id = m.thread_id and x.seq between m.seq and m.seq + 1000
        and x.run_id = m.run_id and x.step = m.step and x.role = 'tool_call'))
      else '{}' end end
$$;
