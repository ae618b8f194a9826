-- Cancels another run of the same agent. The asking run must still be held by its worker.
-- Locks: both runs by id, the head of the asking run, then as troupe.end_run.
-- Called by: store/queries/in-spaces.ts.
create or replace function troupe.stop_run(p_target uuid, p_by uuid, p_epoch int, p_worker uuid) returns jsonb
  language plpgsql as $$
declare
  target troupe.runs; asking troupe.runs;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_stop_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into asking from troupe.runs r where r.id = p_by;
  if not troupe.has_run(p_by, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif target.id is null or target.project_id <> asking.project_id then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from asking.entity_id then
    return jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.status in ('completed', 'failed', 'canceled') then
    return jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status,
      'reason', target.cancel_reason);
  end if;
  perform troupe.end_run(p_target, 'user', 'run:' || p_by, null, 'run.canceled');
  return jsonb_build_object('ok', true, 'worker', target.worker_id, 'thread', target.thread_id,
    'spaces', to_jsonb(array[target.space_id, target.active_space_id]));
end $$;
