-- breaking: false
-- What a session is doing can be followed from its events alone, and what a message finds is decided in its commit.

-- The run that failed last, as long as nothing has begun after it. Like active_run_id it is written under the thread's lock; where one
-- of the two is set the other is not.
alter table troupe.threads add column failed_run_id uuid;
update troupe.threads t set failed_run_id = l.id
  from (select distinct on (r.thread_id) r.thread_id, r.id, r.status from troupe.runs r where r.serial order by r.thread_id, r.created_at desc, r.id desc) l
  where l.thread_id = t.id and l.status = 'failed' and t.active_run_id is null;

-- As before (0002); what failed earlier is past when another run ends.
create or replace function troupe.promote(thread uuid, ended uuid) returns boolean language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  next uuid;
begin
  update troupe.threads t set active_run_id = null, failed_run_id = null where t.id = thread and (t.active_run_id = ended or t.active_run_id is null);
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

-- As before (0002), and a run that fails with none behind it leaves its thread failed.
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
  promoted := is_serial and p_mode = 'ended' and troupe.promote(p_thread, p_run);
  if is_serial and p_mode = 'ended' and p_target = 'failed' and not promoted then
    update troupe.threads t set failed_run_id = p_run where t.id = p_thread and t.active_run_id is null;
  end if;
  return promoted;
end $$;

-- As before (0004).
create or replace function troupe.retry(p_run uuid) returns jsonb language plpgsql as $$
declare
  r troupe.runs; active uuid; is_ready boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status not in ('failed', 'canceled') or r.cancel_reason = 'absorbed' then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'run_not_retryable', 'status', r.status, 'reason', r.cancel_reason);
  end if;
  select t.active_run_id into active from troupe.threads t where t.id = r.thread_id for no key update;
  is_ready := not r.serial or active is null;
  update troupe.runs x set status = 'queued', ready = is_ready, run_at = now(), attempt = 0, model_index = 0, takeovers = 0, error = null, outcome = null,
    cancel_reason = null, completed_at = null, canceled_at = null, deadline_at = null, updated_at = now() where x.id = p_run;
  if r.serial and is_ready then
    update troupe.threads t set active_run_id = p_run, failed_run_id = null where t.id = r.thread_id;
  end if;
  perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('retry', true))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', r.thread_id, 'ready', is_ready);
end $$;

-- As before (0004), and where it is the turn of a session that ends, the session tells of it.
create or replace function troupe.end_run(p_run uuid, p_reason text, p_by text, p_absorber uuid, p_event text) returns void language plpgsql as $$
declare
  thread uuid; is_serial boolean; data jsonb; told jsonb;
begin
  select r.thread_id, r.serial into thread, is_serial from troupe.runs r where r.id = p_run;
  -- From here on nothing that the worker still sends passes the fence, and how far it came stays as it is.
  update troupe.run_heads h set worker_id = null, epoch = h.epoch + 1, version = h.version + 1 where h.run_id = p_run;
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

-- As before (0004), and a run that no longer waits says so.
create or replace function troupe.settle(p_run uuid, p_call text, p_outcome jsonb, p_by text, p_message uuid) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; target text := p_outcome->>'status'; queued boolean;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = p_call for no key update;
  if not found then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_found');
  elsif c.waits_for is null or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status, 'output', c.output, 'error', c.error, 'settledBy', c.settled_by);
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if target = 'proceed' then
    -- A call in doubt was tried before.
    update troupe.tool_calls x set status = 'requested', waits_for = null, deadline = null, settled_by = p_by, error = null,
      args = coalesce(p_outcome->'args', x.args), attempt = x.attempt + case when x.status = 'in_doubt' then 1 else 0 end
      where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.approved', 'step', c.step,
      'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'by', p_by)))));
  else
    update troupe.tool_calls x set status = target::troupe.call_status, output = p_outcome->'output', error = p_outcome->'error', waits_for = null, deadline = null,
      settled_by = p_by, settled_at = now() where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run,
      jsonb_build_array(jsonb_build_object('id', p_message, 'role', 'tool_result', 'callId', p_call, 'step', c.step,
        'content', jsonb_build_object('result', p_outcome->'output', 'error', p_outcome->'error'))),
      jsonb_build_array(jsonb_build_object('type', case target when 'completed' then 'tool.completed' else 'tool.failed' end, 'message', 0,
        'step', c.step, 'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'status', target, 'by', p_by)))));
  end if;
  queued := r.status = 'waiting_tool' and r.open_calls = 1;
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status else x.status end,
    run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status = 'waiting_tool' then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null)) else x.wait_deadline end,
    updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end if;
  return jsonb_build_object('ok', true, 'queued', queued, 'status', case when queued then 'queued'::troupe.run_status else r.status end,
    'openCalls', r.open_calls - 1, 'thread', r.thread_id);
