-- breaking: false
-- What spaces need of the ledger of calls: calls that are handed over to somebody else while they execute, runs that wait for replies.

-- A call that a worker executes becomes one that somebody else will settle. Only whoever has the run may say so; said twice, it is
-- still so. False where somebody else has the run.
create function troupe.hand_over(p_run uuid, p_call text, p_epoch int, p_worker uuid, p_waits_for text, p_deadline_ms bigint) returns boolean language plpgsql as $$
begin
  perform 1 from troupe.runs r where r.id = p_run for no key update;
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  update troupe.tool_calls c set status = 'requested', waits_for = p_waits_for::troupe.waits_for, deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where c.run_id = p_run and c.call_id = p_call and c.status = 'running';
  -- Not found: it was handed over before, and may be settled by now.
  if found then
    update troupe.runs r set open_calls = r.open_calls + 1, updated_at = now() where r.id = p_run;
  end if;
  return true;
end $$;

-- The spaces that are told what becomes of these runs and of their calls, in the order of their ids: before the first of them is
-- written, so that two who write to several cannot wait for each other. After runs, heads and tool calls, before threads of runs.
create function troupe.lock_spaces(p_runs uuid[], p_spaces uuid[]) returns void language plpgsql as $$
begin
  perform 1 from troupe.threads t where t.id in (
    select r.space_id from troupe.runs r where r.id = any(p_runs)
    union select r.active_space_id from troupe.runs r where r.id = any(p_runs)
    union select (c.shown->>'spaceId')::uuid from troupe.tool_calls c where c.run_id = any(p_runs) and c.shown is not null and c.status in ('requested', 'running', 'in_doubt')
    union select troupe.space_of_call(c.run_id, c.call_id) from troupe.tool_calls c where c.run_id = any(p_runs) and c.tool = 'send_message' and c.status in ('requested', 'running', 'in_doubt')
    union select x.space_id from troupe.run_shown x where x.run_id = any(p_runs)
    union select unnest(p_spaces)) order by t.id for no key update;
end $$;

-- As before (0005); a call that is not open is told apart, and spaces are locked before they are told, also of what will not be said.
create or replace function troupe.steps(
  p_worker uuid, p_count int[], p_order int[], p_run uuid[], p_thread uuid[], p_epoch int[], p_version int[], p_known bigint[],
  p_messages int[], p_events int[], p_ends boolean[],
  x_item int[], x_id text[], x_status troupe.call_status[], x_output jsonb, x_error jsonb,
  m_item int[], m_place int[], m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_call text[], m_step int[],
  e_item int[], e_place int[], e_type text[], e_data jsonb, e_message int[], e_step int[],
  c_item int[], c_place int[], c_id text[], c_tool text[], c_args jsonb, c_effect troupe.tool_effect[],
  s_step int[], s_input bigint[], s_output bigint[], s_cost bigint[], s_provider text[], s_model text[], s_attempt int[],
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
      where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i] and h.worker_id = p_worker;
  else
    update troupe.run_heads h set version = h.version + 1, worker_id = case when p_ends[x.i] then null else h.worker_id end, step = coalesce(s_step[x.i], h.step),
      input_tokens = h.input_tokens + s_input[x.i], output_tokens = h.output_tokens + s_output[x.i], cost = h.cost + s_cost[x.i]
      from unnest(p_order) x(i)
      where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i] and h.worker_id = p_worker;
  end if;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.steps: somebody else has a run' using errcode = 'TR001';
  end if;

  -- What was to be said and will not be is told as well. Any call that went wrong may be such a one: that is seldom, and asking costs little.
  if x_item is not null and ('completed' <> any(x_status) or x_output @> '[{"success": false}]') then
    told := p_run;
  end if;
  -- Where spaces are told of something, they come before the threads of runs.
  if told is not null then
    perform troupe.lock_spaces(told, null);
  end if;

  -- 3. Calls that end. One that was handed over meanwhile is not the worker's to end.
  if x_item is not null then
    update troupe.tool_calls c set status = x_status[k], output = case when x_status[k] = 'completed' then x_output->(k - 1) end, error = nullif(x_error->(k - 1), 'null'), settled_at = now()
      from unnest(p_count) k
      where k between 1 and cardinality(x_item) and c.run_id = p_run[x_item[k]] and c.call_id = x_id[k] and c.status = 'running';
    get diagnostics done = row_count;
    if done < cardinality(x_item) then
      raise exception 'troupe.steps: a call is not open' using errcode = 'TR003';
    end if;
  end if;

  -- 4. Threads, in the order of their ids: place messages and events behind what is there.
  with placed as (
    update troupe.threads t set last_message_seq = t.last_message_seq + p_messages[x.i], last_event_seq = t.last_event_seq + p_events[x.i],
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
      select p_thread[m_item[k]], message_base[m_item[k]] + m_place[k], m_id[k], m_role[k], m_content->(k - 1), m_call[k], p_run[m_item[k]], m_step[k]
      from generate_series(1, cardinality(m_item)) k;
  end if;
  if e_item is not null then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
      select p_thread[e_item[k]], event_base[e_item[k]] + e_place[k], e_type[k], nullif(e_data->(k - 1), 'null'), message_base[e_item[k]] + e_message[k], p_run[e_item[k]], e_step[k]
      from generate_series(1, cardinality(e_item)) k;
  end if;
  if c_item is not null then
    insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
      select p_run[c_item[k]], c_id[k], s_step[c_item[k]], c_place[k], c_tool[k], c_args->(k - 1), c_effect[k], 'running', p_epoch[c_item[k]]
      from generate_series(1, cardinality(c_item)) k;
  end if;
  if s_step is not null then
    insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at, finished_at,
      input_tokens, output_tokens, cost, finish_reason, budgeted)
      select p_run[x.i], s_step[x.i], s_provider[x.i], s_model[x.i], p_worker, p_epoch[x.i], s_attempt[x.i], to_timestamp(s_started[x.i] / 1000),
        to_timestamp(s_first[x.i] / 1000), to_timestamp(s_finished[x.i] / 1000), s_input[x.i], s_output[x.i], s_cost[x.i], s_finish[x.i], s_budgeted[x.i]
      from generate_series(1, n) x(i) where s_step[x.i] is not null;
  end if;

  -- 6. Runs that end. A head that is ahead has taken a step since the row was written: both count from there.
  if f_item is not null then
    update troupe.runs r set status = 'completed', worker_id = null, step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens,
      cost = h.cost, takeovers = case when h.step > r.step then 0 else r.takeovers end, attempt = case when h.step > r.step then 0 else r.attempt end,
      open_calls = 0, wait_state = null, wait_deadline = null, outcome = f_outcome[k], error = null, cancel_reason = null,
      completed_at = now(), canceled_at = null, updated_at = now()
      from unnest(p_count) k, troupe.run_heads h
      where k between 1 and cardinality(f_item) and r.id = p_run[f_item[k]] and h.run_id = p_run[f_item[k]];
  end if;

  verdicts := to_jsonb(message_base);
  -- Seldom: another run waits for its turn in the thread.
  if f_item is not null then
    for i in select f_item[k] from generate_series(1, cardinality(f_item)) k
      where exists (select from troupe.runs w where w.thread_id = p_thread[f_item[k]] and w.status = 'queued' and not w.ready)
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
      verdicts := jsonb_set(verdicts, array[(i - 1)::text], jsonb_build_object('seq', message_base[i], 'promoted', verdicts->(i - 1)->'promoted',
        'foreign', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = p_thread[i] and m.seq > p_known[i] and m.seq <= message_base[i]),
        'steers', (select r.steers from troupe.runs r where r.id = p_run[i]),
        'openCalls', (select r.open_calls from troupe.runs r where r.id = p_run[i])));
    end loop;
  end if;
  return verdicts;
