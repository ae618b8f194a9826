-- breaking: true
-- How runs begin, are taken, and are taken over.

-- A process that has a place free may ask for the run in the same breath (claim): then it starts as taken, and the round trip
-- and the writes of a claim are saved. It is reaped like any other if that process dies.
-- item: { claim?: { worker, events }, project, thread, createThread?: kind, message?: { id, role, content, sender?, metadata? }, run?: { id, door, agent?, entity?,
--         snapshot, parent?, root?, triggerType, trigger?, chainDepth?, serial?, lane?, laneLimit?, wallMs, historyLimit?, budgets?,
--         metadata?, delayMs? } }
-- The message and the run that it starts are one. Safe to repeat: ids come from the caller, and one message starts
-- one run per entity; a repetition answers with what is there. A message of another thread is not: its id is taken, and no more
-- is told of it.
create function troupe.start(item jsonb) returns jsonb language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  thread uuid := (item->>'thread')::uuid;
  message jsonb := item->'message';
  message_id uuid := (item->'message'->>'id')::uuid;
  run jsonb := item->'run';
  new_run uuid := (item->'run'->>'id')::uuid;
  v_entity uuid := (item->'run'->>'entity')::uuid;
  active uuid; message_base bigint; event_base bigint; message_seq bigint; existing uuid; serial boolean; is_ready boolean := true; made boolean := false;
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
    select t.active_run_id, t.last_message_seq, t.last_event_seq into active, message_base, event_base from troupe.threads t
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
    active_run_id = case when serial and is_ready then new_run else t.active_run_id end where t.id = thread;
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

-- Takes up to p_limit runs for a worker and answers with all that it needs: the row, the thread's tail, the ledger.
-- FOR NO KEY UPDATE SKIP LOCKED over the partial index of what is due: no two workers get
-- the same run and none waits for another. p_start_events: { door: [event types written when its run first starts] }.
create function troupe.claim(p_worker uuid, p_limit int, p_doors text[], p_start_events jsonb) returns setof jsonb language plpgsql
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
    started := case when first then coalesce(p_start_events->got.door, '[]') else '[]' end;
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

-- Advisory lock that a worker holds for as long as it lives.
create function troupe.worker_lock(incarnation uuid) returns bigint language sql immutable as $$
  select hashtextextended('troupe.worker:' || incarnation::text, 0)
$$;

-- Puts the runs of a worker that is gone (lock free) or hung (lock held, heart still) back into the queue.
-- Answers null where the worker turns out to live: it holds its lock, or its heart has beaten since it was observed.
create function troupe.reap(p_worker uuid, p_beat bigint, p_hung boolean) returns int language plpgsql as $$
declare
  found_beat bigint; n int; lease record; used bigint; ids uuid[];
begin
  if not p_hung and not pg_try_advisory_xact_lock(troupe.worker_lock(p_worker)) then
    return null;
  end if;
  select w.beat into found_beat from troupe.workers w where w.incarnation = p_worker for no key update;
  if found_beat is distinct from p_beat then
    return null;
  end if;
  delete from troupe.workers w where w.incarnation = p_worker;

  perform 1 from troupe.runs r where r.worker_id = p_worker and r.status = 'running' order by r.id for no key update;
  perform 1 from troupe.run_heads h where h.run_id in (select r.id from troupe.runs r where r.worker_id = p_worker and r.status = 'running')
    order by h.run_id for no key update;
  -- The heads as well: from here on nothing that the worker still sends passes the fence.
  with back as (
    update troupe.runs r set status = 'queued', worker_id = null, run_at = now(), updated_at = now(),
      takeovers = case when h.step > r.step then 1 else r.takeovers + 1 end
    from troupe.run_heads h where h.run_id = r.id and r.worker_id = p_worker and r.status = 'running' returning r.id)
  update troupe.run_heads h set worker_id = null from back where h.run_id = back.id;
  get diagnostics n = row_count;

  -- Its share of budgets: what its committed steps spent and it had not yet reported is spent, the rest is free again.
  for lease in select l.* from troupe.budget_leases l where l.worker_id = p_worker order by l.budget_id loop
    perform 1 from troupe.budgets b where b.id = lease.budget_id for no key update;
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
