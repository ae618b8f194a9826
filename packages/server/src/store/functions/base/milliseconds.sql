-- Documents
create or replace function troupe.milliseconds(p_time timestamptz) returns bigint language sql immutable parallel safe
  as $$
  select floor(extract(epoch from p_time) * 1000)::bigint
$$;
