-- The key of the advisory lock that a worker holds while it lives.
-- Locks: none.
-- Called by: troupe.reap, store/queries/idempotency.ts, store/queries/purge.ts, store/queries/signals.ts,
--   store/queries/workers.ts.
create or replace function troupe.worker_lock(incarnation uuid) returns bigint language sql immutable as $$
  select hashtextextended('troupe.worker:' || incarnation::text, 0)
$$;
