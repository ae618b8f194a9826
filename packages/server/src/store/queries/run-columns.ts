// Where it was forked from is told beside it.
const TRIGGER = `r.trigger - 'forkedFrom' - 'forkedAtStep'`;
// What a run waits for, as the one who waits sees it.
const METADATA = `r.metadata || coalesce((select jsonb_build_object('waitState', jsonb_build_object('spaceId', w.space_id, 'messageId', w.message_id, 'toolCallId', w.call_id,
    'waitingFor', w.waiting_for, 'startedAt', troupe.iso_time(w.started_at), 'timeout', w.timeout_ms, 'replies', w.replies))
  from troupe.reply_waits w where w.run_id = r.id order by w.started_at, w.call_id limit 1), '{}')`;

// What a run needs that no worker has.
const WAITS_FOR_CODE = `case when r.status = 'queued' and r.code_tools is not null
    and not exists (select from troupe.workers w where not w.draining and w.code_tools @> r.code_tools) then r.code_tools end`;

// While a worker holds a run, how far it came is in its head.
/** A run as it is shown; `r` is its row, `s` its session. */
export const RUN = `select r.id, r.agent_id as "agentId", s.id as "sessionId", r.thread_id as "threadId", r.status, coalesce(h.step, r.step) as step, r.attempt,
    r.takeovers_in_all as takeovers,
    r.trigger_type as "triggerType", r.trigger_message_id as "triggerMessageId", case when r.trigger_type = 'fork'
      then jsonb_build_object('runId', r.trigger->'forkedFrom', 'step', r.trigger->'forkedAtStep') end as "forkedFrom", coalesce(h.input_tokens, r.input_tokens) as "inputTokens",
    coalesce(h.output_tokens, r.output_tokens) as "outputTokens", coalesce(h.cost, r.cost) as cost, r.outcome, r.error, r.cancel_reason as "cancelReason",
    r.entity_id as "entityId", r.space_id as "spaceId", r.active_space_id as "activeSpaceId", r.chain_depth as "chainDepth", r.absorbed_by as "absorbedBy",
    case when r.parent_call_id is not null then r.parent_run_id end as "parentRunId", r.parent_call_id as "parentCallId", r.task_id as "taskId",
    r.network_id as "networkId", r.network_version as "networkVersion", r.door,
    ${TRIGGER} as trigger, ${METADATA} as metadata,
    ${WAITS_FOR_CODE} as "waitsForCode",
    r.created_at as "createdAt", r.started_at as "startedAt", r.completed_at as "completedAt", r.canceled_at as "canceledAt"
  from troupe.runs r left join troupe.run_heads h on h.run_id = r.id left join troupe.sessions s on s.thread_id = r.thread_id`;
