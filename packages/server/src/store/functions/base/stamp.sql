-- The stamp of the current transaction. Planned as an expression, so it costs a row no call.
-- Locks: none.
-- Called by: troupe.commit, troupe.leave, troupe.stamp_memberships, troupe.stamp_xid, store/migrations/0057_stamps.sql.
create or replace function troupe.stamp() returns bigint language sql stable as
  'select pg_current_xact_id()::text::bigint + troupe.stamp_offset()';
