-- Ends a waiting call from outside, or lets a worker execute it (proceed). Settling the last open call queues the run.
-- p_outcome is { status: completed|failed|proceed, output?, error?, args? }.
-- Locks: the run, the threads that watch it by id, the call, the thread.
-- Called by: troupe.answer_task, troupe.hand_up, troupe.join_child, troupe.reply_to_task, troupe.settle_all,
--   store/queries/outside.ts.
create or replace function troupe.settle(p_run uuid, p_call text, p_outcome jsonb, p_by text, p_message uuid)
  returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; target text := p_outcome->>'status'; queued boolean; is_edited boolean;
  replies boolean;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if r.watchers is not null then
    perform troupe.lock_watchers(array[p_run], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = p_call for no key update;
  if not found then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_found');
  elsif c.waits_for is null or c.waits_for = 'reply' or r.status not in ('running', 'waiting_tool', 'waiting_reply',
    'queued') then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status, 'output', c.output,
      'error', c.error, 'settledBy', c.settled_by);
  elsif c.deadline <= now() then
    perform troupe.pass(r);
    return '{"ok": false, "code": "call_not_open", "status": "expired", "output": null, "settledBy": null,
      "error": {"code": "expired", "message": "Nobody settled this call before its deadline."}}';
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if target = 'proceed' then
    -- Equal arguments are not an edit. A call in doubt counts another attempt.
    is_edited := p_outcome ? 'args' and p_outcome->'args' <> c.args;
    update troupe.tool_calls x set status = 'requested', waits_for = null, deadline = null, settled_by = p_by,
      error = null,
      args = coalesce(p_outcome->'args', x.args), edited = x.edited or is_edited,
      attempt = x.attempt + case when x.status = 'in_doubt' then 1 else 0 end
      where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.approved',
      'step', c.step,
      'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'by', p_by, 'edited', case when is_edited
        then true end)))));
  else
    update troupe.tool_calls x set status = target::troupe.call_status, output = p_outcome->'output',
      error = p_outcome->'error', waits_for = null, deadline = null,
      settled_by = p_by, settled_at = now() where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run,
      jsonb_build_array(jsonb_build_object('id', p_message, 'role', 'tool_result', 'callId', p_call, 'step', c.step,
        'content', jsonb_build_object('result', p_outcome->'output', 'error', p_outcome->'error')
          || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
      jsonb_build_array(troupe.result_created(0, c.step), jsonb_build_object('type',
        case target when 'completed' then 'tool.completed' else 'tool.failed' end, 'message', 0,
        'step', c.step, 'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'status', target, 'by', p_by)))));
  end if;
  queued := r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 1;
  replies := not queued and r.status = 'waiting_tool' and not exists (
    select from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null and o.waits_for <> 'reply');
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status when replies then 'waiting_reply' else x.status end,
    run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status in ('waiting_tool', 'waiting_reply')
      then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null))
        else x.wait_deadline end,
    updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null,
      jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  elsif replies then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.waiting_reply')));
  end if;
  return jsonb_build_object('ok', true, 'queued', queued, 'status', case when queued then 'queued'::troupe.run_status
    when replies then 'waiting_reply' else r.status end,
    'openCalls', r.open_calls - 1, 'thread', r.thread_id);
end $$;
