-- breaking: true
-- The hot path: what a worker writes about the runs it holds. One call carries the commits of many runs.
--
-- Lock order, here and everywhere: runs by id, their heads by id, then tool calls, then threads by id. Only then read, then write.
-- The functions are volatile, so every statement sees what was committed before it began, locks included;
-- a single statement would decide from the snapshot it opened with, before it waited for the lock.

-- UUID v7 for rows that a function makes; rows made by the program bring their id along.
create function troupe.new_id() returns uuid language sql volatile as $$
  select encode(
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    || set_byte(substring(r from 1 for 2), 0, (get_byte(r, 0) & 15) | 112)
    || set_byte(substring(r from 3 for 8), 0, (get_byte(r, 2) & 63) | 128), 'hex')::uuid
  from (select uuid_send(gen_random_uuid()) as r offset 0) x
$$;

-- Puts messages and events at the end of a thread whose lock the caller holds. Returns the seq before the first message.
create function troupe.append(thread uuid, run uuid, messages jsonb, events jsonb) returns bigint language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  message_count int := coalesce(jsonb_array_length(messages), 0);
  event_count int := coalesce(jsonb_array_length(events), 0);
  message_base bigint; event_base bigint;
begin
  update troupe.threads t set last_message_seq = t.last_message_seq + message_count, last_event_seq = t.last_event_seq + event_count
    where t.id = thread returning t.last_message_seq - message_count, t.last_event_seq - event_count into message_base, event_base;
  if message_count > 0 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
    select thread, message_base + k, coalesce((m->>'id')::uuid, troupe.new_id()), (m->>'role')::troupe.message_role, m->'content', m->>'callId',
      (m->>'sender')::uuid, case when m ? 'run' then (m->>'run')::uuid else run end, (m->>'step')::int, m->'metadata'
    from jsonb_array_elements(messages) with ordinality x(m, k);
  end if;
  if event_count > 0 then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
    select thread, event_base + k, e->>'type', e->'data', message_base + 1 + (e->>'message')::int, run, (e->>'step')::int
    from jsonb_array_elements(events) with ordinality x(e, k);
  end if;
  return message_base;
end $$;

-- Ends every open call of a run whose locks the caller holds; each gets its result, so that the history stays readable.
create function troupe.close_calls(p_run uuid, p_thread uuid, p_status text, p_code text, p_text text, p_by text) returns void language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  closed jsonb; problem jsonb := jsonb_build_object('code', p_code, 'message', p_text);
begin
  with c as (
    update troupe.tool_calls t set status = p_status::troupe.call_status, error = problem, waits_for = null, deadline = null, settled_at = now(), settled_by = p_by
    where t.run_id = p_run and (t.status in ('requested', 'running') or t.status = 'in_doubt' and t.waits_for is not null)
    returning t.call_id, t.step, t.position
  )
  select jsonb_agg(jsonb_build_object('id', call_id, 'step', step) order by position) into closed from c;
  if closed is not null then
    perform troupe.append(p_thread, p_run,
      (select jsonb_agg(jsonb_build_object('role', 'tool_result', 'callId', c->>'id', 'step', c->'step',
        'content', jsonb_build_object('result', null, 'error', problem))) from jsonb_array_elements(closed) c),
      (select jsonb_agg(jsonb_build_object('type', 'tool.failed', 'message', k - 1, 'step', c->'step',
        'data', jsonb_build_object('id', c->'id', 'status', p_status, 'code', p_code))) from jsonb_array_elements(closed) with ordinality x(c, k)));
  end if;
end $$;

create function troupe.message_json(m troupe.messages) returns jsonb language sql stable as $$
  select jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
    'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata)
$$;

create function troupe.call_json(c troupe.tool_calls) returns jsonb language sql stable as $$
  select jsonb_build_object('id', c.call_id, 'step', c.step, 'position', c.position, 'tool', c.tool, 'args', c.args, 'effect', c.effect,
    'status', c.status, 'waitsFor', c.waits_for, 'output', c.output, 'error', c.error, 'attempt', c.attempt, 'epoch', c.epoch)
$$;

