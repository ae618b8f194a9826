-- Records what a worker spent and returned. p_entries is [{ budget, spent, returned, run?, step? }]. Both amounts are
-- totals since the worker started and never decrease, which makes a repeated or late report harmless. run and step are
-- those of the last spending that was not reported.
-- Locks: the threads of the runs by id, the budgets by id.
-- Called by: store/queries/budgets.ts.
create or replace function troupe.report_budgets(p_worker uuid, p_entries jsonb) returns void language plpgsql as $$
declare
  e record; l troupe.budget_leases; more_spent bigint; more_returned bigint;
begin
  -- Before the budgets, as in troupe.raise_budget: which report crosses is known only under the lock of the budget.
  perform 1 from troupe.threads t where t.id in (select r.thread_id from troupe.runs r
    where r.id in (select (v->>'run')::uuid from jsonb_array_elements(p_entries) v)) order by t.id for no key update;
  for e in select (v->>'budget')::uuid as budget, (v->>'spent')::bigint as spent, (v->>'returned')::bigint as returned,
      (v->>'run')::uuid as run, (v->>'step')::int as step
    from jsonb_array_elements(p_entries) v order by 1 loop
    perform 1 from troupe.budgets b where b.id = e.budget for no key update;
    select * into l from troupe.budget_leases x where x.budget_id = e.budget and x.worker_id = p_worker;
    -- A missing lease was settled when this worker was reaped.
    continue when not found;
    more_spent := greatest(0, e.spent - l.spent);
    more_returned := greatest(0, e.returned - l.returned);
    perform troupe.book_spending(e.budget, more_spent, more_spent + more_returned, e.run, e.step);
    update troupe.budget_leases x set spent = l.spent + more_spent, returned = l.returned + more_returned
      where x.budget_id = e.budget and x.worker_id = p_worker;
  end loop;
end $$;
