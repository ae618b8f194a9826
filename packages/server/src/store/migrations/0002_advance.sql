-- breaking: true
-- The hot path: what a worker writes about the runs it holds. One call carries the commits of many runs.
--
-- Lock order, here and everywhere: runs by id, then tool calls, then threads by id. Only then read, then write.
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
    select thread, message_base + k, coalesce((m->>'id')::uuid, troupe.new_id()), m->>'role', m->'content', m->>'callId',
      (m->>'sender')::uuid, case when m ? 'run' then (m->>'run')::uuid else run end, (m->>'step')::int, m->'metadata'
    from jsonb_array_elements(messages) with ordinality x(m, k);
  end if;
  if event_count > 0 then
    insert into troupe.events (thread_id, seq, type, data, run_id, step)
    select thread, event_base + k, e->>'type',
      case when e ? 'message' then coalesce(e->'data', '{}') || jsonb_build_object('seq', message_base + 1 + (e->>'message')::int) else e->'data' end,
      run, (e->>'step')::int
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
    update troupe.tool_calls t set status = p_status, error = problem, waits_for = null, deadline = null, settled_at = now(), settled_by = p_by
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
create function troupe.promote(thread uuid, ended uuid) returns void language plpgsql as $$
declare
  next uuid;
begin
  if not exists (select from troupe.threads t where t.id = thread and (t.active_run_id = ended or t.active_run_id is null)) then
    return;
  end if;
  select r.id into next from troupe.runs r
    where r.thread_id = thread and r.status = 'queued' and not r.ready
    order by r.trigger_seq, r.id limit 1 for update skip locked;
  update troupe.threads t set active_run_id = next where t.id = thread;
  if next is not null then
    update troupe.runs r set ready = true, run_at = greatest(r.run_at, now()) where r.id = next;
  end if;
end $$;

-- Every argument is one flat list; `i` is the number of the item (from 1) that a row belongs to.
--   items:    { i, run, worker, epoch, version, thread, known, steers, park, outside, step, attempt, modelIndex, target, delayMs,
--               outcome, error, cancelReason, waitState, close, m, e, eGo, ePark, eTarget, inputTokens, outputTokens, cost }
--             outside: calls that begin to wait for somebody; m, e…: how many messages and events, by what becomes of the run
--   messages: { i, k, id, role, content, callId, sender, step, metadata }      k: place within the item, from 1
--   events:   { i, k, w, type, data, message, step }                           w: go|parked|ended, where written only then
--   calls:    { i, k, id, step, tool, args, effect, status, waitsFor, deadlineMs, error }
--   changes:  { i, id, status, output, error, waitsFor, deadlineMs, again, by }
--   steps:    the rows of run_steps
-- Answers one verdict per item, in order:
--   { ok: true, mode: go|parked|ended|released, seq, version, openCalls, steers, foreign?, ready? }
--   { ok: false, status, epoch, version, step, worker }     somebody else has the run, or this very commit was done before
create function troupe.advance(items jsonb, messages jsonb, events jsonb, calls jsonb, changes jsonb, steps jsonb) returns jsonb
language plpgsql set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  runs uuid[]; modes text[]; refusals jsonb[]; refused boolean; behind boolean; closing boolean; ended boolean;
  threads uuid[]; message_base bigint[]; event_base bigint[];
  written int; verdicts jsonb;
