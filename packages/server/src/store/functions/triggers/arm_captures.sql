-- Enables the capture triggers of collections that an enabled rule matches, and disables the others. Enabling waits for
-- writers of the table, so that every later commit is captured, and blocks new writers behind it: for at most
-- p_patience milliseconds over all tables, then it fails (55P03). Disabling gives up after 10 ms, because capturing
-- without a matching rule writes nothing.
-- Locks: the tables of changed triggers (share row exclusive). The caller holds the lock of all rule changes.
-- Called by: store/migrate.ts, store/queries/triggers.ts.
create or replace function troupe.arm_captures(p_patience int) returns void language plpgsql as $$
declare
  c record; deadline timestamptz := clock_timestamp() + make_interval(secs => p_patience / 1000.0);
begin
  for c in select x.trigger_name, x.table_name, w.wanted
      from troupe.captured x join pg_trigger g on g.tgname = x.trigger_name
        and g.tgrelid = ('troupe.' || x.table_name)::regclass
        cross join lateral (select exists (select from troupe.triggers t where t.enabled
          and t.collections && x.collections) as wanted) w
      where w.wanted <> (g.tgenabled <> 'D') order by w.wanted desc, x.table_name loop
    if c.wanted then
      perform set_config('lock_timeout', greatest(1, ceil(extract(epoch from deadline - clock_timestamp()) * 1000))
        || 'ms', true);
      execute format('alter table troupe.%I enable trigger %I', c.table_name, c.trigger_name);
    else
      begin
        perform set_config('lock_timeout', '10ms', true);
        execute format('alter table troupe.%I disable trigger %I', c.table_name, c.trigger_name);
      exception when lock_not_available or deadlock_detected then
        null;
      end;
    end if;
  end loop;
end $$;