end $$;

-- As before (0002); the same, and a run that waits for nothing but replies says so.
create or replace function troupe.advance(
  p_worker uuid, p_order int[], p_run uuid[], p_thread uuid[], p_epoch int[], p_version int[], p_known bigint[], p_step int[],
  p_input bigint[], p_output bigint[], p_cost bigint[],
  p_row boolean[], p_steers int[], p_park boolean[], p_attempt int[], p_model int[], p_outside int[], p_target text[], p_extra jsonb[],
  message_upto int[], message_id uuid[], message_role troupe.message_role[], message_content jsonb[], message_call text[], message_step int[], message_extra jsonb[],
  event_upto int[], event_when text[], event_type text[], event_data jsonb[], event_message int[], event_step int[],
  call_upto int[], call_id text[], call_tool text[], call_args jsonb[], call_effect troupe.tool_effect[], call_status troupe.call_status[], call_extra jsonb[],
  change_upto int[], change_id text[], change_status troupe.call_status[], change_output jsonb[], change_error jsonb[], change_extra jsonb[],
  step_provider text[], step_model text[], step_attempt int[], step_started float8[], step_first float8[], step_finished float8[],
  step_finish text[], step_extra jsonb[]
) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  n constant int := cardinality(p_run);
  modes text[] := array_fill('go'::text, array[n]); verdicts jsonb[] := array_fill(null::jsonb, array[n]); rows_locked boolean := p_row is not null;
  i int; k int; o int; from_row int; to_row int; kept int; written int;
  v_run uuid; v_thread uuid; v_epoch int; v_version int; v_step int; v_now int; v_input bigint; v_output bigint; v_cost bigint; v_leaver uuid;
  v_mode text; v_when text; v_extra jsonb; v_id uuid; v_role troupe.message_role; v_json jsonb; v_error jsonb; v_text text; v_tool text;
  v_effect troupe.tool_effect; v_status troupe.call_status; v_number int; v_seq bigint; v_first float8; v_last float8; v_begin float8;
  message_base bigint; event_base bigint; verdict jsonb; opened int[]; steered int[]; replies boolean; told uuid[] := '{}'; places uuid[] := '{}'; entered uuid[];
  r record;
