-- Ends the wait of a send_message call with the replies so far, and queues the run if nothing else is open. Returns
-- false if the wait was over.
-- Locks: the wait, the call, the thread of the run. The caller holds the run.
-- Called by: troupe.post_to_space, troupe.remove_member.
create or replace function troupe.end_wait(p_run uuid, p_call text, p_how text) returns boolean language plpgsql as $$
declare
  w troupe.reply_waits; r troupe.runs; told jsonb; v_step int; queued boolean;
begin
  delete from troupe.reply_waits x where x.run_id = p_run and x.call_id = p_call returning * into w;
  if not found then
    return false;
  end if;
  select * into r from troupe.runs x where x.id = p_run;
  told := troupe.wait_outcome(w, p_how);
  update troupe.tool_calls c set status = 'completed', output = told, waits_for = null, deadline = null,
    settled_at = now(), settled_by = 'reply'
    where c.run_id = p_run and c.call_id = p_call and c.waits_for is not null returning c.step into v_step;
  if not found then
    return false;
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  perform troupe.append(r.thread_id, p_run,
    jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', p_call, 'step', v_step,
      'content', jsonb_build_object('result', told, 'error', null))),
    jsonb_build_array(troupe.result_created(0, v_step),
      jsonb_build_object('type', 'tool.completed', 'message', 0, 'step', v_step,
        'data', jsonb_build_object('id', p_call, 'status', 'completed', 'by', 'reply'))));
  queued := r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 1;
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status else x.status end,
    run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status in ('waiting_tool', 'waiting_reply')
      then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null))
      else x.wait_deadline end, updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null,
      jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end if;
  return true;
end $$;
