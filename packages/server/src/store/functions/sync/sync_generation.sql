-- Identifies the database and its order of transactions. It changes after a restore, which invalidates the checkpoints
-- of clients.
-- Locks: none.
-- Called by: store/queries/sync.ts, store/queries/watch.ts.
create or replace function troupe.sync_generation() returns text language plpgsql stable as $$
declare
  cluster text := '';
begin
  begin
    cluster := (select system_identifier from pg_control_system()) || ':'
      || left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when insufficient_privilege or object_not_in_prerequisite_state then
    null;
  end;
  return left(md5(cluster || ':' || (select d.oid from pg_database d where d.datname = current_database()) || ':'
    || 'troupe.tombstones'::regclass::oid || ':' || troupe.stamp_offset()), 12);
end $$;
