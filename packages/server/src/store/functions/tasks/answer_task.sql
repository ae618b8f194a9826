-- Answers the question of a sub-agent from outside. p_call identifies the question; null: the open one, or else the
-- last. The same answer by the same settler is a repetition and changes nothing. A call that still waits for the task
-- keeps waiting; otherwise the agent that gave the task is notified.
-- Locks: the run, then as troupe.settle.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.answer_task(p_task uuid, p_call text, p_answer text, p_by text) returns jsonb
language plpgsql as $$
declare
  t troupe.tasks; r troupe.runs; c troupe.tool_calls; v_run uuid; answer jsonb;
begin
  select x.run_id into v_run from troupe.tasks x where x.id = p_task;
  select * into r from troupe.runs x where x.id = v_run for no key update;
  select * into t from troupe.tasks x where x.id = p_task;
  if t.id is null then
    return jsonb_build_object('ok', false, 'code', 'task_not_found');
  elsif t.run_id is distinct from v_run then
    raise exception 'troupe.answer_task: the task changed concurrently' using errcode = 'serialization_failure';
  end if;
  select * into c from troupe.tool_calls x where x.run_id = v_run and x.tool = 'ask_user'
    and (x.call_id = p_call or p_call is null) and (x.waits_for::text = 'answer' or x.settled_at is not null)
    order by x.waits_for is null, x.settled_at desc limit 1;
  answer := jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status, 'call', c.status,
    'settledBy', c.settled_by);
  if c.waits_for is null then
    return case when c.settled_by = p_by and c.output->>'answer' = p_answer
      then jsonb_build_object('ok', true, 'repeated', true, 'queued', false, 'thread', r.thread_id) else answer end;
  end if;
  c.output := jsonb_build_object('answer', p_answer);
  answer := troupe.settle(v_run, c.call_id, jsonb_build_object('status', 'completed', 'output', c.output), p_by,
    troupe.new_id());
  if not (answer->>'ok')::boolean then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status, 'call', answer->'status',
      'settledBy', answer->'settledBy');
  end if;
  if r.parent_call_id is null then
    insert into troupe.joins (what, task_id, data) values ('answered', p_task, jsonb_build_object(
      'status', 'answered', 'callId', c.call_id, 'question', c.args->'question', 'answer', p_answer));
  end if;
  return jsonb_build_object('ok', true, 'repeated', false, 'queued', answer->'queued', 'thread', r.thread_id);
end $$;