end $$;

create or replace function troupe.expire(p_limit int) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; r record; c record; left_open int; over boolean; expired int := 0; canceled int := 0; queued int := 0;
begin
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.status in ('waiting_tool', 'waiting_reply') and x.wait_deadline <= now()
    order by x.wait_deadline limit p_limit for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return jsonb_build_object('runs', 0);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids)) order by t.id for no key update;
  for r in select x.id, x.thread_id, x.status, x.deadline_at from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    over := r.deadline_at <= now();
    if over then
      perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
      canceled := canceled + 1;
      continue;
    end if;
    for c in update troupe.tool_calls x set status = 'expired', waits_for = null, deadline = null, settled_at = now(),
        error = jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
      where x.run_id = r.id and x.waits_for is not null and x.deadline <= now() returning x.call_id, x.step, x.error loop
      perform troupe.append(r.thread_id, r.id,
        jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', c.call_id, 'step', c.step,
          'content', jsonb_build_object('result', null, 'error', c.error))),
        jsonb_build_array(jsonb_build_object('type', 'tool.failed', 'message', 0, 'step', c.step,
          'data', jsonb_build_object('id', c.call_id, 'status', 'expired', 'code', 'expired'))));
      expired := expired + 1;
    end loop;
    select count(*) into left_open from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null;
    update troupe.runs x set open_calls = left_open,
      status = case when left_open = 0 then 'queued'::troupe.run_status else x.status end,
      run_at = case when left_open = 0 then now() else x.run_at end,
      wait_state = case when left_open = 0 then null else x.wait_state end,
      wait_deadline = case when left_open = 0 then null else least(x.deadline_at,
        (select min(o.deadline) from troupe.tool_calls o where o.run_id = x.id and o.waits_for is not null)) end,
      updated_at = now()
      where x.id = r.id;
    if left_open = 0 then
      queued := queued + 1;
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
    end if;
  end loop;
  return jsonb_build_object('runs', cardinality(ids), 'expired', expired, 'canceled', canceled, 'queued', queued);
end $$;

-- As before (0004), and runs and threads are locked before the budget, as whoever lies down to wait does it. A run that lies
-- down in between is not found: call it again.
create or replace function troupe.raise_budget(p_budget uuid, p_amount bigint) returns setof uuid language plpgsql as $$
declare
  raised uuid[]; r record;
begin
  select coalesce(array_agg(x.id), '{}') into raised from (select y.id from troupe.runs y
    where y.status = 'waiting_tool' and y.open_calls = 0 and y.wait_state->>'budget' = p_budget::text order by y.id for no key update) x;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(raised)) order by t.id for no key update;
  update troupe.budgets b set amount = p_amount, updated_at = now() where b.id = p_budget;
  update troupe.runs x set status = 'queued', run_at = now(), wait_state = null, wait_deadline = null, updated_at = now() where x.id = any(raised);
  for r in select x.id, x.thread_id from troupe.runs x where x.id = any(raised) order by x.thread_id, x.id loop
    perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end loop;
  return query select unnest(raised);
end $$;