begin
  -- 1. Rows of runs that may change, in the order of their ids; what they show decides what becomes of the item.
  if rows_locked then
    opened := array_fill(null::int, array[n]); steered := array_fill(null::int, array[n]);
    for i in 1 .. n loop
      continue when not p_row[i];
      select x.open_calls, x.steers, x.door into r from troupe.runs x where x.id = p_run[i] for no key update;
      modes[i] := case p_target[i] when 'completed' then case when r.steers > p_steers[i] then 'go' else 'ended' end
        when 'queued' then 'released' when 'waiting_tool' then 'parked' when 'failed' then 'ended' when 'canceled' then 'ended'
        else case when p_park[i] and r.open_calls + p_outside[i] > 0 then 'parked' else 'go' end end;
      opened[i] := case when modes[i] = 'ended' then 0 else r.open_calls + p_outside[i] end;
      steered[i] := r.steers;
      if r.door = 'space' then
        told := told || p_run[i];
      end if;
    end loop;
  end if;

  -- 2. Heads: the fence.
  for i in 1 .. n loop
    v_run := p_run[i]; v_epoch := p_epoch[i]; v_version := p_version[i]; v_step := p_step[i]; v_leaver := p_worker;
    if modes[i] <> 'go' then
      v_leaver := null;
    end if;
    if v_step is null then
      update troupe.run_heads h set version = h.version + 1, worker_id = v_leaver
        where h.run_id = v_run and h.version = v_version and h.epoch = v_epoch and h.worker_id = p_worker;
    else
      v_input := p_input[i]; v_output := p_output[i]; v_cost := p_cost[i];
      update troupe.run_heads h set version = h.version + 1, worker_id = v_leaver, step = v_step,
        input_tokens = h.input_tokens + v_input, output_tokens = h.output_tokens + v_output, cost = h.cost + v_cost
        where h.run_id = v_run and h.version = v_version and h.epoch = v_epoch and h.worker_id = p_worker;
    end if;
    if not found then
      select x.status, x.epoch, h.version, h.step, x.worker_id into r
        from troupe.runs x left join troupe.run_heads h on h.run_id = x.id where x.id = v_run;
      modes[i] := 'refused';
      verdicts[i] := jsonb_build_object('ok', false, 'status', coalesce(r.status::text, 'missing'),
        'epoch', r.epoch, 'version', r.version, 'step', r.step, 'worker', r.worker_id);
    end if;
  end loop;

  -- Spaces that are told of runs or of calls, before anything fires what tells them.
  for i in 1 .. n loop
    for k in coalesce(change_upto[i - 1], 0) + 1 .. change_upto[i] loop
      if change_extra[k] ? 'shown' or change_status[k] in ('failed', 'canceled', 'expired', 'in_doubt') or change_output[k] @> '{"success": false}' then
        told := told || p_run[i];
      end if;
    end loop;
    entered := '{}';
    for k in coalesce(call_upto[i - 1], 0) + 1 .. call_upto[i] loop
      if call_extra[k] ? 'shown' then
        places := places || (call_extra[k]->'shown'->>'spaceId')::uuid;
      end if;
      -- What will not be said is told where it would have been: see space_of_call.
      if call_tool[k] = 'enter_space' and call_args[k]->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        entered := entered || (call_args[k]->>'spaceId')::uuid;
      elsif call_tool[k] = 'send_message' and call_status[k] = 'failed' then
        told := told || p_run[i]; places := places || entered;
      end if;
    end loop;
  end loop;
  if cardinality(told) + cardinality(places) > 0 then
    perform troupe.lock_spaces(told, places);
  end if;

  -- 3. Calls that end, calls that begin (again). One that was handed over meanwhile is not the worker's to end.
  if cardinality(change_id) > 0 then
    from_row := 1;
    for i in 1 .. n loop
      to_row := change_upto[i];
      if to_row >= from_row and modes[i] <> 'refused' then
        v_run := p_run[i];
        for k in from_row .. to_row loop
          v_text := change_id[k]; v_status := change_status[k]; v_json := change_output[k]; v_error := change_error[k]; v_extra := change_extra[k];
          if v_extra is null or v_extra ? 'ends' then
            update troupe.tool_calls c set status = v_status, output = v_json, error = v_error, settled_at = now()
              where c.run_id = v_run and c.call_id = v_text and c.status = 'running';
          else
            update troupe.tool_calls c set status = v_status, output = coalesce(v_json, c.output), error = coalesce(v_error, c.error), epoch = p_epoch[i],
              attempt = c.attempt + coalesce((v_extra->>'again')::int, 0),
              waits_for = (v_extra->>'waitsFor')::troupe.waits_for, deadline = now() + make_interval(secs => (v_extra->>'deadlineMs')::float8 / 1000),
              settled_at = case when v_status not in ('requested', 'running') and v_extra->>'waitsFor' is null then now() end
              where c.run_id = v_run and c.call_id = v_text and c.status in ('requested', 'running', 'in_doubt');
          end if;
          if not found then
            raise exception 'troupe.advance: call % of run % is not open', v_text, v_run using errcode = case when v_extra is null or v_extra ? 'ends' then 'TR003' else 'P0001' end;
          end if;
        end loop;
      end if;
      from_row := to_row + 1;
    end loop;
  end if;

  -- 4. Threads, in the order of their ids: place messages and events behind what is there, then everything that hangs on them.
  foreach i in array p_order loop
    v_mode := modes[i];
    if v_mode = 'refused' then
      if rows_locked and p_row[i] then
        perform troupe.pass(x) from troupe.runs x where x.id = p_run[i];
      end if;
      continue;
    end if;
    v_run := p_run[i]; v_thread := p_thread[i]; v_step := p_step[i];
    from_row := coalesce(event_upto[i - 1], 0) + 1; to_row := event_upto[i]; kept := to_row - from_row + 1;
    if rows_locked then
      if v_mode = 'ended' and p_extra[i] @> '{"close": true}' then
        perform 1 from troupe.threads t where t.id = v_thread for no key update;
        perform troupe.close_calls(v_run, v_thread, 'canceled', 'canceled',
          'The run ended before this call did; a call that was already running may have taken effect.', null);
      end if;
      v_when := case v_mode when 'released' then 'ended' else v_mode end;
      select count(*) into kept from generate_series(from_row, to_row) x where event_when[x] is null or event_when[x] = v_when;
    end if;
    -- Whatever this commit itself leaves open waits for somebody else than for a reply.
    replies := v_mode = 'parked' and p_target[i] is null and p_outside[i] = 0 and not exists (
      select from troupe.tool_calls c where c.run_id = v_run and c.waits_for is not null and c.waits_for <> 'reply');
    o := coalesce(message_upto[i - 1], 0);
    written := message_upto[i] - o;
    update troupe.threads t set last_message_seq = t.last_message_seq + written, last_event_seq = t.last_event_seq + kept
      where t.id = v_thread returning t.last_message_seq - written, t.last_event_seq - kept into message_base, event_base;
    v_seq := message_base;
    for k in o + 1 .. o + written loop
      v_seq := v_seq + 1; v_id := message_id[k]; v_role := message_role[k]; v_json := message_content[k]; v_text := message_call[k];
      v_now := message_step[k]; v_extra := message_extra[k];
      insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step, sender_id, metadata)
        values (v_thread, v_seq, v_id, v_role, v_json, v_text, v_run, v_now, (v_extra->>'sender')::uuid, v_extra->'metadata');
    end loop;
    v_seq := event_base;
    for k in from_row .. to_row loop
      continue when rows_locked and event_when[k] <> v_when;
      v_seq := v_seq + 1; v_text := case when replies and event_type[k] = 'run.waiting_tool' then 'run.waiting_reply' else event_type[k] end; v_json := event_data[k]; v_number := event_message[k]; v_now := event_step[k];
      insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
        values (v_thread, v_seq, v_text, v_json, message_base + v_number, v_run, v_now);
    end loop;
    if v_step is not null then
      v_epoch := p_epoch[i];
      o := coalesce(call_upto[i - 1], 0);
      for k in o + 1 .. call_upto[i] loop
        v_number := k - o; v_text := call_id[k]; v_tool := call_tool[k]; v_json := call_args[k]; v_effect := call_effect[k]; v_status := call_status[k];
        v_extra := call_extra[k];
        if v_extra is null then
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch);
        else
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch, waits_for, deadline, error, settled_at, shown)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch, (v_extra->>'waitsFor')::troupe.waits_for,
              now() + make_interval(secs => (v_extra->>'deadlineMs')::float8 / 1000), v_extra->'error', case when v_status = 'failed' then now() end, v_extra->'shown');
        end if;
      end loop;
      v_text := step_provider[i]; v_tool := step_model[i]; v_number := step_attempt[i]; v_begin := step_started[i] / 1000; v_first := step_first[i] / 1000;
      v_last := step_finished[i] / 1000; v_extra := step_extra[i]; v_input := p_input[i]; v_output := p_output[i]; v_cost := p_cost[i]; v_when := step_finish[i];
      insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at, finished_at,
        input_tokens, output_tokens, cost, finish_reason, agent_key, decision, budgeted)
        values (v_run, v_step, v_text, v_tool, p_worker, v_epoch, v_number, to_timestamp(v_begin), to_timestamp(v_first),
          to_timestamp(v_last), v_input, v_output, v_cost, v_when, v_extra->>'agentKey', v_extra->'decision',
          coalesce((v_extra->>'budgeted')::boolean, false));
    end if;
    verdict := jsonb_build_object('ok', true, 'mode', v_mode, 'seq', message_base, 'version', p_version[i] + 1);
    if rows_locked and p_row[i] then
      verdict := verdict || jsonb_build_object('openCalls', opened[i], 'steers', steered[i],
        'promoted', troupe.leave(v_run, v_thread, v_mode, p_attempt[i], p_model[i], p_outside[i], p_target[i], p_extra[i]));
      if p_park[i] and v_mode = 'go' then
        verdict := verdict || jsonb_build_object('ready', (
          select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
          where c.run_id = v_run and c.status = 'requested' and c.waits_for is null));
      end if;
    end if;
    -- Seldom: what others put into the thread meanwhile. The count of steering messages is read under the thread's lock,
    -- so that it fits the messages.
    if message_base > p_known[i] then
      verdict := verdict || jsonb_build_object('foreign', (
          select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = v_thread and m.seq > p_known[i] and m.seq <= message_base),
        'steers', (select x.steers from troupe.runs x where x.id = v_run), 'openCalls', (select x.open_calls from troupe.runs x where x.id = v_run));
    end if;
    verdicts[i] := verdict;
  end loop;
  return to_jsonb(verdicts);
