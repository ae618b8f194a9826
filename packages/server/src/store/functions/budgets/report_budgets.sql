-- Records what a worker spent and returned. p_entries is [{ budget, spent, returned }], both as totals since the worker
-- started, which makes a repeated report harmless.
-- Locks: the budgets by id.
-- Called by: store/queries/budgets.ts.
create or replace function troupe.report_budgets(p_worker uuid, p_entries jsonb) returns void language plpgsql as $$
declare
  e record; l troupe.budget_leases;
begin
  for e in select (v->>'budget')::uuid as budget, (v->>'spent')::bigint as spent, (v->>'returned')::bigint as returned
    from jsonb_array_elements(p_entries) v order by 1 loop
    perform 1 from troupe.budgets b where b.id = e.budget for no key update;
    select * into l from troupe.budget_leases x where x.budget_id = e.budget and x.worker_id = p_worker;
    -- A missing lease was settled when this worker was reaped.
    continue when not found;
    update troupe.budgets b set spent = b.spent + e.spent - l.spent,
      leased = greatest(0, b.leased - (e.spent - l.spent) - (e.returned - l.returned)), updated_at = now()
      where b.id = e.budget;
    update troupe.budget_leases x set spent = e.spent, returned = e.returned where x.budget_id = e.budget
      and x.worker_id = p_worker;
  end loop;
end $$;
