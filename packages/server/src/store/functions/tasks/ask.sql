-- Turns a call of a sub-agent into a question to the agent that gave the task. The time until the answer does not count
-- towards the deadline of the run.
-- Locks: the run, its head, the call, the thread.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.ask(p_run uuid, p_call text, p_epoch int, p_worker uuid, p_deadline_ms bigint)
  returns boolean language plpgsql as $$
declare
  r troupe.runs; c troupe.tool_calls;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found or not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  c := troupe.hand_over_call(p_run, p_call, 'answer', p_deadline_ms);
  -- Null: an earlier attempt asked, and the answer may be there.
  if c.call_id is not null then
    update troupe.runs x set deadline_at = x.deadline_at + make_interval(secs => p_deadline_ms::float8 / 1000)
      where x.id = p_run;
    perform troupe.append(r.thread_id, p_run, null,
      jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', c.step,
      'data', jsonb_build_object('id', p_call, 'tool', c.tool, 'waitsFor', 'answer', 'deadlineMs', p_deadline_ms))));
  end if;
  return true;
end $$;
