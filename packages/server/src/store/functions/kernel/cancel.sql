-- Cancels a run that has not ended.
-- Locks: the run, then as troupe.end_run.
-- Called by: troupe.delete_task, troupe.join_child, troupe.join_task, store/queries/outside.ts.
create or replace function troupe.cancel(p_run uuid, p_reason text, p_by text) returns jsonb language plpgsql as $$
declare
  r troupe.runs;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status in ('completed', 'failed', 'canceled') then
    return jsonb_build_object('ok', false, 'code', 'run_ended', 'status', r.status, 'reason', r.cancel_reason);
  end if;
  perform troupe.end_run(p_run, p_reason, p_by, null, 'run.canceled');
  return jsonb_build_object('ok', true, 'status', 'canceled', 'worker', r.worker_id, 'thread', r.thread_id);
end $$;
