-- Claims up to p_limit due runs for a worker and returns everything that it needs: the row, the tail of the thread, the
-- ledger. SKIP LOCKED over partial indexes: no two workers get the same run, and none waits for another. p_start_events
-- is { door: [event types written when a run first starts] }. p_code lists the code tools of the worker.
-- Locks: the claimed runs (skipping locked ones), the advisory lock of each lane (skipping held ones), the threads that
-- watch the runs by id, the heads by id, the threads by id.
-- Called by: store/queries/claim.ts.
create or replace function troupe.claim(p_worker uuid, p_limit integer, p_doors text[], p_start_events jsonb,
  p_code text[] default '{}')
  returns setof jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[] := '{}'; told_of uuid[] := '{}'; more_told uuid[]; lanes boolean; room int; is_short boolean;
  lane_row record; free int; more uuid[]; got record; first boolean; started jsonb; extra int; thinks boolean;
  told int; base bigint; last_seq bigint;
begin
  -- Lanes get a quarter of the slots while other runs wait, so that neither starves the other.
  lanes := exists (
    select from troupe.runs r where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued'
      and r.ready and r.run_at <= now()
      and (r.code_tools is null or r.code_tools <@ p_code));
  room := case when not lanes then p_limit when p_limit > 1 then p_limit - greatest(1, p_limit / 4) when random() < 0.25
    then 0 else 1 end;

  for round in 1 .. 2 loop
    if p_code = '{}' then
      select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where watched), '{}')
        into more, more_told from (
        select r.id, r.watchers is not null as watched from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now()
          and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked) x;
    else
      -- The sets of code tools that queued runs need, each found by one index lookup.
      with recursive sets as (
        (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null
          and r.code_tools is not null
          order by r.code_tools limit 1)
        union all
        select (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null
          and r.code_tools is not null
          and r.code_tools > s.code_tools order by r.code_tools limit 1) from sets s where s.code_tools is not null),
      anybodys as (select r.id, r.watchers is not null as watched, r.run_at from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now()
          and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked),
      fitting as (select x.* from sets s cross join lateral (
          select r.id, r.watchers is not null as watched, r.run_at from troupe.runs r
          where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
            and r.code_tools = s.code_tools
            and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
          order by r.run_at limit room for no key update skip locked) x where s.code_tools <@ p_code)
      select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where watched), '{}')
        into more, more_told from (
        select id, watched from (table anybodys union all table fitting) y order by y.run_at limit room) x;
    end if;
    ids := ids || more; told_of := told_of || more_told;
    -- A second round only if lanes left slots and other runs wait for them.
    exit when round = 2 or not lanes;
    is_short := cardinality(more) < room;

    for lane_row in
      select r.lane, min(r.lane_limit) as most from troupe.runs r
      where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready
        and r.run_at <= now() and r.door = any(p_doors)
        and (r.code_tools is null or r.code_tools <@ p_code)
      group by r.lane order by min(r.run_at)
    loop
      exit when cardinality(ids) >= p_limit;
      -- One claimer counts a lane at a time; others skip it until their next poll.
      continue when not pg_try_advisory_xact_lock(hashtextextended('troupe.lane:' || lane_row.lane, 0));
      -- A run that waits for its child or task occupies its place in the lane.
      free := lane_row.most - (select count(*) from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'running')
        - (select count(*) from troupe.runs r where r.lane = lane_row.lane and r.status = 'waiting_tool' and exists (
          select from troupe.runs c where c.root_run_id = r.id and c.parent_call_id is not null
            and c.status in ('queued', 'running')));
      if free > 0 then
        select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where watched), '{}')
          into more, more_told from (
          select r.id, r.watchers is not null as watched from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'queued' and r.ready
            and r.run_at <= now() and r.door = any(p_doors)
            and (r.code_tools is null or r.code_tools <@ p_code)
          -- Runs that have started come before new ones.
          order by r.started_at is null, r.run_at limit least(free, p_limit - cardinality(ids))
            for no key update skip locked) x;
        ids := ids || more; told_of := told_of || more_told;
      end if;
    end loop;
    room := p_limit - cardinality(ids);
    exit when is_short or room = 0;
  end loop;
  if cardinality(ids) = 0 then
    return;
  end if;

  if cardinality(told_of) > 0 then
    perform troupe.lock_watchers(told_of, null);
  end if;

  -- A head ahead of its row belongs to a worker that died: its progress is taken over.
  update troupe.runs r set status = 'running', epoch = r.epoch + 1, worker_id = p_worker, wait_state = null,
    step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens),
    output_tokens = coalesce(h.output_tokens, r.output_tokens),
    cost = coalesce(h.cost, r.cost), attempt = case when h.step > r.step then 0 else r.attempt end,
    started_at = coalesce(r.started_at, now()),
    deadline_at = coalesce(r.deadline_at, now() + make_interval(secs => r.wall_ms::float8 / 1000)), updated_at = now()
  from unnest(ids) x(id) left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  insert into troupe.run_heads as h (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
    select r.id, p_worker, r.epoch, 1, r.step, r.input_tokens, r.output_tokens, r.cost from troupe.runs r
      where r.id = any(ids) order by r.id
    on conflict (run_id) do update set worker_id = excluded.worker_id, epoch = excluded.epoch, version = h.version + 1,
      step = excluded.step;

  -- Write the events and return the runs.
  for got in select x.*, h.version from troupe.runs x join troupe.run_heads h on h.run_id = x.id where x.id = any(ids)
    order by x.thread_id, x.id loop
    first := got.started_at = now();
    -- Its wall time begins now: the run is new or retried.
    started := case when got.deadline_at = now() + make_interval(secs => got.wall_ms::float8 / 1000)
      then coalesce(p_start_events->got.door, '[]') else '[]' end;
    extra := jsonb_array_length(started);
    thinks := got.step = 0 or not exists (select from troupe.tool_calls c where c.run_id = got.id
      and c.status in ('running', 'requested'));
    told := 1 + extra + thinks::int;
    update troupe.threads t set last_event_seq = t.last_event_seq + told where t.id = got.thread_id
      returning t.last_event_seq - told, t.last_message_seq into base, last_seq;
    insert into troupe.event_batches (thread_id, last_seq, run_id, entries) values (got.thread_id, base + told, got.id,
      (jsonb_build_array(case when first then '["run.started"]'::jsonb
          else jsonb_build_array('run.resumed', jsonb_build_object('epoch', got.epoch)) end)
        || (select coalesce(jsonb_agg(jsonb_build_array(t)), '[]') from jsonb_array_elements(started) t)
        || case when thinks then jsonb_build_array(jsonb_build_array('step.started', null, null, got.step + 1))
          else '[]' end)::json);
    return next jsonb_build_object('id', got.id, 'projectId', got.project_id, 'door', got.door,
        'agentId', got.agent_id, 'entityId', got.entity_id, 'snapshotId', got.snapshot_id, 'threadId', got.thread_id,
        'parentRunId', got.parent_run_id, 'rootRunId', got.root_run_id, 'triggerType', got.trigger_type,
        'triggerMessageId', got.trigger_message_id, 'triggerSeq', got.trigger_seq, 'trigger', got.trigger,
        'chainDepth', got.chain_depth, 'serial', got.serial, 'status', got.status, 'step', got.step,
        'epoch', got.epoch, 'version', got.version, 'attempt', got.attempt, 'modelIndex', got.model_index,
        'takeovers', got.takeovers, 'openCalls', got.open_calls, 'steers', got.steers, 'waitState', got.wait_state,
        'remainingMs', extract(epoch from got.deadline_at - clock_timestamp()) * 1000,
        'inputTokens', got.input_tokens, 'outputTokens', got.output_tokens, 'cost', got.cost,
        'budgetIds', got.budget_ids, 'metadata', got.metadata, 'lastSeq', last_seq, 'spaceId', got.space_id,
        'lives', got.lives)
      || jsonb_build_object(
        'messages', troupe.tail(got.thread_id, coalesce(got.trigger_seq, last_seq), got.history_limit),
        'calls', case when got.step = 0 then '[]' else (
          select coalesce(jsonb_agg(troupe.call_json(c) order by c.step, c.position), '[]')
          from troupe.tool_calls c where c.run_id = got.id) end);
  end loop;
end $$;
