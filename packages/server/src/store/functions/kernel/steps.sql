-- What nearly every start and every commit of a run is, for many runs at once: one statement per table, over arrays.
-- The same as start and advance do for any item, for those that need no decision; an item that does need one raises
-- TR001, nothing of its batch is written, and the caller sends the batch through start or advance. Two things make a
-- statement over arrays cheap, both measured. Elements are fetched by number: unnesting ten arrays builds ten tables
-- first. And `i between 1 and n` makes the planner expect one row, so that it looks rows up by their keys, whatever it
-- believes the size of a table to be when it makes its plan, which is often when the table is still empty. p_count: 1,
-- 2, 3 … up to the length of the longest list. Items come in the order of their threads' ids; p_order has their numbers
-- in the order of their runs' ids, and so has f_item. Lists that belong to items name the item (x_item) and the place
-- within it (x_place). x_: calls that end m_: messages e_: events c_: calls that begin s_: the answer, by item f_: runs
-- that are completed Answers, by item, the seq before its first message, or { seq, foreign?, steers?, openCalls?,
-- promoted? } where there is more to say.
create or replace function troupe.steps(
  p_worker uuid, p_count int[], p_order int[], p_run uuid[], p_thread uuid[], p_epoch int[], p_version int[],
    p_known bigint[],
  p_messages int[], p_events int[], p_ends boolean[],
  x_item int[], x_id text[], x_status troupe.call_status[], x_output jsonb, x_error jsonb,
  m_item int[], m_place int[], m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_call text[], m_step int[],
  e_item int[], e_place int[], e_type text[], e_data jsonb, e_message int[], e_step int[],
  c_item int[], c_place int[], c_id text[], c_tool text[], c_args jsonb, c_effect troupe.tool_effect[],
  s_step int[], s_input bigint[], s_output bigint[], s_cost bigint[], s_provider text[], s_model text[],
    s_attempt int[],
  s_started float8[], s_first float8[], s_finished float8[], s_finish text[], s_budgeted boolean[],
  f_item int[], f_steers int[], f_outcome jsonb[]
) returns jsonb language plpgsql as $$
declare
  n constant int := cardinality(p_run);
  done int; message_base bigint[]; event_base bigint[]; foreigners boolean; verdicts jsonb; i int; told uuid[];
