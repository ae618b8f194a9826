-- Serialises writes to the plans of one agent, so that the limit is exact.
-- Locks: the advisory lock of the agent's plans.
-- Called by: troupe.delete_plans, troupe.set_plans, store/queries/plans.ts.
create or replace function troupe.lock_plans(p_entity uuid) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('troupe.plans:' || p_entity, 0))
$$;
