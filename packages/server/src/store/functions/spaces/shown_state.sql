-- The state of a visible call in its message. For members, a call that waits for a run is running: nobody has to act.
-- Locks: none.
-- Called by: troupe.show_call.
create or replace function troupe.shown_state(p_status troupe.call_status, p_waits_for troupe.waits_for) returns text
  language sql immutable as $$
  select case when p_status = 'completed' then 'complete' when p_waits_for is not null and p_waits_for <> 'task'
    then 'requires_action'
    when p_status in ('requested', 'running') then 'running' else 'error' end
$$;
