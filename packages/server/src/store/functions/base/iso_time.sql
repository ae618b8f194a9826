-- A timestamp as ISO 8601 in UTC with milliseconds, as the API writes times.
-- Locks: none.
-- Called by: troupe.fire_plan, troupe.post_to_space, store/queries/run-columns.ts.
create or replace function troupe.iso_time(p_time timestamptz) returns text
  language sql stable parallel safe as $$
  select to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