begin
  -- 1. Runs that end: their rows, with what might keep them going.
  if f_item is not null then
    select count(*), array_agg(y.id) filter (where y.door = 'space') into done, told from (
      select r.id, r.door from unnest(p_count) k join troupe.runs r on r.id = p_run[f_item[k]]
        where k between 1 and cardinality(f_item) and r.steers <= f_steers[k] for no key update of r) y;
    if done < cardinality(f_item) then
      raise exception 'troupe.steps: a run was steered' using errcode = 'TR001';
    end if;
  end if;

  -- 2. Heads: the fence.
  if s_step is null then
    update troupe.run_heads h set version = h.version + 1
      from unnest(p_order) x(i)
      where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i]
        and h.worker_id = p_worker;
  else
    update troupe.run_heads h set version = h.version + 1, worker_id = case when p_ends[x.i] then null
      else h.worker_id end, step = coalesce(s_step[x.i], h.step),
      input_tokens = h.input_tokens + s_input[x.i], output_tokens = h.output_tokens + s_output[x.i],
        cost = h.cost + s_cost[x.i]
      from unnest(p_order) x(i)
      where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i]
        and h.worker_id = p_worker;
  end if;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.steps: somebody else has a run' using errcode = 'TR001';
  end if;

  -- What was to be said and will not be is told as well. Any call that went wrong may be such a one: that is seldom,
  -- and asking costs little.
  if x_item is not null and ('completed' <> any(x_status) or x_output @> '[{"success": false}]') then
    told := p_run;
  end if;
  -- Where spaces are told of something, they come before the threads of runs.
  if told is not null then
    perform troupe.lock_spaces(told, null);
  end if;

  -- 3. Calls that end. One that was handed over meanwhile is not the worker's to end.
  if x_item is not null then
    update troupe.tool_calls c set status = x_status[k], output = case when x_status[k] = 'completed'
      then x_output->(k - 1) end, error = nullif(x_error->(k - 1), 'null'), settled_at = now()
      from unnest(p_count) k
      where k between 1 and cardinality(x_item) and c.run_id = p_run[x_item[k]] and c.call_id = x_id[k]
        and c.status = 'running';
    get diagnostics done = row_count;
    if done < cardinality(x_item) then
      raise exception 'troupe.steps: a call is not open' using errcode = 'TR003';
    end if;
  end if;

  -- 4. Threads, in the order of their ids: place messages and events behind what is there.
  with placed as (
    update troupe.threads t set last_message_seq = t.last_message_seq + p_messages[x.i],
      last_event_seq = t.last_event_seq + p_events[x.i],
        active_run_id = case when p_ends[x.i] and t.active_run_id = p_run[x.i] then null else t.active_run_id end
      from unnest(p_count) x(i) where x.i between 1 and n and t.id = p_thread[x.i]
      returning x.i, t.last_message_seq - p_messages[x.i] as messages, t.last_event_seq - p_events[x.i] as events)
  select array_agg(p.messages order by p.i), array_agg(p.events order by p.i), bool_or(p.messages > p_known[p.i])
    into message_base, event_base, foreigners from placed p;
  if coalesce(cardinality(message_base), 0) < n then
    raise exception 'troupe.steps: a thread is not there';
  end if;

  -- 5. Everything that hangs on them.
  if m_item is not null then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step)
      select p_thread[m_item[k]], message_base[m_item[k]] + m_place[k], m_id[k], m_role[k], m_content->(k - 1),
        m_call[k], p_run[m_item[k]], m_step[k]
      from generate_series(1, cardinality(m_item)) k;
  end if;
  if e_item is not null then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
      select p_thread[e_item[k]], event_base[e_item[k]] + e_place[k], e_type[k], nullif(e_data->(k - 1), 'null'),
        message_base[e_item[k]] + e_message[k], p_run[e_item[k]], e_step[k]
      from generate_series(1, cardinality(e_item)) k;
  end if;
  if c_item is not null then
    insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
      select p_run[c_item[k]], c_id[k], s_step[c_item[k]], c_place[k], c_tool[k], c_args->(k - 1), c_effect[k],
        'running', p_epoch[c_item[k]]
      from generate_series(1, cardinality(c_item)) k;
  end if;
  if s_step is not null then
    insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at,
      finished_at,
      input_tokens, output_tokens, cost, finish_reason, budgeted)
      select p_run[x.i], s_step[x.i], s_provider[x.i], s_model[x.i], p_worker, p_epoch[x.i], s_attempt[x.i],
        to_timestamp(s_started[x.i] / 1000),
        to_timestamp(s_first[x.i] / 1000), to_timestamp(s_finished[x.i] / 1000), s_input[x.i], s_output[x.i],
          s_cost[x.i], s_finish[x.i], s_budgeted[x.i]
      from generate_series(1, n) x(i) where s_step[x.i] is not null;
  end if;

  -- 6. Runs that end. A head that is ahead has taken a step since the row was written: both count from there.
  if f_item is not null then
    update troupe.runs r set status = 'completed', worker_id = null, step = h.step, input_tokens = h.input_tokens,
      output_tokens = h.output_tokens,
      cost = h.cost, takeovers = case when h.step > r.step then 0 else r.takeovers end, attempt = case
        when h.step > r.step then 0 else r.attempt end,
      open_calls = 0, wait_state = null, wait_deadline = null, outcome = f_outcome[k], error = null,
        cancel_reason = null,
      completed_at = now(), canceled_at = null, updated_at = now()
      from unnest(p_count) k, troupe.run_heads h
      where k between 1 and cardinality(f_item) and r.id = p_run[f_item[k]] and h.run_id = p_run[f_item[k]];
  end if;

  verdicts := to_jsonb(message_base);
  -- Seldom: another run waits for its turn in the thread.
  if f_item is not null then
    for i in select f_item[k] from generate_series(1, cardinality(f_item)) k
      where exists (select from troupe.runs w where w.thread_id = p_thread[f_item[k]] and w.status = 'queued'
        and not w.ready)
        and (select r.serial from troupe.runs r where r.id = p_run[f_item[k]]) loop
      verdicts := jsonb_set(verdicts, array[(i - 1)::text], jsonb_build_object('seq', message_base[i],
        'promoted', troupe.promote(p_thread[i], p_run[i])));
    end loop;
  end if;
  -- Seldom: what others put into the thread meanwhile. The count of steering messages is read under the thread's lock,
  -- so that it fits the messages.
  if foreigners then
    for i in 1 .. n loop
      continue when message_base[i] <= p_known[i];
      verdicts := jsonb_set(verdicts, array[(i - 1)::text], jsonb_build_object('seq', message_base[i], 'promoted',
        verdicts->(i - 1)->'promoted',
        'foreign', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = p_thread[i] and m.seq > p_known[i] and m.seq <= message_base[i]),
        'steers', (select r.steers from troupe.runs r where r.id = p_run[i]),
        'openCalls', (select r.open_calls from troupe.runs r where r.id = p_run[i])));
    end loop;
  end if;
  return verdicts;
end $$;
