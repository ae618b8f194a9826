-- The distance from transaction ids to stamps. After a restore into a cluster with lower transaction ids, the next
-- start replaces the constant; see store/restored-stamps.ts.
-- Locks: none.
-- Called by: troupe.stamp, troupe.sync_generation, store/queries/stamps.ts, store/restored-stamps.ts.
create or replace function troupe.stamp_offset() returns bigint language sql stable parallel safe as
  'select 0::bigint';
