-- Sets the amount of a budget and queues the runs that wait for it. Returns their ids. Runs that begin to wait after
-- the locks are taken see the new amount in troupe.leave, or need another call.
-- Locks: the waiting runs by id, their threads by id, the budget.
-- Called by: store/queries/budgets.ts.
create or replace function troupe.raise_budget(p_budget uuid, p_amount bigint) returns setof uuid language plpgsql as $$
declare
  raised uuid[]; r record;
begin
  select coalesce(array_agg(x.id), '{}') into raised from (select y.id from troupe.runs y
    where y.status = 'waiting_tool' and y.open_calls = 0 and y.wait_state->>'budget' = p_budget::text order by y.id
      for no key update) x;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(raised))
    order by t.id for no key update;
  update troupe.budgets b set amount = p_amount, updated_at = now() where b.id = p_budget;
  update troupe.runs x set status = 'queued', run_at = now(), wait_state = null, wait_deadline = null,
    updated_at = now() where x.id = any(raised);
  for r in select x.id, x.thread_id from troupe.runs x where x.id = any(raised) order by x.thread_id, x.id loop
    perform troupe.append(r.thread_id, r.id, null,
      jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end loop;
  return query select unnest(raised);
end $$;
