-- Deletes goals of an owner, on behalf of a run or of a caller outside (p_run is null).
-- Locks: the advisory lock of the owner's goals, the head of the run.
-- Called by: store/queries/goals.ts.
create or replace function troupe.delete_goals(p_project uuid, p_entity uuid, p_owner uuid, p_ids uuid[], p_run uuid,
  p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  gone int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.goals:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  delete from troupe.goals m where m.project_id = p_project and m.entity_id = p_entity and m.owner_id = p_owner
    and m.id = any(p_ids);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $$;
