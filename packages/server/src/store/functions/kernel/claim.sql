-- Claims up to p_limit due runs for a worker, see troupe.take. SKIP LOCKED over partial indexes: no two workers get the
-- same run, none waits for another. p_start_events is { door: [event types written when a run first starts] }.
-- p_code lists the code tools of the worker. `unclaimable`: the worker fails the run; `more`: other runs may be due.
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
  lane_row record; free int; more uuid[]; one uuid; runs jsonb[];
begin
  -- Lanes get a quarter of the slots while other runs wait, so that neither starves the other.
  lanes := exists (
    select from troupe.runs r where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued'
      and r.ready and r.run_at <= now()
      and (r.code_tools is null or r.code_tools <@ p_code));
  room := case when not lanes then p_limit when p_limit > 1 then p_limit - greatest(1, p_limit / 4) when random() < 0.25
    then 0 else 1 end;

  for round in 1 .. 2 loop
    -- The sets of code tools that queued runs need, each found by one index lookup.
    with recursive sets as (
      (select r.code_tools from troupe.runs r where p_code <> '{}' and r.status = 'queued' and r.ready
        and r.lane is null and r.code_tools is not null order by r.code_tools limit 1)
      union all
      select (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null
        and r.code_tools is not null and r.code_tools > s.code_tools order by r.code_tools limit 1)
      from sets s where s.code_tools is not null),
    anybodys as (select r.id, r.watchers is not null as watched, r.run_at from troupe.runs r
      where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now()
        and r.door = any(p_doors) and r.id <> all(ids)
      order by r.run_at limit room for no key update skip locked),
    fitting as (select x.* from sets s cross join lateral (
        select r.id, r.watchers is not null as watched, r.run_at from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
          and r.code_tools = s.code_tools and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked) x where s.code_tools <@ p_code)
    select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where watched), '{}') into more, more_told
      from (select id, watched from (table anybodys union all table fitting) y order by y.run_at limit room) x;
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

  perform troupe.lock_watchers(told_of, null) where cardinality(told_of) > 0;

  begin
    runs := troupe.take(ids, p_worker, p_start_events, null);
  exception when others then
    -- One by one, the oldest first, then by thread: a run that cannot be taken harms no other.
    for one in select r.id from troupe.runs r where r.id = any(ids) order by r.id <> ids[1], r.thread_id loop
      exit when pg_column_size(runs) > 33554432;
      begin
        runs := runs || troupe.take(array[one], p_worker, p_start_events, null);
      exception when others then
        begin
          runs := runs || troupe.take(array[one], p_worker, p_start_events,
            jsonb_build_object('code', sqlstate, 'message', sqlerrm));
        exception when others then
          raise warning 'run % cannot be claimed: %', one, sqlerrm;
          update troupe.runs r set run_at = now() + interval '1 minute' where r.id = one;
        end;
      end;
    end loop;
    if cardinality(runs) > 0 then
      runs[1] := runs[1] || '{"more": true}';
    end if;
  end;
  return query select unnest(runs);
end $$;
