-- Grants a worker a share of a budget, which the worker spends in memory and reports later. p_known is the total grant
-- that the worker knows of. If more is on record, the reply to a grant was lost, and the same grant is returned again.
-- Locks: the budget.
-- Called by: store/queries/budgets.ts.
create or replace function troupe.lease_budget(p_budget uuid, p_worker uuid, p_known bigint, p_want bigint)
  returns jsonb language plpgsql as $$
declare
  b troupe.budgets; l troupe.budget_leases; free bigint; more bigint;
begin
  select * into b from troupe.budgets x where x.id = p_budget for no key update;
  if not found then
    return jsonb_build_object('granted', 0, 'unlimited', true);
  end if;
  select * into l from troupe.budget_leases x where x.budget_id = p_budget and x.worker_id = p_worker;
  more := coalesce(l.granted, 0) - p_known;
  free := b.amount - b.spent - b.leased;
  if more <= 0 then
    more := greatest(0, least(free, p_want));
    if more > 0 then
      update troupe.budgets x set leased = x.leased + more, updated_at = now() where x.id = p_budget;
      insert into troupe.budget_leases (budget_id, worker_id, granted) values (p_budget, p_worker, more)
        on conflict (budget_id, worker_id) do update set granted = budget_leases.granted + excluded.granted returning *
        into l;
    end if;
  end if;
  return jsonb_build_object('granted', more, 'unit', b.unit, 'onExhausted', b.on_exhausted, 'amount', b.amount,
    'others', b.leased - (coalesce(l.granted, 0) - coalesce(l.spent, 0) - coalesce(l.returned, 0)) + case when more > 0
      then more else 0 end);
end $$;
