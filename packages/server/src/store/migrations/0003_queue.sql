-- breaking: true
-- How runs begin, are taken, and are taken over.

-- item: { project, thread, createThread?: kind, message?: { id, role, content, sender?, metadata? }, run?: { id, door, agent?, entity?,
--         snapshot, parent?, root?, triggerType, trigger?, chainDepth?, serial?, lane?, laneLimit?, wallMs, historyLimit?, budgets?,
--         metadata?, delayMs? } }
-- The message and the run that it starts are one. Safe to repeat: ids come from the caller, and one message starts
-- one run per entity; a repetition answers with what is there.
create function troupe.start(item jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  thread uuid := (item->>'thread')::uuid;
  message jsonb := item->'message';
  run jsonb := item->'run';
  new_run uuid := (item->'run'->>'id')::uuid;
  active uuid; base bigint; message_seq bigint; existing uuid; serial boolean; is_ready boolean;
begin
  if item ? 'createThread' then
    insert into troupe.threads (id, project_id, kind) values (thread, (item->>'project')::uuid, item->>'createThread') on conflict do nothing;
  end if;
  select t.active_run_id, t.last_message_seq into active, base from troupe.threads t where t.id = thread for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'thread_not_found');
  end if;
  if message is not null then
    select m.seq into message_seq from troupe.messages m where m.id = (message->>'id')::uuid;
    if found then
      message := null;
    else
      message_seq := base + 1;
    end if;
  end if;
  if run is not null then
    serial := coalesce((run->>'serial')::boolean, false);
    is_ready := not serial or active is null;
    insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id,
      trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, lane, lane_limit, run_at, wall_ms, history_limit, budget_ids, metadata)
    values (new_run, (item->>'project')::uuid, run->>'door', (run->>'agent')::uuid, (run->>'entity')::uuid, (run->>'snapshot')::uuid, thread,
      (run->>'parent')::uuid, coalesce((run->>'root')::uuid, new_run), run->>'triggerType', (item->'message'->>'id')::uuid, message_seq,
      coalesce(run->'trigger', '{}'), coalesce((run->>'chainDepth')::int, 0), serial, is_ready, run->>'lane', (run->>'laneLimit')::int,
      now() + make_interval(secs => coalesce((run->>'delayMs')::float8, 0) / 1000), (run->>'wallMs')::bigint,
      coalesce((run->>'historyLimit')::int, 100),
      case when run ? 'budgets' then array(select value::uuid from jsonb_array_elements_text(run->'budgets')) end,
      coalesce(run->'metadata', '{}'))
    on conflict do nothing returning id into existing;
    if existing is null then
      -- The same start again, or the same message for the same entity by another way.
      select r.id into existing from troupe.runs r where r.id = new_run;
      if existing is null then
        select r.id into existing from troupe.runs r
          where r.entity_id = (run->>'entity')::uuid and r.trigger_message_id = (item->'message'->>'id')::uuid;
      end if;
      return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate', true);
    end if;
    if serial and is_ready then
      update troupe.threads t set active_run_id = new_run where t.id = thread;
    end if;
  end if;
  perform troupe.append(thread, new_run,
    case when message is not null then jsonb_build_array(message || '{"run": null}') end,
    case when message is not null then jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0,
      'data', jsonb_build_object('id', message->'id', 'role', message->'role'))) else '[]' end
    || case when run is not null then '[{"type": "run.queued"}]'::jsonb else '[]' end);
  return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', is_ready,
    'duplicate', run is null and message is null);
end $$;

-- Many starts in one round trip, in the order of their threads' ids (the lock order).
create function troupe.start_many(items jsonb) returns jsonb language plpgsql as $$
declare
  verdicts jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(items)]);
  o int;
begin
  for o in select x.o from jsonb_array_elements(items) with ordinality x(v, o) order by (v->>'thread')::uuid, x.o loop
    verdicts[o] := troupe.start(items->(o-1));
  end loop;
  return to_jsonb(verdicts);
end $$;

-- Everything a worker needs to go on with a run: the row, the thread's tail and the ledger.
create function troupe.run_json(r troupe.runs) returns jsonb language sql stable as $$
  select jsonb_build_object('id', r.id, 'projectId', r.project_id, 'door', r.door, 'agentId', r.agent_id, 'entityId', r.entity_id,
    'snapshotId', r.snapshot_id, 'threadId', r.thread_id, 'parentRunId', r.parent_run_id, 'rootRunId', r.root_run_id,
    'triggerType', r.trigger_type, 'triggerMessageId', r.trigger_message_id, 'triggerSeq', r.trigger_seq, 'trigger', r.trigger,
    'chainDepth', r.chain_depth, 'serial', r.serial, 'status', r.status, 'step', r.step, 'epoch', r.epoch, 'version', r.version, 'attempt', r.attempt,
    'modelIndex', r.model_index, 'takeovers', r.takeovers, 'openCalls', r.open_calls, 'steers', r.steers, 'waitState', r.wait_state,
    'remainingMs', extract(epoch from r.deadline_at - clock_timestamp()) * 1000,
    'inputTokens', r.input_tokens, 'outputTokens', r.output_tokens, 'cost', r.cost, 'budgetIds', r.budget_ids, 'metadata', r.metadata)