end $$;

-- As before (0010); a run whose open calls all wait for replies waits for replies.
create or replace function troupe.leave(p_run uuid, p_thread uuid, p_mode text, p_attempt int, p_model int, p_outside int, p_target text,
  p_extra jsonb) returns boolean
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  is_serial boolean; promoted boolean; delay interval := make_interval(secs => (p_extra->>'delayMs')::float8 / 1000);
begin
  -- The budget that a run is about to wait for was raised meanwhile: the next sweep has it ask again.
  if p_mode = 'parked' and p_extra->'waitState' ? 'budget' then
    perform 1 from troupe.budgets b where b.id = (p_extra->'waitState'->>'budget')::uuid for share;
    perform 1 from troupe.budgets b where b.id = (p_extra->'waitState'->>'budget')::uuid and b.amount > (p_extra->'waitState'->>'amount')::bigint;
    if found then
      delay := '0';
    end if;
  end if;
  update troupe.runs r set
    step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens, cost = h.cost,
    -- A head that is ahead has taken a step since: both count from there.
    takeovers = case when h.step > r.step then 0 else r.takeovers end,
    attempt = coalesce(p_attempt, case when h.step > r.step then 0 else r.attempt end),
    model_index = coalesce(p_model, r.model_index),
    open_calls = case when p_mode = 'ended' then 0 else r.open_calls + p_outside end,
    status = case p_mode when 'parked' then case when p_target is null and not exists (
        select from troupe.tool_calls c where c.run_id = p_run and c.waits_for is not null and c.waits_for <> 'reply') then 'waiting_reply' else 'waiting_tool' end
      when 'go' then 'running' else p_target end::troupe.run_status,
    worker_id = case when p_mode = 'go' then r.worker_id end,
    run_at = case when p_mode = 'released' then now() + coalesce(delay, '0') else r.run_at end,
    wait_state = case when p_mode = 'parked' then p_extra->'waitState' end,
    wait_deadline = case when p_mode = 'parked' then least(r.deadline_at, now() + delay,
      (select min(c.deadline) from troupe.tool_calls c where c.run_id = r.id and c.waits_for is not null)) end,
    outcome = case when p_mode = 'ended' then p_extra->'outcome' else r.outcome end,
    error = case when p_extra ? 'error' then p_extra->'error' when p_mode = 'ended' then null else r.error end,
    cancel_reason = case when p_mode = 'ended' then (p_extra->>'cancelReason')::troupe.cancel_reason end,
    completed_at = case when p_mode = 'ended' and p_target <> 'canceled' then now() end,
    canceled_at = case when p_mode = 'ended' and p_target = 'canceled' then now() end,
    updated_at = now()
  from troupe.run_heads h where r.id = p_run and h.run_id = p_run returning r.serial into is_serial;
  -- Let the next run of a serial thread in; true where there was one.
  promoted := is_serial and p_mode = 'ended' and troupe.promote(p_thread, p_run);
  if is_serial and p_mode = 'ended' and p_target = 'failed' and not promoted then
    update troupe.threads t set failed_run_id = p_run where t.id = p_thread and t.active_run_id is null;
  end if;
  return promoted;
