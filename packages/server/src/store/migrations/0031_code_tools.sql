-- breaking: false
-- Code tools are functions that a user registered in some processes. A snapshot says which it needs; a run is taken only by a worker
-- that has all of them.

create function troupe.code_tools_of(compiled jsonb) returns text[] language sql immutable parallel safe as $$
  select nullif(array(select distinct t->'config'->>'function' from jsonb_array_elements(compiled->'tools') t
    where t->>'provider' = 'code' and t->'config' ? 'function' order by 1), '{}')
$$;

-- Null where it needs none, which is nearly every one.
alter table troupe.compiled_snapshots add column code_tools text[];
alter table troupe.runs add column code_tools text[];

-- When a worker last had all of these: a run that nobody can take is given up after its time, counted from then at the earliest.
create table troupe.code_tools (
  names text[] not null primary key,
  seen_at timestamptz not null default now()
);

create function troupe.find_code_tools() returns trigger language plpgsql as $$
begin
  new.code_tools := troupe.code_tools_of(new.compiled);
  return new;
end $$;

create trigger compiled_snapshots_code_tools before insert on troupe.compiled_snapshots for each row execute function troupe.find_code_tools();

-- By a trigger, since runs begin and change their snapshot in many places, and each of them must not be able to forget it.
create function troupe.set_code_tools() returns trigger language plpgsql as $$
begin
  select s.code_tools into new.code_tools from troupe.compiled_snapshots s where s.id = new.snapshot_id;
  return new;
end $$;

create trigger runs_code_tools before insert or update of snapshot_id on troupe.runs for each row execute function troupe.set_code_tools();

-- Apart, so that runs which nobody can take cost those that anybody can nothing.
drop index troupe.runs_queued;
create index runs_queued on troupe.runs (run_at) where status = 'queued' and ready and lane is null and code_tools is null;
create index runs_queued_code on troupe.runs (code_tools, run_at) where status = 'queued' and ready and lane is null and code_tools is not null;

-- Those of a lane that wait for what they began.
create index runs_lane_waiting on troupe.runs (lane) where lane is not null and status = 'waiting_tool';

drop function troupe.claim(uuid, integer, text[], jsonb);
-- As before, with the code tools that the worker has. A worker of the version before has none.
create function troupe.claim(p_worker uuid, p_limit integer, p_doors text[], p_start_events jsonb, p_code text[] default '{}')
 RETURNS SETOF jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ids uuid[] := '{}'; told_of uuid[] := '{}'; more_told uuid[]; lanes boolean; room int; is_short boolean; lane_row record; free int; more uuid[]; got record; first boolean; started jsonb; extra int; thinks boolean; told int; base bigint; last_seq bigint;
