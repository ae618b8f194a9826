-- breaking: true
-- What others do to a run: settle a call, let time run out, cancel, absorb, steer, retry, fork.
-- None of it needs the worker: the row decides, and the worker's fence tells it afterwards.

-- Whoever locked a run that waits its turn in a serial thread, and leaves it as it is, ends with this: promote passes over
-- locked rows, so its turn may have come meanwhile.
create function troupe.pass(r troupe.runs) returns void language plpgsql as $$
begin
  if r.status = 'queued' and not r.ready then
    perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
    perform troupe.promote(r.thread_id, null);
  end if;
end $$;

-- Ends a run from outside. The caller holds the run's lock; this takes the head's and the thread's.
create function troupe.end_run(p_run uuid, p_reason text, p_by text, p_absorber uuid, p_event text) returns void language plpgsql as $$
declare
  thread uuid; is_serial boolean;
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
  perform troupe.append(thread, p_run, null, jsonb_build_array(jsonb_build_object('type', p_event,
    'data', jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'by', p_by, 'absorbedBy', p_absorber)))));
  if is_serial then
    perform troupe.promote(thread, p_run);
  end if;
end $$;

create function troupe.cancel(p_run uuid, p_reason text, p_by text) returns jsonb language plpgsql as $$
declare
  r troupe.runs;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status in ('completed', 'failed', 'canceled') then
    return jsonb_build_object('ok', false, 'code', 'run_ended', 'status', r.status, 'reason', r.cancel_reason);
  end if;
  perform troupe.end_run(p_run, p_reason, p_by, null, 'run.canceled');
  return jsonb_build_object('ok', true, 'status', 'canceled', 'worker', r.worker_id, 'thread', r.thread_id);
end $$;

-- One run takes over another of the same entity: its trigger and all it did. The first absorber wins; asking again is safe.
create function troupe.absorb(p_target uuid, p_by uuid, p_worker uuid, p_epoch int) returns jsonb language plpgsql as $$
declare
  target troupe.runs; absorber troupe.runs; answer jsonb;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_absorb_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into absorber from troupe.runs r where r.id = p_by;
  if absorber.id is null or absorber.status <> 'running' or absorber.epoch <> p_epoch or absorber.worker_id <> p_worker then
    answer := jsonb_build_object('ok', false, 'code', 'absorber_lost');
  elsif target.id is null or target.project_id <> absorber.project_id then
    answer := jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from absorber.entity_id then
    answer := jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.absorbed_by is not null and target.absorbed_by <> p_by then
    answer := jsonb_build_object('ok', false, 'code', 'already_absorbed', 'by', target.absorbed_by);
  elsif target.absorbed_by is null and target.status in ('completed', 'failed', 'canceled') then
    answer := jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status);
  end if;
  if answer is not null then
    perform troupe.pass(r) from troupe.runs r where r.id in (p_target, p_by) order by r.thread_id;
    return answer;
  end if;
  -- What it did, as it stood when it was stopped: a call closed by this very absorption shows as canceled.
  if target.absorbed_by is null then
    perform troupe.end_run(p_target, 'absorbed', null, p_by, 'run.absorbed');
  end if;
  select jsonb_build_object('ok', true, 'run', p_target, 'status', target.status, 'worker', target.worker_id, 'thread', target.thread_id,
    'trigger', target.trigger || jsonb_strip_nulls(jsonb_build_object('type', target.trigger_type, 'messageId', target.trigger_message_id)),
    'actions', coalesce((select jsonb_agg(troupe.call_json(c) order by c.step, c.position) from troupe.tool_calls c where c.run_id = p_target), '[]'))
  into answer;
  return answer;
end $$;

