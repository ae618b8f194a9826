-- The document of a task. It has the sub-agent once the sub-agent started.
-- Locks: none.
-- Called by: troupe.capture_tasks, store/queries/sync-sources.ts, store/queries/sync.ts, store/queries/triggers.ts.
create or replace function troupe.task_document(t troupe.tasks) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', t.id, 'userId', coalesce(t.user_id::text, ''), 'chatId', t.chat_id,
    'type', t.type, 'name', t.name, 'instruction', t.instruction,
    'subAgentId', case when t.status <> 'pending' then t.sub_agent_id end,
    'triggerMessageId', coalesce(t.trigger_message_id::text, ''), 'status', t.status,
    'result', t.result, 'error', t.error->>'message', 'code', t.error->>'code',
    'question', t.question, 'background', t.background, 'depth', t.depth, 'parentTaskId', t.parent_task_id,
    'parentRunId', t.parent_run_id, 'runId', t.run_id,
    'createdAt', troupe.milliseconds(t.created_at), 'updatedAt', troupe.milliseconds(t.updated_at)))
    || troupe.field('args', t.args)
$$;
