-- Writes goals of an owner atomically, on behalf of a run or of a caller outside (p_run is null). An item with `known`
-- changes an existing goal; another item is new, unless an earlier attempt of the same call stored its id.
-- Locks: the advisory lock of the owner's goals, the head of the run.
-- Called by: store/queries/goals.ts.
create or replace function troupe.set_goals(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most int,
  p_run uuid, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  held int;
  fresh int;
  missing jsonb;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.goals:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  select jsonb_agg(i->'id') into missing from jsonb_array_elements(p_items) i
    where (i->>'known')::boolean and not exists (select from troupe.goals g
      where g.id = (i->>'id')::uuid and g.entity_id = p_entity and g.owner_id = p_owner);
  if missing is not null then
    return jsonb_build_object('ok', false, 'code', 'not_found', 'ids', missing);
  end if;
  select count(*) into held from troupe.goals g where g.entity_id = p_entity and g.owner_id = p_owner;
  select count(*) into fresh from jsonb_array_elements(p_items) i
    where not (i->>'known')::boolean and not exists (select from troupe.goals g where g.id = (i->>'id')::uuid);
  if fresh > 0 and held + fresh > p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
  end if;
  insert into troupe.goals (id, project_id, entity_id, owner_id, description, status, priority)
    select (i->>'id')::uuid, p_project, p_entity, p_owner, i->>'description', coalesce(i->>'status', 'active'),
        coalesce((i->>'priority')::int, 3)
      from jsonb_array_elements(p_items) i where not (i->>'known')::boolean
    on conflict (id) do nothing;
  update troupe.goals g set description = coalesce(i->>'description', g.description),
    status = coalesce(i->>'status', g.status),
      priority = coalesce((i->>'priority')::int, g.priority), updated_at = now()
    from jsonb_array_elements(p_items) i
    where (i->>'known')::boolean and g.id = (i->>'id')::uuid;
  return jsonb_build_object('ok', true);
end $$;
