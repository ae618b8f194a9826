-- The error of a call whose deadline passed. Until the sweep ends it, its row still says that it waits.
-- Locks: none.
-- Called by: troupe.settle.
create or replace function troupe.expired() returns jsonb language sql immutable as $$
  select jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
$$;
