-- Queues the runs of a worker that is gone (lock free) or hung (lock held, heartbeat stopped), and settles its budget
-- leases. Returns null if the worker lives: it holds its lock, or its heartbeat advanced since the observation.
-- Locks: the advisory lock of the worker, its row, its runs by id, their heads by id, the budgets by id.
-- Called by: store/queries/purge.ts, store/queries/workers.ts.
create or replace function troupe.reap(p_worker uuid, p_beat bigint, p_hung boolean) returns int language plpgsql as $$
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
