-- The document of a sub-agent.
-- Locks: none.
-- Called by: troupe.capture_sub_agents, store/queries/sync-sources.ts, store/queries/triggers.ts.
create or replace function troupe.sub_agent_document(a troupe.sub_agents) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', a.id, 'userId', coalesce(a.user_id::text, ''), 'chatId', a.chat_id,
    'taskId', a.task_id, 'agentId', a.agent_id, 'role', a.role,
    'status', a.status, 'iterationCount', a.iteration_count, 'summary', a.summary,
    'createdAt', troupe.milliseconds(a.created_at), 'updatedAt', troupe.milliseconds(a.updated_at)))
$$;