begin
  -- Lanes have a quarter of the places while others wait too: neither keeps the other from going on.
  lanes := exists (
    select from troupe.runs r where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now()
      and (r.code_tools is null or r.code_tools <@ p_code));
  room := case when not lanes then p_limit when p_limit > 1 then p_limit - greatest(1, p_limit / 4) when random() < 0.25 then 0 else 1 end;

  for round in 1 .. 2 loop
    if p_code = '{}' then
      select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
        select r.id, r.door from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked) x;
    else
      -- The sets of code tools that runs wait for, each found by one look into the index, however many runs wait for it.
      with recursive sets as (
        (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
          order by r.code_tools limit 1)
        union all
        select (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
          and r.code_tools > s.code_tools order by r.code_tools limit 1) from sets s where s.code_tools is not null),
      anybodys as (select r.id, r.door, r.run_at from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked),
      fitting as (select x.* from sets s cross join lateral (select r.id, r.door, r.run_at from troupe.runs r
          where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null and r.code_tools = s.code_tools
            and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
          order by r.run_at limit room for no key update skip locked) x where s.code_tools <@ p_code)
      select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
        select id, door from (table anybodys union all table fitting) y order by y.run_at limit room) x;
    end if;
    ids := ids || more; told_of := told_of || more_told;
    -- Twice only where lanes left places and others wait for them.
    exit when round = 2 or not lanes;
    is_short := cardinality(more) < room;

    for lane_row in
      select r.lane, min(r.lane_limit) as most from troupe.runs r
      where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
        and (r.code_tools is null or r.code_tools <@ p_code)
      group by r.lane order by min(r.run_at)
    loop
      exit when cardinality(ids) >= p_limit;
      -- One claimer at a time counts a lane; another passes by and comes back with the next poll.
      continue when not pg_try_advisory_xact_lock(hashtextextended('troupe.lane:' || lane_row.lane, 0));
      -- A run that waits for what it began is at work as long as that is.
      free := lane_row.most - (select count(*) from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'running')
        - (select count(*) from troupe.runs r where r.lane = lane_row.lane and r.status = 'waiting_tool' and exists (
          select from troupe.runs c where c.root_run_id = r.id and c.parent_call_id is not null and c.status in ('queued', 'running')));
      if free > 0 then
        select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
          select r.id, r.door from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
            and (r.code_tools is null or r.code_tools <@ p_code)
          -- What was begun is ended before more is begun.
          order by r.started_at is null, r.run_at limit least(free, p_limit - cardinality(ids)) for no key update skip locked) x;
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
      'inputTokens', got.input_tokens, 'outputTokens', got.output_tokens, 'cost', got.cost, 'budgetIds', got.budget_ids, 'metadata', got.metadata, 'lastSeq', last_seq, 'spaceId', got.space_id, 'lives', got.lives)
    || jsonb_build_object(
      'messages', (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
          'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = got.thread_id and m.seq > coalesce(got.trigger_seq, last_seq) - got.history_limit),
      'calls', case when got.step = 0 then '[]' else (select coalesce(jsonb_agg(troupe.call_json(c) order by c.step, c.position), '[]')
        from troupe.tool_calls c where c.run_id = got.id) end);
  end loop;
end $function$;

-- Says that a worker has these, and ends runs that waited for a worker with theirs until their time was over.
create function troupe.expire_unclaimed(p_code text[], p_limit int) returns uuid[] language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ids uuid[]; r record;
begin
  if p_code <> '{}' then
    insert into troupe.code_tools as c (names) values (p_code)
      on conflict (names) do update set seen_at = now() where c.seen_at < now() - interval '1 second';
  end if;
  with waiting as (
    select x.id, x.code_tools, x.run_at, x.deadline_at, x.wall_ms from troupe.runs x
      where x.status = 'queued' and x.ready and x.lane is null and x.code_tools is not null and x.run_at <= now()
    union all
    select x.id, x.code_tools, x.run_at, x.deadline_at, x.wall_ms from troupe.runs x
      where x.lane is not null and x.status in ('queued', 'running') and x.status = 'queued' and x.ready and x.code_tools is not null and x.run_at <= now()),
  -- Few sets, however many runs.
  lost as (
    select x.code_tools, (select max(c.seen_at) from troupe.code_tools c where c.names @> x.code_tools) as seen_at
      from (select distinct code_tools from waiting) x
      where not exists (select from troupe.workers w where not w.draining and w.code_tools @> x.code_tools)),
  over as (
    select x.id from waiting x join lost l on l.code_tools = x.code_tools
      where coalesce(x.deadline_at, greatest(x.run_at, l.seen_at) + make_interval(secs => x.wall_ms::float8 / 1000)) <= now() limit p_limit)
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.id in (select id from over) and x.status = 'queued' for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return ids;
  end if;
  if exists (select from troupe.runs x where x.id = any(ids) and x.door = 'space') then
    perform troupe.lock_spaces(ids, null);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids)) order by t.id for no key update;
  for r in select x.id from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
  end loop;
  return ids;
end $$;