$$;

-- Takes up to p_limit runs for a worker. FOR UPDATE SKIP LOCKED over the partial index of what is due: no two workers get
-- the same run and none waits for another. p_start_events: { door: [event types written when its run first starts] }.
create function troupe.claim(p_worker uuid, p_limit int, p_doors text[], p_start_events jsonb) returns setof jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; lane_row record; free int; more uuid[];
begin
  select coalesce(array_agg(id), '{}') into ids from (
    select r.id from troupe.runs r
    where r.status = 'queued' and r.ready and r.lane is null and r.run_at <= now() and r.door = any(p_doors)
    order by r.run_at limit p_limit for update skip locked) x;

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
          order by r.run_at limit least(free, p_limit - cardinality(ids)) for update skip locked) x;
        ids := ids || more;
      end if;
    end loop;
  end if;
  if cardinality(ids) = 0 then
    return;
  end if;

  update troupe.runs r set status = 'running', epoch = r.epoch + 1, worker_id = p_worker, version = r.version + 1,
    wait_state = null, started_at = coalesce(r.started_at, now()),
    deadline_at = coalesce(r.deadline_at, now() + make_interval(secs => r.wall_ms::float8 / 1000)), updated_at = now()
  where r.id = any(ids);

  perform 1 from troupe.threads t where t.id in (select r.thread_id from troupe.runs r where r.id = any(ids)) order by t.id for update;
  perform troupe.append(r.thread_id, r.id, null,
    case when r.started_at = now()
      then jsonb_build_array(jsonb_build_object('type', 'run.started')) || coalesce(
        (select jsonb_agg(jsonb_build_object('type', t)) from jsonb_array_elements_text(p_start_events->r.door) t), '[]')
      else jsonb_build_array(jsonb_build_object('type', 'run.resumed', 'data', jsonb_build_object('epoch', r.epoch))) end
    || case when r.step = 0 or not exists (select from troupe.tool_calls c where c.run_id = r.id and c.status in ('running', 'requested'))
      then jsonb_build_array(jsonb_build_object('type', 'step.started', 'step', r.step + 1)) else '[]' end)
  from troupe.runs r where r.id = any(ids);

  return query
    select troupe.run_json(r) || jsonb_build_object(
      'messages', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = r.thread_id and m.seq > coalesce(r.trigger_seq, t.last_message_seq) - r.history_limit),
      'lastSeq', t.last_message_seq,
      'calls', case when r.step = 0 then '[]' else (select coalesce(jsonb_agg(troupe.call_json(c) order by c.step, c.position), '[]') from troupe.tool_calls c where c.run_id = r.id) end)
    from troupe.runs r join troupe.threads t on t.id = r.thread_id where r.id = any(ids) order by r.run_at;
end $$;

-- Advisory lock that a worker holds for as long as it lives.
create function troupe.worker_lock(incarnation uuid) returns bigint language sql immutable as $$
  select hashtextextended('troupe.worker:' || incarnation::text, 0)
$$;

-- Puts the runs of a worker that is gone (lock free) or hung (lock held, heart still) back into the queue.
-- Answers null where the worker turns out to live: it holds its lock, or its heart has beaten since it was observed.
create function troupe.reap(p_worker uuid, p_beat bigint, p_hung boolean) returns int language plpgsql as $$
declare
  found_beat bigint; n int; lease record; used bigint;
begin
  if not p_hung and not pg_try_advisory_xact_lock(troupe.worker_lock(p_worker)) then
    return null;
  end if;
  select w.beat into found_beat from troupe.workers w where w.incarnation = p_worker for update;
  if found_beat is distinct from p_beat then
    return null;
  end if;
  delete from troupe.workers w where w.incarnation = p_worker;

  perform 1 from troupe.runs r where r.worker_id = p_worker and r.status = 'running' order by r.id for update;
  update troupe.runs r set status = 'queued', worker_id = null, run_at = now(), takeovers = r.takeovers + 1, updated_at = now()
    where r.worker_id = p_worker and r.status = 'running';
  get diagnostics n = row_count;

  -- Its share of budgets: what its committed steps spent and it had not yet reported is spent, the rest is free again.
  for lease in select l.* from troupe.budget_leases l where l.worker_id = p_worker order by l.budget_id loop
    perform 1 from troupe.budgets b where b.id = lease.budget_id for update;
    select coalesce(sum(case b.unit when 'tokens' then s.input_tokens + s.output_tokens else s.cost end), 0) into used
      from troupe.budgets b, troupe.run_steps s join troupe.runs r on r.id = s.run_id
      where b.id = lease.budget_id and s.worker_id = p_worker and s.budgeted and lease.budget_id = any(r.budget_ids);
    update troupe.budgets b set spent = b.spent + greatest(0, used - lease.spent),
      leased = greatest(0, b.leased - (lease.granted - lease.spent - lease.returned)), updated_at = now()
      where b.id = lease.budget_id;
    delete from troupe.budget_leases l where l.budget_id = lease.budget_id and l.worker_id = p_worker;
  end loop;
  return n;
end $$;