-- As before (0003), and a run that is taken up again starts its session again.
create or replace function troupe.claim(p_worker uuid, p_limit int, p_doors text[], p_start_events jsonb) returns setof jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; lane_row record; free int; more uuid[]; got record; first boolean; started jsonb; extra int; thinks boolean; told int; base bigint; last_seq bigint;
begin
  select coalesce(array_agg(id), '{}') into ids from (
    select r.id from troupe.runs r
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
        select coalesce(array_agg(id), '{}') into more from (
          select r.id from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
          order by r.run_at limit least(free, p_limit - cardinality(ids)) for no key update skip locked) x;
        ids := ids || more;
      end if;
    end loop;
  end if;
  if cardinality(ids) = 0 then
    return;
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
      'inputTokens', got.input_tokens, 'outputTokens', got.output_tokens, 'cost', got.cost, 'budgetIds', got.budget_ids, 'metadata', got.metadata, 'lastSeq', last_seq)
    || jsonb_build_object(
      'messages', (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
          'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = got.thread_id and m.seq > coalesce(got.trigger_seq, last_seq) - got.history_limit),
      'calls', case when got.step = 0 then '[]' else (select coalesce(jsonb_agg(troupe.call_json(c) order by c.step, c.position), '[]')
        from troupe.tool_calls c where c.run_id = got.id) end);
  end loop;
end $$;

-- As before (0003), and where the item says unlessFailed, a message to a thread that has failed is refused: what it finds under the
-- lock decides, not what was read before.
create or replace function troupe.start(item jsonb) returns jsonb language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  thread uuid := (item->>'thread')::uuid;
  message jsonb := item->'message';
  message_id uuid := (item->'message'->>'id')::uuid;
  run jsonb := item->'run';
  new_run uuid := (item->'run'->>'id')::uuid;
  v_entity uuid := (item->'run'->>'entity')::uuid;
  active uuid; failed uuid; message_base bigint; event_base bigint; message_seq bigint; existing uuid; serial boolean; is_ready boolean := true; made boolean := false;
  found_in uuid; messages int := 0; events int := 0; taker uuid; started jsonb := '[]'; window_from bigint; absent text;
begin
  -- Before looking: whoever deletes what the run names waits for this start, or this one waits and finds it gone (keep_used).
  lock table troupe.runs in row exclusive mode;
  if run is not null then
    absent := troupe.missing_for((item->>'project')::uuid, (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid, (run->>'parent')::uuid);
  elsif not exists (select from troupe.projects p where p.id = (item->>'project')::uuid) then
    absent := 'project';
  end if;
  if absent is not null then
    raise exception 'the project has no such %', absent using errcode = 'foreign_key_violation';
  end if;
  -- 1. The thread, and its lock.
  if item ? 'createThread' then
    insert into troupe.threads as t (id, project_id, kind) values (thread, (item->>'project')::uuid, (item->>'createThread')::troupe.thread_kind)
      on conflict do nothing;
    made := found;
  end if;
  if made then
    message_base := 0; event_base := 0;
  else
    select t.active_run_id, t.failed_run_id, t.last_message_seq, t.last_event_seq into active, failed, message_base, event_base from troupe.threads t
      where t.id = thread and t.project_id = (item->>'project')::uuid for update;
    if not found then
      return jsonb_build_object('ok', false, 'code', 'thread_not_found');
    end if;
  end if;
  -- 2. The message: where it is there already, only what is missing of the rest is done.
  if message is not null then
    select m.seq, m.thread_id into message_seq, found_in from troupe.messages m where m.id = message_id;
    if found_in <> thread then
      -- The same start may come again with another name for the thread that it makes.
      if made then
        delete from troupe.threads t where t.id = thread;
        select r.id, r.thread_id into existing, thread from troupe.runs r
          where r.thread_id = found_in and (r.id = new_run or r.entity_id = v_entity and r.trigger_message_id = message_id);
        if existing is not null then
          return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate', true);
        end if;
      end if;
      return jsonb_build_object('ok', false, 'code', 'message_id_taken');
    elsif found_in is not null then
      message := null;
    else
      message_seq := message_base + 1; messages := 1; events := 1;
    end if;
  end if;
  -- 3. The run.
  if run is not null then
    serial := coalesce((run->>'serial')::boolean, false);
    is_ready := not serial or active is null;
    if failed is not null and messages = 1 and item ? 'unlessFailed' then
      return jsonb_build_object('ok', false, 'code', 'thread_failed', 'run', failed);
    end if;
    if item ? 'claim' and is_ready and not run ? 'lane' and not run ? 'delayMs' then
      taker := (item->'claim'->>'worker')::uuid; started := item->'claim'->'events';
    end if;
    insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id,
      trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, lane, lane_limit, run_at, wall_ms, history_limit, budget_ids, metadata,
      status, epoch, worker_id, started_at, deadline_at)
    values (new_run, (item->>'project')::uuid, run->>'door', (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid, thread,
      (run->>'parent')::uuid, coalesce((run->>'root')::uuid, new_run), run->>'triggerType', message_id, message_seq,
      coalesce(run->'trigger', '{}'), coalesce((run->>'chainDepth')::int, 0), serial, is_ready, run->>'lane', (run->>'laneLimit')::int,
      now() + make_interval(secs => coalesce((run->>'delayMs')::float8, 0) / 1000), (run->>'wallMs')::bigint,
      coalesce((run->>'historyLimit')::int, 50),
      case when run ? 'budgets' then array(select value::uuid from jsonb_array_elements_text(run->'budgets')) end,
      coalesce(run->'metadata', '{}'),
      case when taker is null then 'queued'::troupe.run_status else 'running' end, case when taker is null then 0 else 1 end, taker,
      case when taker is not null then now() end,
      case when taker is not null then now() + make_interval(secs => (run->>'wallMs')::float8 / 1000) end)
    on conflict do nothing;
    if not found then
      -- The same start again, or the same message for the same entity by another way.
      if made then
        delete from troupe.threads t where t.id = thread;
      end if;
      select r.id, r.thread_id into existing, thread from troupe.runs r where r.id = new_run;
      if existing is null then
        select r.id, r.thread_id into existing, thread from troupe.runs r where r.entity_id = v_entity and r.trigger_message_id = message_id;
      end if;
      -- By another thread, since we looked.
      if not made and thread <> (item->>'thread')::uuid then
        return jsonb_build_object('ok', false, 'code', 'message_id_taken');
      end if;
      return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate', true);
    end if;
    events := events + case when taker is null then 1 else 3 + jsonb_array_length(started) end;
  end if;
  -- 4. What is said and told.
  update troupe.threads t set last_message_seq = message_base + messages, last_event_seq = event_base + events,
    active_run_id = case when serial and is_ready then new_run else t.active_run_id end,
    failed_run_id = case when serial then null else t.failed_run_id end where t.id = thread;
  if messages = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
      values (thread, message_seq, message_id, (message->>'role')::troupe.message_role, message->'content', message->>'callId',
        (message->>'sender')::uuid, (message->>'run')::uuid, (message->>'step')::int, message->'metadata');
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id)
      values (thread, event_base + 1, 'message.created', jsonb_build_object('id', message_id, 'role', message->'role'), message_seq, new_run);
  end if;
  if run is not null then
    event_base := event_base + messages;
    insert into troupe.events (thread_id, seq, type, run_id) values (thread, event_base + 1, 'run.queued', new_run);
  end if;
  if taker is not null then
    insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost) values (new_run, taker, 1, 1, 0, 0, 0, 0);
    insert into troupe.events (thread_id, seq, type, run_id, step) values
      (thread, event_base + 2, 'run.started', new_run, null), (thread, event_base + 3 + jsonb_array_length(started), 'step.started', new_run, 1);
    for k in 1 .. jsonb_array_length(started) loop
      insert into troupe.events (thread_id, seq, type, run_id) values (thread, event_base + 2 + k, started->>(k - 1), new_run);
    end loop;
    window_from := coalesce(message_seq, message_base) - coalesce((run->>'historyLimit')::int, 50);
    return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', true, 'duplicate', false, 'createdAt', now(),
      'lastSeq', message_base + messages,
      'claimed', case when made and messages = 1 then null else (
        select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m where m.thread_id = thread and m.seq > window_from) end);
  end if;
  return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', is_ready,
    'duplicate', run is null and messages = 0, 'createdAt', now());
