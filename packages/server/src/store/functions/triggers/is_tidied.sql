-- Returns whether vacuum blocks a capture trigger that should be enabled. A retry is worthwhile: vacuum yields after a
-- second.
-- Locks: none.
-- Called by: store/queries/triggers.ts.
create or replace function troupe.is_tidied() returns boolean language sql stable as $$
  select exists (select from troupe.captured x join pg_trigger g on g.tgname = x.trigger_name
    and g.tgrelid = ('troupe.' || x.table_name)::regclass
      join pg_locks l on l.locktype = 'relation' and l.relation = g.tgrelid and l.granted
      and l.mode = 'ShareUpdateExclusiveLock'
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
    where g.tgenabled = 'D' and exists (select from troupe.triggers t where t.enabled
      and t.collections && x.collections))
$$;
