-- Those who write plans of one agent come one after the other, so that the limit is exact.
create or replace function troupe.lock_plans(p_entity uuid) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('troupe.plans:' || p_entity, 0))
$$;
