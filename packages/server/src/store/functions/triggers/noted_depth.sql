-- How many triggers led to what a run does: what started it says so, or what started that. Callers cannot write the
-- note; what it is not is 0.
create or replace function troupe.noted_depth(p_metadata jsonb) returns int language sql immutable as $$
  select case when p_metadata->>'troupe:depth' ~ '^[0-9]{1,4}$' then (p_metadata->>'troupe:depth')::int end
$$;
