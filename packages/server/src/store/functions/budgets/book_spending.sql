-- Adds to the spending of a budget and releases leased amounts. The spending that reaches 80 % of the amount appends
-- budget.warning to the thread of the run that spent last. A budget that was raised since can be crossed again.
-- Locks: the budget. The caller holds the thread of p_run.
-- Called by: troupe.reap, troupe.report_budgets.
create or replace function troupe.book_spending(p_budget uuid, p_spent bigint, p_released bigint, p_run uuid,
  p_step integer) returns void language plpgsql as $$
declare
  b troupe.budgets; thread uuid; unit float8;
begin
  update troupe.budgets x set spent = x.spent + p_spent, leased = greatest(0, x.leased - p_released),
    updated_at = now() where x.id = p_budget returning * into b;
  -- Spending only grows and is changed under the lock, so that one transaction crosses.
  if (b.spent - p_spent) * 5 < b.amount * 4 and b.spent * 5 >= b.amount * 4 then
    -- A thread that was deleted since has no log.
    select t.id into thread from troupe.runs r join troupe.threads t on t.id = r.thread_id where r.id = p_run;
    if found then
      unit := case b.unit when 'cost' then 1000000 else 1 end;
      perform troupe.append(thread, p_run, null, jsonb_build_array(jsonb_build_object('type', 'budget.warning',
        'step', p_step, 'data', jsonb_build_object('budget', b.id, 'policy', b.on_exhausted, 'unit', b.unit,
          'amount', b.amount / unit, 'spent', b.spent / unit))));
    end if;
  end if;
end $$;
