-- The document of a tool call of a sub-agent.
-- Locks: none.
-- Called by: troupe.capture_tool_calls, troupe.tool_call_document.
create or replace function troupe.sub_agent_call_document(c troupe.tool_calls, p troupe.place) returns jsonb
  language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
      'id', troupe.call_document_id(c.run_id, c.call_id),
      'userId', coalesce((p).user_id::text, ''),
      'chatId', (p).chat_id,
      'subAgentId', (p).sub_agent_id,
      'runId', c.run_id,
      'callId', c.call_id,
      'step', c.step,
      'toolName', c.tool,
      'status', case when c.status in ('requested', 'running') then 'pending' when c.status = 'completed' then 'success'
        else 'failed' end,
      'result', case when c.status = 'completed' then coalesce(c.output #>> '{}', '') end,
      'error', case when c.status not in ('requested', 'running', 'completed')
        then coalesce(c.error->>'message', c.status::text) end,
      'createdAt', troupe.milliseconds(c.created_at)))
    || jsonb_build_object('args', c.args)
$$;
