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
set enable_seqscan to off as $$
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
set enable_seqscan to off as $$
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

-- items: [{ run, worker, epoch, version, thread, known, steers, park,
--           step?, attempt?, modelIndex?, stepRow?, waitState?, messages?, events?, calls?, settled?, begun?,
--           target?: completed|failed|canceled|queued|waiting_tool, delayMs?, outcome?, error?, cancelReason?,
--           close?, goEvents?, parkEvents?, targetEvents? }]      events by what becomes of the run
-- Answers one verdict per item, in order:
--   { ok: true, mode: go|parked|ended|released, seq, version, openCalls, steers, foreign?, ready? }
--   { ok: false, status, epoch, version, step, worker }     somebody else has the run, or this very commit was done before
create function troupe.advance(items jsonb) returns jsonb language plpgsql
set enable_seqscan to off as $$
declare
  ids uuid[]; modes text[]; refusals jsonb[];
  taken int[]; thread_of uuid[]; message_base bigint[]; event_base bigint[];
  expected int; written int; verdicts jsonb;
  event_keys constant jsonb := '{"go": "goEvents", "parked": "parkEvents", "ended": "targetEvents", "released": "targetEvents"}';
begin
  -- 1. Lock the runs; judge every item by what the lock shows.
  with item as (
    select o, (v->>'run')::uuid as run, (v->>'worker')::uuid as worker, (v->>'epoch')::int as epoch,
      (v->>'version')::int as version, (v->>'steers')::int as steers, (v->>'park')::boolean as park, v->>'target' as target,
      (select count(*) from jsonb_array_elements(v->'calls') c where c ? 'waitsFor') as outside
    from jsonb_array_elements(items) with ordinality as x(v, o)
  ), held as (
    select r.id, r.status, r.epoch, r.version, r.step, r.worker_id, r.open_calls, r.steers from troupe.runs r
    where r.id = any(array(select run from item)) order by r.id for update
  )
  select array_agg(i.run order by i.o),
    array_agg(case
      when h.id is null or h.status <> 'running' or h.epoch <> i.epoch or h.worker_id <> i.worker or h.version <> i.version then 'refused'
      when i.target = 'completed' and h.steers > i.steers then 'go'
      when i.target = 'queued' then 'released'
      when i.target = 'waiting_tool' then 'parked'
      when i.target is not null then 'ended'
      when i.park and h.open_calls + i.outside > 0 then 'parked'
      else 'go' end order by i.o),
    array_agg(case when h.id is null then jsonb_build_object('ok', false, 'status', 'missing')
      else jsonb_build_object('ok', false, 'status', h.status, 'epoch', h.epoch, 'version', h.version, 'step', h.step, 'worker', h.worker_id)
      end order by i.o)
  into ids, modes, refusals
  from item i left join held h on h.id = i.run;

  taken := array(select o from generate_subscripts(modes, 1) o where modes[o] <> 'refused');
  if cardinality(taken) = 0 then
    return to_jsonb(refusals);
  end if;

  -- 2. Calls that end, calls that begin (again). The version fence makes a mismatch impossible; if it happens, stop.
  select coalesce(sum(coalesce(jsonb_array_length(items->(o-1)->'settled'), 0) + coalesce(jsonb_array_length(items->(o-1)->'begun'), 0)), 0)
    into expected from unnest(taken) o;
  if expected > 0 then
    update troupe.tool_calls c set
      status = s.v->>'status',
      output = case when s.v ? 'output' then s.v->'output' else c.output end,
      error = case when s.v ? 'error' then s.v->'error' else c.error end,
      epoch = (items->(s.o-1)->>'epoch')::int,
      attempt = c.attempt + case when s.v->>'status' = 'running' then coalesce((s.v->>'again')::int, 0) else 0 end,
      waits_for = s.v->>'waitsFor',
      deadline = case when s.v ? 'deadlineMs' then now() + make_interval(secs => (s.v->>'deadlineMs')::float8 / 1000) end,
      settled_at = case when s.v->>'status' in ('completed', 'failed', 'canceled', 'expired') or s.v->>'status' = 'in_doubt' and not s.v ? 'waitsFor' then now() end,
      settled_by = s.v->>'by'
    from (
      select o, v from unnest(taken) o, jsonb_array_elements(
        coalesce(items->(o-1)->'settled', '[]') || coalesce(items->(o-1)->'begun', '[]')) v
    ) s
    where c.run_id = ids[s.o] and c.call_id = s.v->>'id'
      and c.status in ('requested', 'running', 'in_doubt');
    get diagnostics written = row_count;
    if written <> expected then
      raise exception 'troupe.advance: % of % calls could be written', written, expected;
    end if;
  end if;

  -- A run that ends before its calls do closes them.
  if exists (select from unnest(taken) o where modes[o] = 'ended' and (items->(o-1)->>'close')::boolean) then
    perform 1 from troupe.threads t where t.id = any(array(select (items->(o-1)->>'thread')::uuid from unnest(taken) o)) order by t.id for update;
    perform troupe.close_calls(ids[o], (items->(o-1)->>'thread')::uuid, 'canceled', 'canceled',
        'The run ended before this call did; a call that was already running may have taken effect.', null)
      from unnest(taken) o where modes[o] = 'ended' and (items->(o-1)->>'close')::boolean;
  end if;

  -- 3. Lock the threads in order; place every item's messages and events behind what is there.
  with item as (
    select o, (items->(o-1)->>'thread')::uuid as thread,
      coalesce(jsonb_array_length(items->(o-1)->'messages'), 0) as m,
      coalesce(jsonb_array_length(items->(o-1)->'events'), 0) + coalesce(jsonb_array_length(items->(o-1)->(event_keys->>modes[o])), 0) as e
    from unnest(taken) o
  ), held as (
    select t.id, t.last_message_seq, t.last_event_seq from troupe.threads t
    where t.id = any(array(select thread from item)) order by t.id for update
  ), placed as (
    select i.o, i.thread,
      h.last_message_seq + sum(i.m) over w - i.m as mb,
      h.last_event_seq + sum(i.e) over w - i.e as eb
    from item i join held h on h.id = i.thread window w as (partition by i.thread order by i.o)
  ), moved as (
    update troupe.threads t set last_message_seq = t.last_message_seq + s.m, last_event_seq = t.last_event_seq + s.e
    from (select thread, sum(m) as m, sum(e) as e from item group by thread) s where t.id = s.thread
  )
  select array_agg(p.thread order by a.o), array_agg(p.mb order by a.o), array_agg(p.eb order by a.o)
  into thread_of, message_base, event_base
  from generate_subscripts(ids, 1) a(o) left join placed p on p.o = a.o;

  -- 4. Write.
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
  select thread_of[o], message_base[o] + k, (m->>'id')::uuid, m->>'role', m->'content', m->>'callId', (m->>'sender')::uuid,
    ids[o], (m->>'step')::int, m->'metadata'
  from unnest(taken) o, jsonb_array_elements(items->(o-1)->'messages') with ordinality x(m, k);

  insert into troupe.events (thread_id, seq, type, data, run_id, step)
  select thread_of[o], event_base[o] + k, e->>'type',
    case when e ? 'message' then coalesce(e->'data', '{}') || jsonb_build_object('seq', message_base[o] + 1 + (e->>'message')::int) else e->'data' end,
    ids[o], (e->>'step')::int
  from unnest(taken) o, jsonb_array_elements(
    coalesce(items->(o-1)->'events', '[]') || coalesce(items->(o-1)->(event_keys->>modes[o]), '[]')) with ordinality x(e, k);

  insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, waits_for, deadline, epoch, output, error, settled_at)
  select ids[o], c->>'id', (items->(o-1)->>'step')::int, k, c->>'tool', c->'args', c->>'effect', c->>'status', c->>'waitsFor',
    case when c ? 'deadlineMs' then now() + make_interval(secs => (c->>'deadlineMs')::float8 / 1000) end,
    (items->(o-1)->>'epoch')::int, c->'output', c->'error', case when c->>'status' in ('completed', 'failed') then now() end
  from unnest(taken) o, jsonb_array_elements(items->(o-1)->'calls') with ordinality x(c, k);

  insert into troupe.run_steps (run_id, step, agent_key, provider, model, worker_id, epoch, attempt, started_at, first_token_at,
    finished_at, input_tokens, output_tokens, cost, finish_reason, decision, budgeted)
  select ids[o], (items->(o-1)->>'step')::int, s->>'agentKey', s->>'provider', s->>'model', (items->(o-1)->>'worker')::uuid,
    (items->(o-1)->>'epoch')::int, (s->>'attempt')::int,
    to_timestamp((s->>'startedAt')::float8 / 1000), to_timestamp((s->>'firstTokenAt')::float8 / 1000), to_timestamp((s->>'finishedAt')::float8 / 1000),
    (s->>'inputTokens')::bigint, (s->>'outputTokens')::bigint, (s->>'cost')::bigint, s->>'finishReason', s->'decision',
    coalesce((s->>'budgeted')::boolean, false)
  from unnest(taken) o cross join lateral (select items->(o-1)->'stepRow' as s) x where s is not null;

  update troupe.runs r set
    version = r.version + 1,
    step = coalesce((i.v->>'step')::int, r.step),
    takeovers = case when i.v ? 'step' then 0 else r.takeovers end,
    attempt = coalesce((i.v->>'attempt')::int, case when i.v ? 'step' then 0 else r.attempt end),
    model_index = coalesce((i.v->>'modelIndex')::int, r.model_index),
    open_calls = case when modes[i.o] = 'ended' then 0 else r.open_calls end
      + (select count(*) from jsonb_array_elements(i.v->'calls') c where c ? 'waitsFor')
      + (select count(*) from jsonb_array_elements(i.v->'settled') c where c ? 'waitsFor'),
    input_tokens = r.input_tokens + coalesce((i.v->'stepRow'->>'inputTokens')::bigint, 0),
    output_tokens = r.output_tokens + coalesce((i.v->'stepRow'->>'outputTokens')::bigint, 0),
    cost = r.cost + coalesce((i.v->'stepRow'->>'cost')::bigint, 0),
    status = case modes[i.o] when 'go' then 'running' when 'parked' then 'waiting_tool' else i.v->>'target' end,
    worker_id = case when modes[i.o] = 'go' then r.worker_id end,
    run_at = case when modes[i.o] = 'released' then now() + make_interval(secs => coalesce((i.v->>'delayMs')::float8, 0) / 1000) else r.run_at end,
    wait_state = case modes[i.o] when 'parked' then i.v->'waitState' when 'go' then r.wait_state end,
    wait_deadline = case when modes[i.o] = 'parked' then least(r.deadline_at, now() + make_interval(secs => (i.v->>'delayMs')::float8 / 1000),
      (select min(c.deadline) from troupe.tool_calls c where c.run_id = r.id and c.waits_for is not null)) end,
    outcome = case when modes[i.o] = 'ended' then i.v->'outcome' else r.outcome end,
    error = case when i.v ? 'error' then i.v->'error' when modes[i.o] = 'ended' then null else r.error end,
    cancel_reason = case when modes[i.o] = 'ended' then i.v->>'cancelReason' end,
    completed_at = case when modes[i.o] = 'ended' and i.v->>'target' <> 'canceled' then now() end,
    canceled_at = case when modes[i.o] = 'ended' and i.v->>'target' = 'canceled' then now() end,
    updated_at = now()
  from (select o, items->(o-1) as v from unnest(taken) o) i
  where r.id = ids[i.o];

  -- 5. Let the next run of a serial thread in.
  if 'ended' = any(modes) then
    perform troupe.promote(r.thread_id, r.id) from unnest(taken) o join troupe.runs r on r.id = ids[o]
      where modes[o] = 'ended' and r.serial order by r.thread_id;
  end if;

  -- 6. What others put into the thread meanwhile, and calls that others let through.
  select jsonb_agg(jsonb_build_object('ok', true, 'mode', modes[o], 'seq', message_base[o],
      'version', (items->(o-1)->>'version')::int + 1, 'steers', r.steers, 'openCalls', r.open_calls)
    || case when message_base[o] > (items->(o-1)->>'known')::bigint then jsonb_build_object('foreign', (
        select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = thread_of[o] and m.seq > (items->(o-1)->>'known')::bigint and m.seq <= message_base[o])) else '{}' end
    || case when modes[o] = 'go' and (items->(o-1)->>'park')::boolean then jsonb_build_object('ready', (
        select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
        where c.run_id = ids[o] and c.status = 'requested' and c.waits_for is null)) else '{}' end
    order by o)
  into verdicts
  from unnest(taken) o join troupe.runs r on r.id = ids[o];

  if cardinality(taken) = cardinality(modes) then
    return verdicts;
  end if;
  return (select jsonb_agg(case when modes[o] = 'refused' then refusals[o] else verdicts->(array_position(taken, o) - 1) end order by o)
    from generate_subscripts(modes, 1) o);
end $$;