end $$;

-- As before (0005), and what comes to a thread that has failed is left to start.
create or replace function troupe.starts(
  p_taker uuid, p_count int[], p_project uuid[], p_thread uuid[], p_kind troupe.thread_kind[], p_takes boolean[], p_events int[],
  m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_sender uuid[], m_metadata jsonb[],
  r_id uuid[], r_door text[], r_agent uuid[], r_entity uuid[], r_snapshot uuid[], r_parent uuid[], r_root uuid[], r_type text[], r_trigger jsonb[],
  r_depth int[], r_serial boolean[], r_wall bigint[], r_history int[], r_metadata jsonb[],
  e_item int[], e_place int[], e_type text[], e_step int[]
) returns jsonb language plpgsql as $$
declare
  n constant int := cardinality(r_id);
  made int := 0; done int; message_base bigint[]; event_base bigint[]; free boolean[]; failed boolean;
begin
  -- 1. Threads, and their locks.
  if p_kind is not null then
    insert into troupe.threads (id, project_id, kind, last_message_seq, last_event_seq, active_run_id)
      select p_thread[x.i], p_project[x.i], p_kind[x.i], 1, case when p_takes[x.i] then p_events[x.i] else 2 end, case when r_serial[x.i] then r_id[x.i] end
      from generate_series(1, n) x(i) where p_kind[x.i] is not null on conflict do nothing;
    get diagnostics made = row_count;
  end if;
  if made = n then
    message_base := array_fill(0::bigint, array[n]); event_base := message_base; free := array_fill(true, array[n]);
  else
    with placed as (
      update troupe.threads t set last_message_seq = t.last_message_seq + 1,
          last_event_seq = t.last_event_seq + case when p_takes[x.i] and (t.active_run_id is null or not r_serial[x.i]) then p_events[x.i] else 2 end,
          active_run_id = case when r_serial[x.i] then coalesce(t.active_run_id, r_id[x.i]) else t.active_run_id end
        from unnest(p_count) x(i) where x.i between 1 and n and t.id = p_thread[x.i] and t.project_id = p_project[x.i] and p_kind[x.i] is null
        returning x.i, t.last_message_seq - 1 as messages, t.last_event_seq as events, not r_serial[x.i] or t.active_run_id = r_id[x.i] as free,
          t.failed_run_id is not null as failed)
    select array_agg(coalesce(p.messages, 0) order by x.i), array_agg(coalesce(p.free, true) order by x.i), count(p.i),
        array_agg(coalesce(p.events - case when p_takes[x.i] and p.free then p_events[x.i] else 2 end, 0) order by x.i), bool_or(p.failed)
      into message_base, free, done, event_base, failed from generate_series(1, n) x(i) left join placed p on p.i = x.i;
    if failed then
      raise exception 'troupe.starts: a thread has failed' using errcode = 'TR001';
    end if;
    if made + done < n then
      raise exception 'troupe.starts: a thread is there already, or is not' using errcode = 'TR001';
    end if;
  end if;

  -- 2. The message and the run. What is there already has been started before.
  insert into troupe.messages (thread_id, seq, id, role, content, sender_id, metadata)
    select p_thread[x.i], message_base[x.i] + 1, m_id[x.i], m_role[x.i], m_content->(x.i - 1), m_sender[x.i], m_metadata[x.i]
    from generate_series(1, n) x(i) on conflict do nothing;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.starts: a message is there already' using errcode = 'TR001';
  end if;
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id,
    trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, wall_ms, history_limit, metadata,
    status, epoch, worker_id, started_at, deadline_at)
    select r_id[x.i], p_project[x.i], r_door[x.i], r_agent[x.i], r_entity[x.i], r_snapshot[x.i], p_thread[x.i], r_parent[x.i], coalesce(r_root[x.i], r_id[x.i]),
      r_type[x.i], m_id[x.i], message_base[x.i] + 1, coalesce(r_trigger[x.i], '{}'), r_depth[x.i], r_serial[x.i], free[x.i], r_wall[x.i], r_history[x.i],
      coalesce(r_metadata[x.i], '{}'), case when y.taken then 'running'::troupe.run_status else 'queued' end, y.taken::int,
      case when y.taken then p_taker end, case when y.taken then now() end, case when y.taken then now() + make_interval(secs => r_wall[x.i]::float8 / 1000) end
    from generate_series(1, n) x(i), lateral (select p_takes[x.i] and free[x.i] as taken) y
    where exists (select from troupe.projects p where p.id = p_project[x.i])
      and exists (select from troupe.compiled_snapshots s where s.id = r_snapshot[x.i] and s.project_id = p_project[x.i])
      and (r_agent[x.i] is null or exists (select from troupe.agents a where a.id = r_agent[x.i] and a.project_id = p_project[x.i]))
      and (r_entity[x.i] is null or exists (select from troupe.entities e where e.id = r_entity[x.i] and e.project_id = p_project[x.i]))
      and (r_parent[x.i] is null or exists (select from troupe.runs r where r.id = r_parent[x.i] and r.project_id = p_project[x.i]))
    on conflict do nothing;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.starts: a run is there already, or names what is not' using errcode = 'TR001';
  end if;

  -- 3. What is told.
  if p_taker is not null then
    insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
      select r_id[x.i], p_taker, 1, 1, 0, 0, 0, 0 from generate_series(1, n) x(i) where p_takes[x.i] and free[x.i];
  end if;
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
    select p_thread[e_item[k]], event_base[e_item[k]] + e_place[k], e_type[k],
      case when e_place[k] = 1 then jsonb_build_object('id', m_id[e_item[k]], 'role', m_role[e_item[k]]) end,
      case when e_place[k] = 1 then message_base[e_item[k]] + 1 end, r_id[e_item[k]], e_step[k]
    from generate_series(1, cardinality(e_item)) k where e_place[k] <= 2 or free[e_item[k]];
  return (select jsonb_agg(jsonb_build_array(message_base[x.i] + 1, now(), free[x.i], case when p_takes[x.i] and free[x.i] and p_kind[x.i] is null then (
      select jsonb_agg(troupe.message_json(m) order by m.seq) from troupe.messages m
      where m.thread_id = p_thread[x.i] and m.seq > message_base[x.i] + 1 - r_history[x.i]) end) order by x.i)
    from generate_series(1, n) x(i));
