-- Queues the runs of a worker that is gone (lock free) or hung (lock held, heartbeat stopped), and settles its budget
-- leases. Returns null if the worker lives: it holds its lock, or its heartbeat advanced since the observation.
-- Locks: the advisory lock of the worker, its row, its runs by id, their heads by id, the threads of the runs that
-- spent last by id, the budgets by id.
-- Called by: store/queries/purge.ts, store/queries/workers.ts.
create or replace function troupe.reap(p_worker uuid, p_beat bigint, p_hung boolean) returns int language plpgsql as $$
declare
  found_beat bigint; n int; l troupe.budget_leases; used bigint; spenders jsonb;
  budget uuid;
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
  perform 1 from troupe.run_heads h
    where h.run_id in (select r.id from troupe.runs r where r.worker_id = p_worker and r.status = 'running')
    order by h.run_id for no key update;
  -- Clearing the heads fences off everything that the worker still sends.
  with back as (
    update troupe.runs r set status = 'queued', worker_id = null, run_at = now(), updated_at = now(),
      takeovers = case when h.step > r.step then 1 else r.takeovers + 1 end, takeovers_in_all = r.takeovers_in_all + 1
    from troupe.run_heads h where h.run_id = r.id and r.worker_id = p_worker and r.status = 'running' returning r.id)
  update troupe.run_heads h set worker_id = null from back where h.run_id = back.id;
  get diagnostics n = row_count;

  -- Budget leases: unreported spending of committed steps is booked, the rest is released.
  select jsonb_object_agg(x.budget_id, y) into spenders from troupe.budget_leases x cross join lateral (
    select s.run_id as run, s.step, r.thread_id as thread from troupe.run_steps s join troupe.runs r on r.id = s.run_id
    where s.worker_id = p_worker and s.budgeted and x.budget_id = any(r.budget_ids)
    order by s.finished_at desc limit 1) y
    where x.worker_id = p_worker;
  perform 1 from troupe.threads t where t.id in (select (v->>'thread')::uuid from jsonb_each(spenders) x(k, v))
    order by t.id for no key update;
  for budget in select x.budget_id from troupe.budget_leases x where x.worker_id = p_worker order by 1 loop
    perform 1 from troupe.budgets b where b.id = budget for no key update;
    -- Read under the lock: a late report of the worker may have changed it.
    select * into l from troupe.budget_leases x where x.budget_id = budget and x.worker_id = p_worker;
    continue when not found;
    select coalesce(sum(case b.unit when 'tokens' then s.input_tokens + s.output_tokens else s.cost end), 0) into used
      from troupe.budgets b, troupe.run_steps s join troupe.runs r on r.id = s.run_id
      where b.id = budget and s.worker_id = p_worker and s.budgeted and b.id = any(r.budget_ids);
    perform troupe.book_spending(budget, greatest(0, used - l.spent), l.granted - l.spent - l.returned,
      (spenders->budget::text->>'run')::uuid, (spenders->budget::text->>'step')::int);
    delete from troupe.budget_leases x where x.budget_id = budget and x.worker_id = p_worker;
  end loop;
  return n;
end $$;
