-- Records the code tools of a worker, and cancels queued runs whose code tools no worker has had for their wall time.
-- Locks: the expired runs by id (skipping locked ones), the threads that watch them by id, their threads by id.
-- Called by: store/queries/code-tools.ts.
create or replace function troupe.expire_unclaimed(p_code text[], p_limit int) returns uuid[] language plpgsql
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
      where x.lane is not null and x.status in ('queued', 'running') and x.status = 'queued' and x.ready
        and x.code_tools is not null and x.run_at <= now()),
  -- Checked per set of code tools: there are few sets, however many runs.
  lost as (
    select x.code_tools, (select max(c.seen_at) from troupe.code_tools c where c.names @> x.code_tools) as seen_at
      from (select distinct code_tools from waiting) x
      where not exists (select from troupe.workers w where not w.draining and w.code_tools @> x.code_tools)),
  over as (
    select x.id from waiting x join lost l on l.code_tools = x.code_tools
      where coalesce(x.deadline_at, greatest(x.run_at,
        l.seen_at) + make_interval(secs => x.wall_ms::float8 / 1000)) <= now() limit p_limit)
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.id in (select id from over) and x.status = 'queued'
      for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return ids;
  end if;
  if exists (select from troupe.runs x where x.id = any(ids) and x.watchers is not null) then
    perform troupe.lock_watchers(ids, null);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids))
    order by t.id for no key update;
  for r in select x.id from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
  end loop;
  return ids;
end $$;