end $$;

-- As before (0004), and thoughts about what was edited are left behind.
create or replace function troupe.fork(p_source uuid, p_step int, p_thread uuid, p_run uuid, p_snapshot uuid, p_edits jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; upto bigint; edited bigint := (select min((e.v->>'seq')::bigint) from jsonb_array_elements(p_edits) e(v));
begin
  lock table troupe.runs in row exclusive mode;
  -- Steps whose calls are settled never change again: nothing of the run has to be locked. The thread's lock is for two forks with the same ids.
  select * into r from troupe.runs x where x.id = p_source;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if exists (select from troupe.runs x where x.id = p_run) then
    return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'duplicate', true);
  end if;
  if troupe.missing_for(r.project_id, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), null) is not null then
    return jsonb_build_object('ok', false, 'code', 'snapshot_not_found');
  end if;
  r.step := coalesce((select h.step from troupe.run_heads h where h.run_id = p_source), r.step);
  if p_step < 0 or p_step > r.step then
    return jsonb_build_object('ok', false, 'code', 'step_not_found', 'step', r.step);
  elsif exists (select from troupe.tool_calls c where c.run_id = p_source and c.step <= p_step
      and (c.status in ('requested', 'running') or c.waits_for is not null)) then
    return jsonb_build_object('ok', false, 'code', 'step_not_settled', 'step', p_step);
  end if;
  -- Everything up to the step's last message; without a step, up to the trigger.
  select greatest(max(m.seq), coalesce(r.trigger_seq, 0)) into upto from troupe.messages m
    where m.thread_id = r.thread_id and m.run_id = p_source and m.step <= p_step;
  upto := coalesce(upto, r.trigger_seq, 0);
  insert into troupe.threads (id, project_id, kind, last_message_seq) values (p_thread, r.project_id, 'run', upto);
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata, created_at)
  select p_thread, m.seq, troupe.new_id(), m.role, coalesce(e.v->'content', m.content), m.tool_call_id, m.sender_id,
    case when m.run_id = p_source then p_run else m.run_id end, m.step,
    -- What a model thought of what stands otherwise now is not its thought any more.
    case when m.seq >= edited then m.metadata - 'troupe:reasoning' else m.metadata end, m.created_at
  from troupe.messages m left join jsonb_array_elements(p_edits) e(v) on (e.v->>'seq')::bigint = m.seq
  where m.thread_id = r.thread_id and m.seq <= upto;
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id, trigger_type, trigger_seq, trigger,
    chain_depth, step, wall_ms, history_limit, budget_ids, metadata)
  values (p_run, r.project_id, r.door, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), p_thread, null, p_run, 'fork', r.trigger_seq,
    r.trigger || jsonb_build_object('forkedFrom', p_source, 'forkedAtStep', p_step), r.chain_depth, p_step, r.wall_ms, r.history_limit, r.budget_ids,
    r.metadata || jsonb_build_object('forkedFrom', p_source));
  perform troupe.append(p_thread, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('forkedFrom', p_source, 'step', p_step))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'messages', upto);
end $$;
