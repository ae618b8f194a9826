-- The trigger depth stored in metadata, or null. Callers cannot set it.
-- Locks: none.
-- Called by: troupe.capture_messages, troupe.trigger_depth.
create or replace function troupe.noted_depth(p_metadata jsonb) returns int language sql immutable as $$
  select case when p_metadata->>'troupe:depth' ~ '^[0-9]{1,4}$' then (p_metadata->>'troupe:depth')::int end
$$;
