-- The document of a run. While a worker holds the run, its progress is in run_heads and not here.
-- Locks: none.
-- Called by: troupe.capture_runs, store/queries/sync-sources.ts, store/queries/triggers.ts.
create or replace function troupe.run_document(r troupe.runs) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', r.id, 'door', r.door, 'agentId', r.agent_id,
    'entityId', r.entity_id,
    'sessionId', (select s.id from troupe.sessions s where s.thread_id = r.thread_id), 'spaceId', r.space_id,
    'activeSpaceId', r.active_space_id, 'networkId', r.network_id,
    'taskId', r.task_id, 'status', r.status, 'step', r.step, 'triggerType', r.trigger_type,
    'triggerMessageId', r.trigger_message_id, 'chainDepth', r.chain_depth,
    'parentRunId', case when r.parent_call_id is not null then r.parent_run_id end, 'absorbedBy', r.absorbed_by,
    'cancelReason', r.cancel_reason,
    'inputTokens', r.input_tokens, 'outputTokens', r.output_tokens, 'cost', r.cost::numeric / 1000000,
    'error', r.error->>'message', 'code', r.error->>'code',
    'createdAt', troupe.milliseconds(r.created_at), 'startedAt', troupe.milliseconds(r.started_at),
    'completedAt', troupe.milliseconds(r.completed_at),
    'canceledAt', troupe.milliseconds(r.canceled_at))) || troupe.field('outcome', r.outcome)
$$;
