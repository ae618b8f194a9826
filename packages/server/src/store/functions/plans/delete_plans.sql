-- Deletes plans of an agent on behalf of a run.
-- Locks: the advisory lock of the agent's plans, the head of the run.
-- Called by: store/queries/plans.ts.
create or replace function troupe.delete_plans(p_project uuid, p_entity uuid, p_ids uuid[], p_run uuid, p_epoch int,
  p_worker uuid) returns jsonb language plpgsql as $$
declare
  gone int;
begin
  perform troupe.lock_plans(p_entity);
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  delete from troupe.plans p where p.project_id = p_project and p.entity_id = p_entity and p.id = any(p_ids);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $$;