end $$;

-- As before (0019). A call that waits for a reply is settled by replies and by nobody else; where such calls are all that is left, the run
-- waits for replies.
create or replace function troupe.settle(p_run uuid, p_call text, p_outcome jsonb, p_by text, p_message uuid) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; target text := p_outcome->>'status'; queued boolean; is_edited boolean; replies boolean;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_run], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = p_call for no key update;
  if not found then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_found');
  elsif c.waits_for is null or c.waits_for = 'reply' or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status, 'output', c.output, 'error', c.error, 'settledBy', c.settled_by);
  elsif c.deadline <= now() then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', 'expired', 'output', null, 'error', troupe.expired(), 'settledBy', null);
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if target = 'proceed' then
    -- The same arguments once more are no edit. A call in doubt was tried before.
    is_edited := p_outcome ? 'args' and p_outcome->'args' <> c.args;
    update troupe.tool_calls x set status = 'requested', waits_for = null, deadline = null, settled_by = p_by, error = null,
      args = coalesce(p_outcome->'args', x.args), edited = x.edited or is_edited, attempt = x.attempt + case when x.status = 'in_doubt' then 1 else 0 end
      where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.approved', 'step', c.step,
      'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'by', p_by, 'edited', case when is_edited then true end)))));
  else
    update troupe.tool_calls x set status = target::troupe.call_status, output = p_outcome->'output', error = p_outcome->'error', waits_for = null, deadline = null,
      settled_by = p_by, settled_at = now() where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run,
      jsonb_build_array(jsonb_build_object('id', p_message, 'role', 'tool_result', 'callId', p_call, 'step', c.step,
        'content', jsonb_build_object('result', p_outcome->'output', 'error', p_outcome->'error')
          || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
      jsonb_build_array(jsonb_build_object('type', case target when 'completed' then 'tool.completed' else 'tool.failed' end, 'message', 0,
        'step', c.step, 'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'status', target, 'by', p_by)))));
  end if;
  queued := r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 1;
  replies := not queued and r.status = 'waiting_tool' and not exists (
    select from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null and o.waits_for <> 'reply');
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status when replies then 'waiting_reply' else x.status end,
    run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status in ('waiting_tool', 'waiting_reply') then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null)) else x.wait_deadline end,
    updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  elsif replies then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.waiting_reply')));
  end if;
  return jsonb_build_object('ok', true, 'queued', queued, 'status', case when queued then 'queued'::troupe.run_status when replies then 'waiting_reply' else r.status end,
    'openCalls', r.open_calls - 1, 'thread', r.thread_id);
end $$;

-- As before (0019), and the same.
create or replace function troupe.settle_all(p_run uuid, p_items jsonb, p_by text) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; item jsonb; refused jsonb := '[]'; repeated int := 0; answer jsonb; told jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_run], null);
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = p_run and x.call_id in (select i->>'call' from jsonb_array_elements(p_items) i)
    order by x.call_id for no key update;
  for item in select i from jsonb_array_elements(p_items) i loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    told := jsonb_build_object('call', item->'call', 'status', c.status, 'waitsFor', c.waits_for, 'settledBy', c.settled_by, 'run', r.status);
    if c.call_id is null then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_found'));
    elsif c.waits_for is null and c.settled_by = p_by and c.status::text = item->'outcome'->>'status'
      and c.output is not distinct from item->'outcome'->'output' and c.error is not distinct from item->'outcome'->'error' then
      repeated := repeated + 1;
    elsif c.waits_for is null or c.waits_for = 'reply' or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open'));
    elsif c.deadline <= now() then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open', 'status', 'expired', 'waitsFor', null));
    elsif c.waits_for::text <> item->>'waitsFor' then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'wrong_settlement'));
    end if;
  end loop;
  if jsonb_array_length(refused) > 0 then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'refused', 'refused', refused);
  end if;
  answer := jsonb_build_object('ok', true, 'queued', false, 'thread', r.thread_id);
  for item in select i from jsonb_array_elements(p_items) i order by i->>'call' loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    continue when c.waits_for is null;
    answer := troupe.settle(p_run, item->>'call', item->'outcome', p_by, (item->>'message')::uuid);
  end loop;
  return answer || jsonb_build_object('repeated', repeated);
end $$;

