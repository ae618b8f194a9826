-- Makes a call wait for a run.
-- Locks: the caller holds the run, the call and the thread.
-- Called by: troupe.begin_task, troupe.reactivate_task, troupe.reply_to_task.
create or replace function troupe.wait_for_task(p_run troupe.runs, p_call troupe.tool_calls, p_deadline_ms bigint,
  p_child uuid) returns void language plpgsql as $$
begin
  perform troupe.hand_over_call(p_run.id, p_call.call_id, 'task', p_deadline_ms);
  perform troupe.append(p_run.thread_id, p_run.id, null,
    jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', p_call.step,
    'data', jsonb_build_object('id', p_call.call_id, 'tool', p_call.tool, 'waitsFor', 'task',
      'deadlineMs', p_deadline_ms, 'runId', p_child))));
end $$;
