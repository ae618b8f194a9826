-- What is decided about under a lock is decided with what is true under it: deadlines of calls, owners of forks, limits
-- and copies. As before (0018). A call past its deadline waits for nobody any more, though the row says so until it is
-- swept: while another call of its step executes, or while no process lives that sweeps.
create or replace function troupe.expired() returns jsonb language sql immutable as $$
  select jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
$$;
