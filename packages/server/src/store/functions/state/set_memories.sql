-- Writes memories of an owner atomically, on behalf of a run or of a caller outside (p_run is null). Writers of one
-- owner are serialised, so that the limit is exact.
-- Locks: the advisory lock of the owner's memories, the head of the run.
-- Called by: store/queries/memories.ts.
create or replace function troupe.set_memories(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most int,
  p_run uuid, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  held int;
  fresh int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.memories:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  select count(*) into held from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner;
  select count(*) into fresh from jsonb_array_elements(p_items) i
    where not exists (select from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner
      and m.key = i->>'key');
  if fresh > 0 and held + fresh > p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
  end if;
  insert into troupe.memories (project_id, entity_id, owner_id, key, value)
    select p_project, p_entity, p_owner, i->>'key', i->>'value' from jsonb_array_elements(p_items) i order by i->>'key'
    on conflict (entity_id, owner_id, key) do update set value = excluded.value, updated_at = now();
  return jsonb_build_object('ok', true);
end $$;
