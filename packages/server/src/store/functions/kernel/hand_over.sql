-- Turns a call that a worker executes into one that someone outside settles. Only the worker that holds the run may do
-- this. Returns false if it lost the run; a repetition changes nothing.
-- Locks: the run, its head, the call.
-- Called by: store/queries/outside.ts.
create or replace function troupe.hand_over(p_run uuid, p_call text, p_epoch int, p_worker uuid, p_waits_for text,
  p_deadline_ms bigint) returns boolean language plpgsql as $$
begin
  perform 1 from troupe.runs r where r.id = p_run for no key update;
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  update troupe.tool_calls c set status = 'requested', waits_for = p_waits_for::troupe.waits_for,
    deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where c.run_id = p_run and c.call_id = p_call and c.status = 'running';
  -- Not found: an earlier attempt handed it over, and it may be settled.
  if found then
    update troupe.runs r set open_calls = r.open_calls + 1, updated_at = now() where r.id = p_run;
  end if;
  return true;
end $$;