-- As before (0018), and a wait for replies ends with those that came.
create or replace function troupe.expire(p_limit int) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; r record; c record; left_open int; over boolean; replies boolean; expired int := 0; canceled int := 0; queued int := 0;
begin
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.status in ('waiting_tool', 'waiting_reply') and x.wait_deadline <= now()
    order by x.wait_deadline limit p_limit for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return jsonb_build_object('runs', 0);
  end if;
  if exists (select from troupe.runs x where x.id = any(ids) and x.door = 'space') then
    perform troupe.lock_spaces(ids, null);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids)) order by t.id for no key update;
  for r in select x.id, x.thread_id, x.status, x.deadline_at from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    over := r.deadline_at <= now();
    if over then
      perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
      canceled := canceled + 1;
      continue;
    end if;
    -- Replies that did not come are no failure: the call ends with those that did. Its wait may be gone with its space; then it expires.
    for c in select x.call_id, jsonb_array_length(w.replies) > 0 as some from troupe.tool_calls x join troupe.reply_waits w on w.run_id = x.run_id and w.call_id = x.call_id
      where x.run_id = r.id and x.waits_for = 'reply' and x.deadline <= now() order by x.call_id loop
      perform troupe.end_wait(r.id, c.call_id, case when c.some then 'partial_timeout' else 'timeout' end);
      expired := expired + 1;
    end loop;
    for c in update troupe.tool_calls x set status = 'expired', waits_for = null, deadline = null, settled_at = now(),
        error = jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
      where x.run_id = r.id and x.waits_for is not null and x.deadline <= now() returning x.call_id, x.step, x.error, x.edited, x.args loop
      perform troupe.append(r.thread_id, r.id,
        jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', c.call_id, 'step', c.step,
          'content', jsonb_build_object('result', null, 'error', c.error)
            || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
        jsonb_build_array(jsonb_build_object('type', 'tool.failed', 'message', 0, 'step', c.step,
          'data', jsonb_build_object('id', c.call_id, 'status', 'expired', 'code', 'expired'))));
      expired := expired + 1;
    end loop;
    -- The last wait for a reply that ends queues the run by itself.
    if exists (select from troupe.runs x where x.id = r.id and x.status = 'queued') then
      queued := queued + 1;
      continue;
    end if;
    select count(*) into left_open from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null;
    replies := left_open > 0 and r.status = 'waiting_tool' and not exists (
      select from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null and x.waits_for <> 'reply');
    update troupe.runs x set open_calls = left_open,
      status = case when left_open = 0 then 'queued'::troupe.run_status when replies then 'waiting_reply' else x.status end,
      run_at = case when left_open = 0 then now() else x.run_at end,
      wait_state = case when left_open = 0 then null else x.wait_state end,
      wait_deadline = case when left_open = 0 then null else least(x.deadline_at,
        (select min(o.deadline) from troupe.tool_calls o where o.run_id = x.id and o.waits_for is not null)) end,
      updated_at = now()
      where x.id = r.id;
    if left_open = 0 then
      queued := queued + 1;
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
    elsif replies then
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.waiting_reply')));
    end if;
  end loop;
  return jsonb_build_object('runs', cardinality(ids), 'expired', expired, 'canceled', canceled, 'queued', queued);
end $$;

-- As before (0010), and spaces are locked before they are told.
create or replace function troupe.end_run(p_run uuid, p_reason text, p_by text, p_absorber uuid, p_event text) returns void language plpgsql as $$
declare
  thread uuid; is_serial boolean; v_door text; data jsonb; told jsonb;
begin
  select r.thread_id, r.serial, r.door into thread, is_serial, v_door from troupe.runs r where r.id = p_run;
  -- From here on nothing that the worker still sends passes the fence, and how far it came stays as it is.
  update troupe.run_heads h set worker_id = null, epoch = h.epoch + 1, version = h.version + 1 where h.run_id = p_run;
  if v_door = 'space' then
    perform troupe.lock_spaces(array[p_run], null);
  end if;
  perform 1 from troupe.threads t where t.id = thread for no key update;
  perform troupe.close_calls(p_run, thread, 'canceled', 'canceled',
    'The run was canceled before this call ended; a call that was already running may have taken effect.', p_by);
  update troupe.runs r set status = 'canceled', cancel_reason = p_reason::troupe.cancel_reason, epoch = r.epoch + 1, worker_id = null,
    step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens), output_tokens = coalesce(h.output_tokens, r.output_tokens),
    cost = coalesce(h.cost, r.cost), open_calls = 0, wait_state = null, wait_deadline = null, absorbed_by = p_absorber, canceled_at = now(), updated_at = now()
    from (select p_run as id) x left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  data := jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'by', p_by, 'absorbedBy', p_absorber));
  told := jsonb_build_array(jsonb_build_object('type', p_event, 'data', data));
  -- A run that only waited for its turn ends no turn, and one that gives way to another does not end the session's work.
  if p_reason <> 'superseded' and exists (select from troupe.threads t join troupe.runs r on r.id = p_run
      where t.id = thread and case t.kind when 'session' then is_serial and coalesce(t.active_run_id, p_run) = p_run else t.kind = 'run' and r.door = 'session' end) then
    told := jsonb_build_array(jsonb_build_object('type', 'session.canceled', 'data', data)) || told;
  end if;
  perform troupe.append(thread, p_run, null, told);
  if is_serial then
    perform troupe.promote(thread, p_run);
  end if;
end $$;

