-- Starts the run of a due plan and sets the time of the next one, atomically. Does nothing if the plan changed since
-- the caller read it. The id of the run follows from the plan and its due time. p_item is null if the agent takes no
-- work: the time passes and the audit log records p_why.
-- Locks: the plan, then as the start of a run.
-- Called by: store/queries/plans.ts.
create or replace function troupe.fire_plan(p_plan uuid, p_version int, p_next timestamptz, p_item jsonb, p_why text)
  returns jsonb language plpgsql as $$
declare
  p troupe.plans; item jsonb := p_item; started jsonb;
begin
  select * into p from troupe.plans x where x.id = p_plan for no key update;
  if not found or p.status <> 'pending' or p.version <> p_version or p.next_run_at > now() then
    return jsonb_build_object('ok', false);
  end if;
  if item is null then
    insert into troupe.audit_log (project_id, actor_kind, action, target, data)
      values (p.project_id, 'system', 'plan.skipped', p.id,
        jsonb_build_object('name', p.name, 'dueAt', p.next_run_at, 'why', p_why));
  else
    item := jsonb_set(item, '{run,trigger}',
      jsonb_build_object('planId', p.id, 'planName', p.name, 'instruction', p.instruction,
      'scheduledAt', troupe.iso_time(p.next_run_at)));
    started := troupe.start(jsonb_build_array(item))->0;
    if not (started->>'ok')::boolean then
      raise exception 'the run of plan % could not be started: %', p_plan, started->>'code';
    end if;
  end if;
  update troupe.plans x set status = case when p_next is null then 'completed' else 'pending' end, next_run_at = p_next,
    version = x.version + 1, updated_at = now(),
    last_run_at = case when started is null then x.last_run_at else now() end,
    last_run_id = coalesce((started->>'run')::uuid, x.last_run_id)
    where x.id = p_plan;
  return jsonb_build_object('ok', true, 'run', started->'run');
end $$;
