-- Turns a call that a worker executes into one that someone outside settles. Returns null if it is not running, for
-- example because an earlier attempt handed it over.
-- Locks: the call. The caller holds the run.
-- Called by: troupe.ask, troupe.begin_child, troupe.begin_wait, troupe.wait_for_task.
create or replace function troupe.hand_over_call(p_run uuid, p_call text, p_waits_for troupe.waits_for,
  p_deadline_ms bigint) returns troupe.tool_calls language plpgsql as $$
declare
  c troupe.tool_calls;
begin
  update troupe.tool_calls x set status = 'requested', waits_for = p_waits_for,
    deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where x.run_id = p_run and x.call_id = p_call and x.status = 'running' returning * into c;
  if found then
    update troupe.runs r set open_calls = r.open_calls + 1, updated_at = now() where r.id = p_run;
  end if;
  return c;
end $$;
