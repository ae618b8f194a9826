-- breaking: false
-- Memories and goals have an owner: the person they were told by, or the agent's own entity where they are for all who talk with it.

alter table troupe.memories
  add column owner_id uuid references troupe.entities,
  add constraint memories_value_check check (length(value) <= 10000);
update troupe.memories set owner_id = entity_id;
alter table troupe.memories
  alter column owner_id set not null,
  drop constraint memories_pkey,
  add primary key (entity_id, owner_id, key);

alter table troupe.goals add column owner_id uuid references troupe.entities;
update troupe.goals set owner_id = entity_id;
alter table troupe.goals alter column owner_id set not null;
drop index troupe.goals_entity;
create index goals_owner on troupe.goals (entity_id, owner_id, priority, id);

-- Whose memories a run writes: those of the person whose session it, or the run that it comes from, belongs to; else the agent's own.
create function troupe.owner_of(p_run uuid, p_entity uuid) returns uuid language sql stable as $$
  with recursive line as (
    select r.thread_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id) as origin from troupe.runs r where r.id = p_run
    union
    select r.thread_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id) from line l join troupe.runs r on r.id = l.origin)
  select coalesce((select s.entity_id from line l join troupe.sessions s on s.thread_id = l.thread_id limit 1), p_entity)
$$;

-- Whether this worker still has the run. Until the transaction ends nobody can take it away.
create function troupe.has_run(p_run uuid, p_epoch int, p_worker uuid) returns boolean language plpgsql as $$
begin
  perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
  return found;
end $$;

-- All of them or none. Those who write to one owner come one after the other, so that the limit is exact: each statement after
-- the lock sees what the one before has written. Without a run: by somebody outside, whom no worker can replace.
create function troupe.set_memories(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most int, p_run uuid, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  held int;
  fresh int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.memories:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select count(*) into held from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner;
  select count(*) into fresh from jsonb_array_elements(p_items) i
    where not exists (select from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner and m.key = i->>'key');
  if fresh > 0 and held + fresh > p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
  end if;
  insert into troupe.memories (project_id, entity_id, owner_id, key, value)
    select p_project, p_entity, p_owner, i->>'key', i->>'value' from jsonb_array_elements(p_items) i
    on conflict (entity_id, owner_id, key) do update set value = excluded.value, updated_at = now();
  return jsonb_build_object('ok', true);
end $$;

-- All of them or none. An item with `known` changes what is there, any other is new; an id that is there already was written
-- by an earlier try of the same call.
create function troupe.set_goals(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most int, p_run uuid, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  held int;
  fresh int;
  missing jsonb;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.goals:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
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
  update troupe.goals g set description = coalesce(i->>'description', g.description), status = coalesce(i->>'status', g.status),
      priority = coalesce((i->>'priority')::int, g.priority), updated_at = now()
    from jsonb_array_elements(p_items) i
    where (i->>'known')::boolean and g.id = (i->>'id')::uuid;
  return jsonb_build_object('ok', true);
end $$;
