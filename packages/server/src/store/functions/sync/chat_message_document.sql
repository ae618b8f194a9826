-- The document of a message of a session or a space.
-- Locks: none.
-- Called by: troupe.capture_messages, troupe.message_document.
create or replace function troupe.chat_message_document(m troupe.messages, p troupe.place) returns jsonb
  language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
      'id', m.id,
      'userId', coalesce((p).user_id, troupe.user_of_message(m)),
      'chatId', (p).chat_id,
      'sequence', m.seq,
      'role', m.role,
      'content', case
        when m.role = 'tool_result'
          then coalesce(nullif(m.content->'result', 'null') #>> '{}', m.content->'error'->>'message', '')
        else coalesce(m.content->>'text', '') end,
      'toolCallId', m.tool_call_id,
      'name', case when m.role = 'tool_call' then coalesce(m.content->>'name', m.content->'tool'->>'name') end,
      'senderId', coalesce(m.sender_id, case when m.role in ('assistant', 'tool_call')
        then (select r.entity_id from troupe.runs r where r.id = m.run_id) end),
      'runId', coalesce(m.metadata->>'troupe:run', m.run_id::text),
      'step', m.step,
      'createdAt', troupe.milliseconds(m.created_at)))
    || troupe.field('parts', m.content->'parts')
    || case when m.role = 'tool_call'
      then troupe.field('arguments', m.content->'arguments') || troupe.field('tool', m.content->'tool') else '{}' end
    || case when m.role = 'tool_result' then troupe.field('error', m.content->'error') else '{}' end
    -- Without the keys that the program writes.
    || jsonb_build_object('metadata', (select coalesce(jsonb_object_agg(x.key, x.value), '{}')
      from jsonb_each(m.metadata) x where x.key not like 'troupe:%' and x.key <> 'runContext'))
$$;