begin
  -- 1. Lock the runs; judge every item by what the lock shows.
  with item as materialized (
    select * from jsonb_to_recordset(items) as x(i int, run uuid, worker uuid, epoch int, version int, steers int, park boolean,
      outside int, target text, close boolean)
  ), held as materialized (
    select r.id, r.status, r.epoch, r.version, r.step, r.worker_id, r.open_calls, r.steers from troupe.runs r
    where r.id = any(array(select run from item)) order by r.id for update
  ), judged as materialized (
    select t.i, t.run, t.close, h.id, h.status, h.epoch, h.version, h.step, h.worker_id, case
      when h.id is null or h.status <> 'running' or h.epoch <> t.epoch or h.worker_id <> t.worker or h.version <> t.version then 'refused'
      when t.target = 'completed' and h.steers > t.steers then 'go'
      when t.target = 'queued' then 'released'
      when t.target = 'waiting_tool' then 'parked'
      when t.target is not null then 'ended'
      when t.park and h.open_calls + t.outside > 0 then 'parked'
      else 'go' end as mode
    from item t left join held h on h.id = t.run
  )
  select array_agg(run order by i), array_agg(mode order by i), bool_or(mode = 'refused'), bool_or(mode = 'ended'),
    bool_or(mode = 'ended' and close),
    array_agg(case when mode = 'refused' then jsonb_build_object('ok', false, 'status', coalesce(status, 'missing'),
      'epoch', epoch, 'version', version, 'step', step, 'worker', worker_id) end order by i)
  into runs, modes, refused, ended, closing, refusals from judged;
  if refused and 'refused' = all(modes) then
    return to_jsonb(refusals);
  end if;

  -- 2. Calls that end, calls that begin (again). The version fence makes a mismatch impossible; if it happens, stop.
  if jsonb_array_length(changes) > 0 then
    update troupe.tool_calls c set
      status = s.status,
      output = coalesce(s.output, c.output),
      error = coalesce(s.error, c.error),
      epoch = s.epoch,
      attempt = c.attempt + coalesce(s.again, 0),
      waits_for = s."waitsFor",
      deadline = now() + make_interval(secs => s."deadlineMs" / 1000),
      settled_at = case when s.status <> 'running' and s."waitsFor" is null then now() end,
      settled_by = s.by
    from jsonb_to_recordset(changes) as s(i int, id text, epoch int, status text, output jsonb, error jsonb, "waitsFor" text, "deadlineMs" float8, again int, by text)
    where c.run_id = runs[s.i] and c.call_id = s.id and modes[s.i] <> 'refused' and c.status in ('requested', 'running', 'in_doubt');
    get diagnostics written = row_count;
    if written <> (select count(*) from jsonb_array_elements(changes) s where modes[(s->>'i')::int] <> 'refused') then
      raise exception 'troupe.advance: a call to be written was not open';
    end if;
  end if;

  -- A run that ends before its calls do closes them.
  if closing then
    perform 1 from troupe.threads t where t.id = any(array(select (v->>'thread')::uuid from jsonb_array_elements(items) v)) order by t.id for update;
    perform troupe.close_calls(x.run, x.thread, 'canceled', 'canceled',
        'The run ended before this call did; a call that was already running may have taken effect.', null)
      from jsonb_to_recordset(items) as x(i int, run uuid, thread uuid, close boolean) where modes[x.i] = 'ended' and x.close;
  end if;

  -- 3. Lock the threads in order; place every item's messages and events behind what is there.
  with item as materialized (
    select x.i, x.thread, x.known, x.m, x.e + case modes[x.i] when 'go' then x."eGo" when 'parked' then x."ePark" else x."eTarget" end as e
    from jsonb_to_recordset(items) as x(i int, thread uuid, known bigint, m int, e int, "eGo" int, "ePark" int, "eTarget" int)
    where modes[x.i] <> 'refused'
  ), held as materialized (
    select t.id, t.last_message_seq, t.last_event_seq from troupe.threads t
    where t.id = any(array(select thread from item)) order by t.id for update
  ), placed as materialized (
    select t.i, t.thread, t.known,
      h.last_message_seq + sum(t.m) over w - t.m as mb,
      h.last_event_seq + sum(t.e) over w - t.e as eb
    from item t join held h on h.id = t.thread window w as (partition by t.thread order by t.i)
  ), moved as (
    update troupe.threads t set last_message_seq = t.last_message_seq + s.m, last_event_seq = t.last_event_seq + s.e
    from (select thread, sum(m) as m, sum(e) as e from item group by thread) s where t.id = s.thread
  )
  select array_agg(p.thread order by a.i), array_agg(p.mb order by a.i), array_agg(p.eb order by a.i), bool_or(p.mb > p.known)
  into threads, message_base, event_base, behind
  from generate_subscripts(runs, 1) a(i) left join placed p on p.i = a.i;

  -- 4. Write.
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
  select threads[m.i], message_base[m.i] + m.k, m.id, m.role, m.content, m."callId", m.sender, runs[m.i], m.step, m.metadata
  from jsonb_to_recordset(messages) as m(i int, k int, id uuid, role text, content jsonb, "callId" text, sender uuid, step int, metadata jsonb)
  where modes[m.i] <> 'refused';

  insert into troupe.events (thread_id, seq, type, data, run_id, step)
  select threads[e.i], event_base[e.i] + e.k, e.type,
    case when e.message is null then e.data else coalesce(e.data, '{}') || jsonb_build_object('seq', message_base[e.i] + e.message) end,
    runs[e.i], e.step
  from jsonb_to_recordset(events) as e(i int, k int, w text, type text, data jsonb, message int, step int)
  where modes[e.i] <> 'refused' and (e.w is null or e.w = modes[e.i] or e.w = 'ended' and modes[e.i] = 'released');

  if jsonb_array_length(calls) > 0 then
    insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, waits_for, deadline, epoch, error, settled_at)
    select runs[c.i], c.id, c.step, c.k, c.tool, c.args, c.effect, c.status, c."waitsFor",
      now() + make_interval(secs => c."deadlineMs" / 1000), c.epoch, c.error, case when c.status = 'failed' then now() end
    from jsonb_to_recordset(calls) as c(i int, k int, id text, step int, epoch int, tool text, args jsonb, effect text, status text, "waitsFor" text, "deadlineMs" float8, error jsonb)
    where modes[c.i] <> 'refused';
  end if;

  if jsonb_array_length(steps) > 0 then
    insert into troupe.run_steps (run_id, step, agent_key, provider, model, worker_id, epoch, attempt, started_at, first_token_at,
      finished_at, input_tokens, output_tokens, cost, finish_reason, decision, budgeted)
    select runs[s.i], s.step, s."agentKey", s.provider, s.model, s.worker, s.epoch, s.attempt,
      to_timestamp(s."startedAt" / 1000), to_timestamp(s."firstTokenAt" / 1000), to_timestamp(s."finishedAt" / 1000),
      s."inputTokens", s."outputTokens", s.cost, s."finishReason", s.decision, coalesce(s.budgeted, false)
    from jsonb_to_recordset(steps) as s(i int, step int, "agentKey" text, provider text, model text, worker uuid, epoch int, attempt int,
      "startedAt" float8, "firstTokenAt" float8, "finishedAt" float8, "inputTokens" bigint, "outputTokens" bigint, cost bigint,
      "finishReason" text, decision jsonb, budgeted boolean)
    where modes[s.i] <> 'refused';
  end if;

  with written as (
    update troupe.runs r set
      version = r.version + 1,
      step = coalesce(x.step, r.step),
      takeovers = case when x.step is not null then 0 else r.takeovers end,
      attempt = coalesce(x.attempt, r.attempt),
      model_index = coalesce(x."modelIndex", r.model_index),
      open_calls = case when modes[x.i] = 'ended' then 0 else r.open_calls + x.outside end,
      input_tokens = r.input_tokens + x."inputTokens",
      output_tokens = r.output_tokens + x."outputTokens",
      cost = r.cost + x.cost,
      status = case modes[x.i] when 'go' then 'running' when 'parked' then 'waiting_tool' else x.target end,
      worker_id = case when modes[x.i] = 'go' then r.worker_id end,
      run_at = case when modes[x.i] = 'released' then now() + make_interval(secs => coalesce(x."delayMs", 0) / 1000) else r.run_at end,
      wait_state = case when modes[x.i] = 'parked' then x."waitState" end,
      wait_deadline = case when modes[x.i] = 'parked' then least(r.deadline_at, now() + make_interval(secs => x."delayMs" / 1000),
        (select min(c.deadline) from troupe.tool_calls c where c.run_id = r.id and c.waits_for is not null)) end,
      outcome = case when modes[x.i] = 'ended' then x.outcome else r.outcome end,
      error = case when x.error is not null then x.error when modes[x.i] = 'ended' then null else r.error end,
      cancel_reason = case when modes[x.i] = 'ended' then x."cancelReason" end,
      completed_at = case when modes[x.i] = 'ended' and x.target <> 'canceled' then now() end,
      canceled_at = case when modes[x.i] = 'ended' and x.target = 'canceled' then now() end,
      updated_at = now()
    from jsonb_to_recordset(items) as x(i int, step int, attempt int, "modelIndex" int, outside int, "inputTokens" bigint, "outputTokens" bigint,
      cost bigint, target text, "delayMs" float8, "waitState" jsonb, outcome jsonb, error jsonb, "cancelReason" text)
    where r.id = runs[x.i] and modes[x.i] <> 'refused'
    returning x.i, r.version, r.steers, r.open_calls
  )
  select jsonb_agg(case when w.i is null then refusals[a.i] else jsonb_build_object('ok', true, 'mode', modes[a.i], 'seq', message_base[a.i],
      'version', w.version, 'steers', w.steers, 'openCalls', w.open_calls) end order by a.i)
  into verdicts from generate_subscripts(runs, 1) a(i) left join written w on w.i = a.i;

  -- 5. Let the next run of a serial thread in.
  if ended then
    perform troupe.promote(r.thread_id, r.id) from generate_subscripts(runs, 1) i join troupe.runs r on r.id = runs[i]
      where modes[i] = 'ended' and r.serial order by r.thread_id;
  end if;

  -- 6. Seldom: what others put into the thread meanwhile, and calls that others let through.
  if behind or items @? '$[*] ? (@.park == true)' then
    select jsonb_agg(case when modes[x.i] = 'refused' then verdicts->(x.i - 1) else verdicts->(x.i - 1)
      || case when message_base[x.i] > x.known then jsonb_build_object('foreign', (
          select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = threads[x.i] and m.seq > x.known and m.seq <= message_base[x.i])) else '{}' end
      || case when modes[x.i] = 'go' and x.park then jsonb_build_object('ready', (
          select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
          where c.run_id = runs[x.i] and c.status = 'requested' and c.waits_for is null)) else '{}' end end order by x.i)
    into verdicts from jsonb_to_recordset(items) as x(i int, known bigint, park boolean);
  end if;
  return verdicts;
end $$;