-- As before (0010), and the same; the worker is told where the run began.
create or replace function troupe.claim(p_worker uuid, p_limit int, p_doors text[], p_start_events jsonb) returns setof jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; told_of uuid[]; more_told uuid[]; lane_row record; free int; more uuid[]; got record; first boolean; started jsonb; extra int; thinks boolean; told int; base bigint; last_seq bigint;
begin
  select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into ids, told_of from (
    select r.id, r.door from troupe.runs r
    where r.status = 'queued' and r.ready and r.lane is null and r.run_at <= now() and r.door = any(p_doors)
    order by r.run_at limit p_limit for no key update skip locked) x;

  if cardinality(ids) < p_limit and exists (
    select from troupe.runs r where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now()) then
    for lane_row in
      select r.lane, min(r.lane_limit) as most from troupe.runs r
      where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
      group by r.lane order by min(r.run_at)
    loop
      exit when cardinality(ids) >= p_limit;
      -- One claimer at a time counts a lane; another passes by and comes back with the next poll.
      continue when not pg_try_advisory_xact_lock(hashtextextended('troupe.lane:' || lane_row.lane, 0));
      free := lane_row.most - (select count(*) from troupe.runs r
        where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'running');
      if free > 0 then
        select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
          select r.id, r.door from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
          order by r.run_at limit least(free, p_limit - cardinality(ids)) for no key update skip locked) x;
        ids := ids || more; told_of := told_of || more_told;
      end if;
    end loop;
  end if;
  if cardinality(ids) = 0 then
    return;
  end if;

  if cardinality(told_of) > 0 then
    perform troupe.lock_spaces(told_of, null);
  end if;

  -- A head that is ahead of the row belongs to a worker that died on the way: take over how far it came.
  update troupe.runs r set status = 'running', epoch = r.epoch + 1, worker_id = p_worker, wait_state = null,
    step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens), output_tokens = coalesce(h.output_tokens, r.output_tokens),
    cost = coalesce(h.cost, r.cost), attempt = case when h.step > r.step then 0 else r.attempt end,
    started_at = coalesce(r.started_at, now()),
    deadline_at = coalesce(r.deadline_at, now() + make_interval(secs => r.wall_ms::float8 / 1000)), updated_at = now()
  from unnest(ids) x(id) left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  insert into troupe.run_heads as h (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
    select r.id, p_worker, r.epoch, 1, r.step, r.input_tokens, r.output_tokens, r.cost from troupe.runs r where r.id = any(ids) order by r.id
    on conflict (run_id) do update set worker_id = excluded.worker_id, epoch = excluded.epoch, version = h.version + 1, step = excluded.step;

  -- Tell of it, and answer with all that the worker needs.
  for got in select x.*, h.version from troupe.runs x join troupe.run_heads h on h.run_id = x.id where x.id = any(ids) order by x.thread_id, x.id loop
    first := got.started_at = now();
    -- Its time begins now: it is new, or taken up again after it had ended.
    started := case when got.deadline_at = now() + make_interval(secs => got.wall_ms::float8 / 1000) then coalesce(p_start_events->got.door, '[]') else '[]' end;
    extra := jsonb_array_length(started);
    thinks := got.step = 0 or not exists (select from troupe.tool_calls c where c.run_id = got.id and c.status in ('running', 'requested'));
    told := 1 + extra + thinks::int;
    update troupe.threads t set last_event_seq = t.last_event_seq + told where t.id = got.thread_id
      returning t.last_event_seq - told, t.last_message_seq into base, last_seq;
    insert into troupe.events (thread_id, seq, type, data, run_id) values (got.thread_id, base + 1,
      case when first then 'run.started' else 'run.resumed' end, case when not first then jsonb_build_object('epoch', got.epoch) end, got.id);
    for k in 1 .. extra loop
      insert into troupe.events (thread_id, seq, type, run_id) values (got.thread_id, base + 1 + k, started->>(k - 1), got.id);
    end loop;
    if thinks then
      insert into troupe.events (thread_id, seq, type, run_id, step) values (got.thread_id, base + told, 'step.started', got.id, got.step + 1);
    end if;
    return next jsonb_build_object('id', got.id, 'projectId', got.project_id, 'door', got.door, 'agentId', got.agent_id, 'entityId', got.entity_id,
      'snapshotId', got.snapshot_id, 'threadId', got.thread_id, 'parentRunId', got.parent_run_id, 'rootRunId', got.root_run_id,
      'triggerType', got.trigger_type, 'triggerMessageId', got.trigger_message_id, 'triggerSeq', got.trigger_seq, 'trigger', got.trigger,
      'chainDepth', got.chain_depth, 'serial', got.serial, 'status', got.status, 'step', got.step, 'epoch', got.epoch, 'version', got.version, 'attempt', got.attempt,
      'modelIndex', got.model_index, 'takeovers', got.takeovers, 'openCalls', got.open_calls, 'steers', got.steers, 'waitState', got.wait_state,
      'remainingMs', extract(epoch from got.deadline_at - clock_timestamp()) * 1000,
      'inputTokens', got.input_tokens, 'outputTokens', got.output_tokens, 'cost', got.cost, 'budgetIds', got.budget_ids, 'metadata', got.metadata, 'lastSeq', last_seq, 'spaceId', got.space_id)
    || jsonb_build_object(
      'messages', (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
          'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = got.thread_id and m.seq > coalesce(got.trigger_seq, last_seq) - got.history_limit),
      'calls', case when got.step = 0 then '[]' else (select coalesce(jsonb_agg(troupe.call_json(c) order by c.step, c.position), '[]')
        from troupe.tool_calls c where c.run_id = got.id) end);
  end loop;
end $$;

-- ---- calls that a space sees

-- { spaceId, messageId, when: always|result, input, output, customUI? }: where the call is shown, and what of it. Null: nowhere.
alter table troupe.tool_calls add column shown jsonb;

create function troupe.shown_state(p_status troupe.call_status, p_waits_for troupe.waits_for) returns text language sql immutable as $$
  select case when p_status = 'completed' then 'complete' when p_waits_for is not null then 'requires_action'
    when p_status in ('requested', 'running') then 'running' else 'error' end
$$;

create function troupe.shortened(p_text text, p_most int) returns text language sql immutable as $$
  select case when length(p_text) > p_most then left(p_text, p_most) || '…' else p_text end
$$;

-- What becomes of a shown call is written into its space by the statement that changes the call, whichever that is: a worker's commit, a
-- settlement, an end by time, a cancellation. One message for each call, the only messages that are ever changed. They start nobody.
create function troupe.show_call() returns trigger language plpgsql as $$
declare
  v_space uuid := (new.shown->>'spaceId')::uuid; v_message uuid := (new.shown->>'messageId')::uuid;
  state text := troupe.shown_state(new.status, new.waits_for); before text; ended boolean; line text; told jsonb; about jsonb;
  v_seq bigint; event_base bigint; said int := 0;
begin
  if tg_op = 'UPDATE' then
    before := troupe.shown_state(old.status, old.waits_for);
    if before = state and old.args = new.args then
      return null;
    end if;
  end if;
  ended := state in ('complete', 'error');
  -- Shown by its result alone: nothing of it is there before.
  if not ended and new.shown->>'when' = 'result' then
    return null;
  end if;
  line := new.tool || case when (new.shown->>'input')::boolean then '(' || troupe.shortened(new.args::text, 200) || ')' else '' end
    || case state when 'complete' then case when (new.shown->>'output')::boolean then ' → ' || troupe.shortened(coalesce(new.output::text, 'null'), 500) else ' → done' end
      when 'error' then ' → failed: ' || troupe.shortened(coalesce(new.error->>'message', new.status::text), 500)
      when 'requires_action' then ' → waits for an answer' else ' …' end;
  told := jsonb_build_object('text', line, 'tool', jsonb_build_object('callId', new.call_id, 'name', new.tool, 'status', state)
    || case when (new.shown->>'input')::boolean then jsonb_build_object('arguments', new.args) else '{}' end
    || case when state = 'complete' and (new.shown->>'output')::boolean then jsonb_build_object('result', new.output) else '{}' end
    || case when state = 'error' then jsonb_build_object('error', jsonb_build_object('code', coalesce(new.error->>'code', new.status::text),
      'message', coalesce(new.error->>'message', new.status::text))) else '{}' end
    || case when new.shown ? 'customUI' then jsonb_build_object('customUI', new.shown->'customUI') else '{}' end);
  update troupe.messages m set content = told where m.id = v_message and m.thread_id = v_space returning m.seq into v_seq;
  said := case when found then 0 else 1 end;
  -- Whoever saw it before has not seen this of it.
  if said = 0 then
    update troupe.memberships m set seen = m.seen - int8multirange(int8range(v_seq, v_seq, '[]'))
      where m.space_id = v_space and m.seen @> v_seq and m.entity_id <> (select r.entity_id from troupe.runs r where r.id = new.run_id);
    -- Nor has a run that is at work, and was shown what it was before.
    update troupe.run_shown x set seqs = x.seqs - int8multirange(int8range(v_seq, v_seq, '[]'))
      where x.space_id = v_space and x.seqs @> v_seq and x.run_id <> new.run_id and x.run_id in (
        select r.id from troupe.runs r where r.space_id = v_space and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')
        union select r.id from troupe.runs r where r.active_space_id = v_space and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply'));
  end if;
  -- What a model calls a space may be anything: nothing is said where its agent is no member, and nothing where there is none.
  if v_seq is null and not exists (select from troupe.memberships m join troupe.runs r on r.id = new.run_id and r.entity_id = m.entity_id where m.space_id = v_space) then
    return null;
  end if;
  update troupe.threads t set last_message_seq = t.last_message_seq + said, last_event_seq = t.last_event_seq + 1 where t.id = v_space
    returning case when said = 1 then t.last_message_seq else v_seq end, t.last_event_seq into v_seq, event_base;
  if said = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step)
      select v_space, v_seq, v_message, 'tool_call', told, new.call_id, r.entity_id, new.run_id, new.step from troupe.runs r where r.id = new.run_id;
    perform troupe.note_shown(new.run_id, v_space, v_seq, v_seq);
  end if;
  about := jsonb_build_object('id', new.call_id, 'tool', new.tool)
    || case when state = 'requires_action' then jsonb_build_object('waitsFor', new.waits_for, 'deadlineMs', round(extract(epoch from new.deadline - now()) * 1000)) else '{}' end
    || case when state = 'error' then jsonb_build_object('status', new.status, 'code', coalesce(new.error->>'code', new.status::text)) else '{}' end;
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step) values (v_space, event_base,
    case state when 'complete' then 'tool.completed' when 'error' then 'tool.failed' when 'requires_action' then 'tool.waiting' else 'tool.started' end,
    about, v_seq, new.run_id, new.step);
  return null;
end $$;
create trigger tool_calls_show_first after insert on troupe.tool_calls for each row when (new.shown is not null) execute function troupe.show_call();
create trigger tool_calls_show after update of status on troupe.tool_calls for each row when (new.shown is not null) execute function troupe.show_call();

-- As before (0018), and whether a space sees it.
create or replace function troupe.call_json(c troupe.tool_calls) returns jsonb language sql stable as $$
  select jsonb_build_object('id', c.call_id, 'step', c.step, 'position', c.position, 'tool', c.tool, 'args', c.args, 'edited', c.edited, 'effect', c.effect,
    'status', c.status, 'waitsFor', c.waits_for, 'output', c.output, 'error', c.error, 'attempt', c.attempt, 'epoch', c.epoch, 'shown', c.shown is not null)
$$;