-- Somebody outside ends a waiting call, or (proceed) lets a worker execute it. Brings open_calls to zero = queues the run.
-- outcome: { status: completed|failed|proceed, output?, error?, args? }
create function troupe.settle(p_run uuid, p_call text, p_outcome jsonb, p_by text, p_message uuid) returns jsonb language plpgsql
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
  return jsonb_build_object('ok', true, 'queued', queued, 'status', case when queued then 'queued'::troupe.run_status else r.status end,
    'openCalls', r.open_calls - 1, 'thread', r.thread_id);
end $$;

-- The one sweep over everything that waits. Expired calls end as such and the run goes on with what it has;
-- a run whose wall time is over is canceled. Waiting rows that somebody is settling right now are left to them.
create function troupe.expire(p_limit int) returns jsonb language plpgsql
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
    end if;
  end loop;
  return jsonb_build_object('runs', cardinality(ids), 'expired', expired, 'canceled', canceled, 'queued', queued);
end $$;

-- A message to a serial thread that may be busy. item: as for start, plus policy: queue|steer|interrupt|reject.
create function troupe.post(item jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  thread uuid := (item->>'thread')::uuid; policy text := item->>'policy'; active uuid; r troupe.runs; now_active uuid; message jsonb := item->'message';
  stored troupe.messages; seq bigint;
begin
  if item ? 'createThread' then
    insert into troupe.threads (id, project_id, kind) values (thread, (item->>'project')::uuid, (item->>'createThread')::troupe.thread_kind) on conflict do nothing;
  end if;
  -- The active run is locked before the thread, so it must be looked up before either. Posts that depend on it go one
  -- at a time, so that many at once do not keep overtaking each other; only the run's own end can still come between.
  if policy <> 'queue' then
    perform pg_advisory_xact_lock(hashtextextended('troupe.post:' || thread::text, 0));
    select t.active_run_id into active from troupe.threads t where t.id = thread and t.project_id = (item->>'project')::uuid;
    select * into r from troupe.runs x where x.id = active for no key update;
    if policy = 'interrupt' then
      perform 1 from troupe.run_heads h where h.run_id = active for no key update;
    end if;
  end if;
  select t.active_run_id into now_active from troupe.threads t where t.id = thread and t.project_id = (item->>'project')::uuid for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'thread_not_found');
  end if;
  select * into stored from troupe.messages m where m.id = (message->>'id')::uuid;
  if stored.thread_id <> thread then
    return jsonb_build_object('ok', false, 'code', 'message_id_taken');
  elsif stored.id is not null then
    return jsonb_build_object('ok', true, 'outcome', 'duplicate', 'thread', thread, 'seq', stored.seq, 'run', stored.run_id,
      'started', (select x.id from troupe.runs x where x.entity_id = (item->'run'->>'entity')::uuid and x.trigger_message_id = stored.id));
  end if;
  if policy <> 'queue' then
    if now_active is distinct from active then
      raise exception 'the active run of the thread changed' using errcode = '40001';
    end if;
    if active is not null then
      if policy = 'reject' then
        return jsonb_build_object('ok', false, 'code', 'busy', 'run', active);
      elsif policy = 'steer' then
        seq := 1 + troupe.append(thread, active, jsonb_build_array(message),
          jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0, 'data', jsonb_build_object('id', message->'id', 'role', message->'role'))));
        update troupe.runs x set steers = x.steers + 1, updated_at = now() where x.id = active;
        return jsonb_build_object('ok', true, 'outcome', 'steered', 'thread', thread, 'seq', seq, 'run', active, 'worker', r.worker_id, 'createdAt', now());
      end if;
      perform troupe.end_run(active, 'superseded', item->>'by', null, 'run.canceled');
      return troupe.start(item) || jsonb_build_object('outcome', 'interrupted', 'canceled', active, 'worker', r.worker_id);
    end if;
  end if;
  return troupe.start(item) || jsonb_build_object('outcome', 'started');
end $$;

-- A failed or canceled run goes on from where it stood.
create function troupe.retry(p_run uuid) returns jsonb language plpgsql as $$
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
    update troupe.threads t set active_run_id = p_run where t.id = r.thread_id;
  end if;
  perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('retry', true))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', r.thread_id, 'ready', is_ready);
