-- Lets one run take over another run of the same entity, with its trigger and its actions. The first absorber wins; a
-- repetition returns the same answer.
-- Locks: both runs by id, then as troupe.end_run.
-- Called by: store/queries/outside.ts.
create or replace function troupe.absorb(p_target uuid, p_by uuid, p_worker uuid, p_epoch int) returns jsonb
  language plpgsql as $$
declare
  target troupe.runs; absorber troupe.runs; answer jsonb;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_absorb_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into absorber from troupe.runs r where r.id = p_by;
  if absorber.id is null or absorber.status <> 'running' or absorber.epoch <> p_epoch
    or absorber.worker_id <> p_worker then
    answer := jsonb_build_object('ok', false, 'code', 'absorber_lost');
  elsif target.id is null or target.project_id <> absorber.project_id then
    answer := jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from absorber.entity_id then
    answer := jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.absorbed_by is not null and target.absorbed_by <> p_by then
    answer := jsonb_build_object('ok', false, 'code', 'already_absorbed', 'by', target.absorbed_by);
  elsif target.absorbed_by is null and target.status in ('completed', 'failed', 'canceled') then
    answer := jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status);
  end if;
  if answer is not null then
    perform troupe.pass(r) from troupe.runs r where r.id in (p_target, p_by) order by r.thread_id;
    return answer;
  end if;
  -- The actions of the target after it was stopped: calls that the absorption closed are canceled.
  if target.absorbed_by is null then
    perform troupe.end_run(p_target, 'absorbed', null, p_by, 'run.absorbed');
  end if;
  select jsonb_build_object('ok', true, 'run', p_target, 'status', target.status, 'worker', target.worker_id,
    'thread', target.thread_id, 'spaces', to_jsonb(array[target.space_id, target.active_space_id]),
    'trigger', target.trigger || jsonb_strip_nulls(jsonb_build_object('type', target.trigger_type,
      'messageId', target.trigger_message_id)),
    'actions', coalesce((select jsonb_agg(troupe.call_json(c) order by c.step, c.position) from troupe.tool_calls c
      where c.run_id = p_target), '[]'))
  into answer;
  return answer;
end $$;
