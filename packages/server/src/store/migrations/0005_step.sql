-- breaking: true
-- The commit that nearly every step of a run makes: one answer with one call, or one result, and the run goes on.
-- The same as advance does for any commit, with one argument per value instead of arrays: nothing has to be taken apart, so
-- that a lone commit takes a third of the time. What does not fit (several calls at once, an end, a wait) goes through advance.
--   p_messages, p_events: how many of the places are used
-- Answers the seq before the first message, or an object as advance does where there is more to say.
create function troupe.step(
  p_worker uuid, p_run uuid, p_thread uuid, p_epoch int, p_version int, p_known bigint, p_step int, p_input bigint, p_output bigint, p_cost bigint,
  p_settled text, p_status troupe.call_status, p_result jsonb, p_error jsonb,
  p_messages int, p_at int, m1_id uuid, m1_role troupe.message_role, m1_content jsonb, m1_call text, m2_id uuid, m2_role troupe.message_role, m2_content jsonb, m2_call text,
  p_events int, e1_type text, e1_data jsonb, e1_message int, e1_step int, e2_type text, e2_data jsonb, e2_message int, e2_step int,
  e3_type text, e3_data jsonb, e3_message int, e3_step int,
  c_id text, c_tool text, c_args jsonb, c_effect troupe.tool_effect,
  s_provider text, s_model text, s_attempt int, s_started float8, s_first float8, s_finished float8, s_finish text, s_budgeted boolean
) returns jsonb language plpgsql as $$
declare
  mb bigint; eb bigint;
begin
  if p_step is null then
    update troupe.run_heads h set version = h.version + 1
      where h.run_id = p_run and h.version = p_version and h.epoch = p_epoch and h.worker_id = p_worker;
  else
    update troupe.run_heads h set version = h.version + 1, step = p_step,
      input_tokens = h.input_tokens + p_input, output_tokens = h.output_tokens + p_output, cost = h.cost + p_cost
      where h.run_id = p_run and h.version = p_version and h.epoch = p_epoch and h.worker_id = p_worker;
  end if;
  if not found then
    return (select jsonb_build_object('ok', false, 'status', coalesce(x.status::text, 'missing'),
        'epoch', x.epoch, 'version', h.version, 'step', h.step, 'worker', x.worker_id)
      from (select p_run as id) i left join troupe.runs x on x.id = i.id left join troupe.run_heads h on h.run_id = i.id);
  end if;
  if p_settled is not null then
    update troupe.tool_calls c set status = p_status, output = p_result, error = p_error, settled_at = now()
      where c.run_id = p_run and c.call_id = p_settled and c.status = 'running';
    if not found then
      raise exception 'troupe.step: call % of run % is not open', p_settled, p_run;
    end if;
  end if;
  update troupe.threads t set last_message_seq = t.last_message_seq + p_messages, last_event_seq = t.last_event_seq + p_events
    where t.id = p_thread returning t.last_message_seq - p_messages, t.last_event_seq - p_events into mb, eb;
  if p_messages = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step)
      values (p_thread, mb + 1, m1_id, m1_role, m1_content, m1_call, p_run, p_at);
  elsif p_messages = 2 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step)
      values (p_thread, mb + 1, m1_id, m1_role, m1_content, m1_call, p_run, p_at), (p_thread, mb + 2, m2_id, m2_role, m2_content, m2_call, p_run, p_at);
  end if;
  if p_events = 2 then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
      values (p_thread, eb + 1, e1_type, e1_data, mb + e1_message, p_run, e1_step), (p_thread, eb + 2, e2_type, e2_data, mb + e2_message, p_run, e2_step);
  elsif p_events = 3 then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
      values (p_thread, eb + 1, e1_type, e1_data, mb + e1_message, p_run, e1_step), (p_thread, eb + 2, e2_type, e2_data, mb + e2_message, p_run, e2_step),
        (p_thread, eb + 3, e3_type, e3_data, mb + e3_message, p_run, e3_step);
  elsif p_events = 1 then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
      values (p_thread, eb + 1, e1_type, e1_data, mb + e1_message, p_run, e1_step);
  end if;
  if c_id is not null then
    insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
      values (p_run, c_id, p_step, 1, c_tool, c_args, c_effect, 'running', p_epoch);
  end if;
  if p_step is not null then
    insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at, finished_at,
      input_tokens, output_tokens, cost, finish_reason, budgeted)
      values (p_run, p_step, s_provider, s_model, p_worker, p_epoch, s_attempt, to_timestamp(s_started / 1000), to_timestamp(s_first / 1000),
        to_timestamp(s_finished / 1000), p_input, p_output, p_cost, s_finish, s_budgeted);
  end if;
  -- Seldom: what others put into the thread meanwhile.
  if mb > p_known then
    return jsonb_build_object('ok', true, 'mode', 'go', 'seq', mb, 'version', p_version + 1,
      'foreign', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = p_thread and m.seq > p_known and m.seq <= mb),
      'steers', (select x.steers from troupe.runs x where x.id = p_run), 'openCalls', (select x.open_calls from troupe.runs x where x.id = p_run));
  end if;
  return to_jsonb(mb);
end $$;