end $$;

-- A new thread with everything up to and including a step of the run, and a run that goes on from there.
-- edits: [{ seq, content }] replace messages on the way.
create function troupe.fork(p_source uuid, p_step int, p_thread uuid, p_run uuid, p_snapshot uuid, p_edits jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; upto bigint;
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
    case when m.run_id = p_source then p_run else m.run_id end, m.step, m.metadata, m.created_at
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

-- Budgets. A worker leases a share, spends it in memory and reports; nobody else can spend what is leased.
-- p_known: all that this worker knows to have been granted. More on record = the answer to a grant was lost; it is given again.
create function troupe.lease_budget(p_budget uuid, p_worker uuid, p_known bigint, p_want bigint) returns jsonb language plpgsql as $$
declare
  b troupe.budgets; l troupe.budget_leases; free bigint; more bigint;
begin
  select * into b from troupe.budgets x where x.id = p_budget for no key update;
  if not found then
    return jsonb_build_object('granted', 0, 'unlimited', true);
  end if;
  select * into l from troupe.budget_leases x where x.budget_id = p_budget and x.worker_id = p_worker;
  more := coalesce(l.granted, 0) - p_known;
  free := b.amount - b.spent - b.leased;
  if more <= 0 then
    more := greatest(0, least(free, p_want));
    if more > 0 then
      update troupe.budgets x set leased = x.leased + more, updated_at = now() where x.id = p_budget;
      insert into troupe.budget_leases (budget_id, worker_id, granted) values (p_budget, p_worker, more)
        on conflict (budget_id, worker_id) do update set granted = budget_leases.granted + excluded.granted returning * into l;
    end if;
  end if;
  return jsonb_build_object('granted', more, 'unit', b.unit, 'onExhausted', b.on_exhausted, 'amount', b.amount,
    'others', b.leased - (coalesce(l.granted, 0) - coalesce(l.spent, 0) - coalesce(l.returned, 0)) + case when more > 0 then more else 0 end);
end $$;

-- Sets a budget's amount and queues the runs that wait for it. Two statements: the second sees the runs that lay down to wait
-- while the first waited for the lock; one that lies down later sees the new amount (troupe.leave).
create function troupe.raise_budget(p_budget uuid, p_amount bigint) returns setof uuid language plpgsql as $$
begin
  update troupe.budgets b set amount = p_amount, updated_at = now() where b.id = p_budget;
  return query update troupe.runs r set status = 'queued', run_at = now(), wait_state = null, wait_deadline = null, updated_at = now()
    where r.status = 'waiting_tool' and r.open_calls = 0 and r.wait_state->>'budget' = p_budget::text returning r.id;
end $$;

-- entries: [{ budget, spent, returned }], both as totals since the worker began.
create function troupe.report_budgets(p_worker uuid, p_entries jsonb) returns void language plpgsql as $$
declare
  e record; l troupe.budget_leases;
begin
  for e in select (v->>'budget')::uuid as budget, (v->>'spent')::bigint as spent, (v->>'returned')::bigint as returned
    from jsonb_array_elements(p_entries) v order by 1 loop
    perform 1 from troupe.budgets b where b.id = e.budget for no key update;
    select * into l from troupe.budget_leases x where x.budget_id = e.budget and x.worker_id = p_worker;
    -- A lease that is no longer there was settled by whoever reaped this worker.
    continue when not found;
    update troupe.budgets b set spent = b.spent + e.spent - l.spent,
      leased = greatest(0, b.leased - (e.spent - l.spent) - (e.returned - l.returned)), updated_at = now() where b.id = e.budget;
    update troupe.budget_leases x set spent = e.spent, returned = e.returned where x.budget_id = e.budget and x.worker_id = p_worker;
  end loop;
end $$;