-- Ends a serial run's turn in its thread and lets the next one in. The caller holds the thread's lock.
-- A successor whose row is locked is being canceled or absorbed; whoever does that waits for this thread and
-- then promotes in our place, so skipping it loses nobody.
create function troupe.promote(thread uuid, ended uuid) returns boolean language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  next uuid;
begin
  update troupe.threads t set active_run_id = null where t.id = thread and (t.active_run_id = ended or t.active_run_id is null);
  if not found then
    return false;
  end if;
  select r.id into next from troupe.runs r
    where r.thread_id = thread and r.status = 'queued' and not r.ready
    order by r.trigger_seq, r.id limit 1 for no key update skip locked;
  if found then
    update troupe.threads t set active_run_id = next where t.id = thread;
    update troupe.runs r set ready = true, run_at = greatest(r.run_at, now()) where r.id = next;
    return true;
  end if;
  return false;
end $$;

-- Writes the row of a run that ends, waits, goes back to the queue, or stays although it might have left. The caller holds all locks.
create function troupe.leave(p_run uuid, p_thread uuid, p_mode text, p_attempt int, p_model int, p_outside int, p_target text,
  p_extra jsonb) returns boolean
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  is_serial boolean; delay interval := make_interval(secs => (p_extra->>'delayMs')::float8 / 1000);
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
    status = case p_mode when 'parked' then 'waiting_tool' when 'go' then 'running' else p_target end::troupe.run_status,
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
  return is_serial and p_mode = 'ended' and troupe.promote(p_thread, p_run);
end $$;

-- One call carries the commits of many runs, all of one worker, as one typed array per column: the same as JSON cost several times
-- as much to take apart. Items come in the order of their runs' ids; p_order lists them in the order of their threads' ids.
-- Many small statements, not few large ones: setting up a statement over unnested arrays took longer (80 µs) than eight plain inserts.
--   p_row:   the item may change the row of the run itself (it ends, waits, is let go, or calls begin to wait outside);
--            what just goes on touches only the head
--   *_upto:  number of the last row that belongs to the item         event_when: go|parked|ended, where it is written only then
-- Answers one verdict per item, in order:
--   { ok: true, mode: go|parked|ended|released, seq, version, openCalls?, steers?, foreign?, ready? }      absent = as before
--   { ok: false, status, epoch, version, step, worker }     somebody else has the run, or this very commit was done before
create function troupe.advance(
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
  message_base bigint; event_base bigint; verdict jsonb; opened int[]; steered int[];
  r record;
begin
  -- 1. Rows of runs that may change, in the order of their ids; what they show decides what becomes of the item.
  if rows_locked then
    opened := array_fill(null::int, array[n]); steered := array_fill(null::int, array[n]);
    for i in 1 .. n loop
      continue when not p_row[i];
      select x.open_calls, x.steers into r from troupe.runs x where x.id = p_run[i] for no key update;
      modes[i] := case p_target[i] when 'completed' then case when r.steers > p_steers[i] then 'go' else 'ended' end
        when 'queued' then 'released' when 'waiting_tool' then 'parked' when 'failed' then 'ended' when 'canceled' then 'ended'
        else case when p_park[i] and r.open_calls + p_outside[i] > 0 then 'parked' else 'go' end end;
      opened[i] := case when modes[i] = 'ended' then 0 else r.open_calls + p_outside[i] end;
      steered[i] := r.steers;
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

  -- 3. Calls that end, calls that begin (again). The fence makes a mismatch impossible; if it happens, stop.
  if cardinality(change_id) > 0 then
    from_row := 1;
    for i in 1 .. n loop
      to_row := change_upto[i];
      if to_row >= from_row and modes[i] <> 'refused' then
        v_run := p_run[i];
        for k in from_row .. to_row loop
          v_text := change_id[k]; v_status := change_status[k]; v_json := change_output[k]; v_error := change_error[k]; v_extra := change_extra[k];
          if v_extra is null then
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
            raise exception 'troupe.advance: call % of run % is not open', v_text, v_run;
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
      v_seq := v_seq + 1; v_text := event_type[k]; v_json := event_data[k]; v_number := event_message[k]; v_now := event_step[k];
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
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch, waits_for, deadline, error, settled_at)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch, (v_extra->>'waitsFor')::troupe.waits_for,
              now() + make_interval(secs => (v_extra->>'deadlineMs')::float8 / 1000), v_extra->'error', case when v_status = 'failed' then now() end);
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
