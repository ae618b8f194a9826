-- Starts the run that works on a task, within the limit of runs per root.
-- Locks: the advisory lock of the root, then as the start of a run. The caller holds the parent run and the call.
-- Called by: troupe.begin_task, troupe.reactivate_task.
create or replace function troupe.start_task_run(p_parent troupe.runs, p_call text, p_item jsonb, p_task uuid,
  p_background boolean, p_most int) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  started jsonb; child uuid := (p_item->'run'->>'id')::uuid;
begin
  -- Serialises the count, so that concurrent starts cannot exceed the limit. Taken after calls and before threads.
  perform pg_advisory_xact_lock(27, hashtext(p_parent.root_run_id::text));
  if (select count(*) from troupe.runs x where x.root_run_id = p_parent.root_run_id and x.parent_call_id is not null)
    + (select count(*) from troupe.runs x where x.root_run_id = p_parent.root_run_id and x.task_id is not null
      and x.parent_call_id is null) >= p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many_runs', 'limit', p_most);
  end if;
  started := troupe.start(jsonb_build_array(p_item || jsonb_build_object('run', (p_item->'run')
    || jsonb_build_object('parent', p_parent.id, 'root', p_parent.root_run_id, 'chainDepth', p_parent.chain_depth + 1,
      'triggerType', 'task')
    || case when p_parent.budget_ids is null then '{}'
      else jsonb_build_object('budgets', to_jsonb(p_parent.budget_ids)) end)))->0;
  if not (started->>'ok')::boolean then
    raise exception 'the run of a task was not started: %', started->>'code';
  end if;
  update troupe.runs x set task_id = p_task, parent_call_id = case when not p_background then p_call end
    where x.id = child;
  return jsonb_build_object('ok', true);
end $$;
