-- Creates or replaces plans of an agent by name, atomically. A repetition of the same call leaves the plans as they
-- are.
-- Locks: the advisory lock of the agent's plans, the head of the run.
-- Called by: store/queries/plans.ts.
create or replace function troupe.set_plans(p_project uuid, p_agent uuid, p_entity uuid, p_items jsonb, p_most int,
  p_run uuid, p_epoch int, p_worker uuid, p_call text)
returns jsonb language plpgsql as $$
declare
  held int; twice text; by_call text := p_run || ':' || p_call;
begin
  perform troupe.lock_plans(p_entity);
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select min(i->>'name') into twice from jsonb_array_elements(p_items) i group by troupe.folded(i->>'name')
    having count(*) > 1 limit 1;
  if twice is not null then
    return jsonb_build_object('ok', false, 'code', 'name_twice', 'name', twice);
  end if;
  if not exists (select from troupe.plans p where p.entity_id = p_entity and p.set_by = by_call) then
    select count(*) into held from troupe.plans p where p.entity_id = p_entity and p.status = 'pending'
      and troupe.folded(p.name) not in (select troupe.folded(i->>'name') from jsonb_array_elements(p_items) i);
    if held + jsonb_array_length(p_items) > p_most then
      return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
    end if;
    insert into troupe.plans as p (id, project_id, agent_id, entity_id, name, instruction, run_after, scheduled_at,
      cron, time_zone, next_run_at, set_by)
      select (i->>'id')::uuid, p_project, p_agent, p_entity, i->>'name', coalesce(i->>'instruction', ''),
        i->>'runAfter', (i->>'scheduledAt')::timestamptz,
        i->>'cron', i->>'timeZone', (i->>'nextRunAt')::timestamptz, by_call
      from jsonb_array_elements(p_items) i
      on conflict (entity_id, troupe.folded(name)) do update set name = excluded.name, run_after = excluded.run_after,
      scheduled_at = excluded.scheduled_at,
        cron = excluded.cron, time_zone = excluded.time_zone, next_run_at = excluded.next_run_at, status = 'pending',
        set_by = by_call,
        -- An absent instruction leaves the stored one.
        instruction = coalesce((select i->>'instruction' from jsonb_array_elements(p_items) i
          where i->>'id' = excluded.id::text), p.instruction),
        version = p.version + 1, updated_at = now();
  end if;
  return jsonb_build_object('ok', true, 'plans', (
    select jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'nextRunAt', p.next_run_at,
      'created', p.id = (i->>'id')::uuid) order by o)
    from jsonb_array_elements(p_items) with ordinality x(i, o) join troupe.plans p on p.entity_id = p_entity
      and troupe.folded(p.name) = troupe.folded(i->>'name')));
end $$;
