-- breaking: false
-- Plans: runs that have yet to begin. The row says when; the job only says when to look at the row, so a job that comes twice, too late or
-- not at all does no harm.

create table troupe.plans (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  agent_id uuid not null references troupe.agents,
  entity_id uuid not null references troupe.entities,
  name text not null check (length(name) between 1 and 200),
  instruction text not null default '' check (length(instruction) <= 20000),
  -- One of these three is when. `run_after` is as it was given; what came of it is next_run_at.
  run_after text,
  scheduled_at timestamptz,
  cron text,
  time_zone text,
  status text not null default 'pending' check (status in ('pending', 'completed', 'canceled')),
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_run_id uuid,
  -- Raised with every change: whoever computed the time after the next one from what he read must find it as it was.
  version int not null default 1,
  -- The tool call that wrote it last. Tried again, it finds that it has been here.
  set_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint plans_one_time check (num_nonnulls(run_after, scheduled_at, cron) = 1),
  constraint plans_time_zone check ((cron is null) = (time_zone is null)),
  constraint plans_next_run check ((status = 'pending') = (next_run_at is not null))
);
create unique index plans_name on troupe.plans (entity_id, troupe.folded(name));
create index plans_agent on troupe.plans (agent_id, id desc);
create index plans_due on troupe.plans (next_run_at) where status = 'pending';

create function troupe.arm_plan(p_plan uuid, p_at timestamptz) returns void language plpgsql as $$
begin
  if p_at is null then
    perform graphile_worker.remove_job('plan:' || p_plan);
  else
    perform graphile_worker.add_job('fire_plan', json_build_object('planId', p_plan), run_at => p_at, job_key => 'plan:' || p_plan);
  end if;
end $$;

-- Whoever writes a plan, the job is part of it.
create function troupe.plan_armed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform troupe.arm_plan(old.id, null);
  elsif tg_op = 'INSERT' or new.next_run_at is distinct from old.next_run_at then
    perform troupe.arm_plan(new.id, new.next_run_at);
  end if;
  return null;
end $$;
create trigger plans_arm after insert or update or delete on troupe.plans for each row execute function troupe.plan_armed();

-- Those who write plans of one agent come one after the other, so that the limit is exact.
create function troupe.lock_plans(p_entity uuid) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('troupe.plans:' || p_entity, 0))
$$;

-- All of them or none. A plan of the same name is set anew; one that an earlier try of the same call wrote stays as it is, whatever
-- became of it since.
create function troupe.set_plans(p_project uuid, p_agent uuid, p_entity uuid, p_items jsonb, p_most int, p_run uuid, p_epoch int, p_worker uuid, p_call text)
returns jsonb language plpgsql as $$
declare
  held int; twice text; by_call text := p_run || ':' || p_call;
begin
  perform troupe.lock_plans(p_entity);
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select min(i->>'name') into twice from jsonb_array_elements(p_items) i group by troupe.folded(i->>'name') having count(*) > 1 limit 1;
  if twice is not null then
    return jsonb_build_object('ok', false, 'code', 'name_twice', 'name', twice);
  end if;
  if not exists (select from troupe.plans p where p.entity_id = p_entity and p.set_by = by_call) then
    select count(*) into held from troupe.plans p where p.entity_id = p_entity and p.status = 'pending'
      and troupe.folded(p.name) not in (select troupe.folded(i->>'name') from jsonb_array_elements(p_items) i);
    if held + jsonb_array_length(p_items) > p_most then
      return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
    end if;
    insert into troupe.plans as p (id, project_id, agent_id, entity_id, name, instruction, run_after, scheduled_at, cron, time_zone, next_run_at, set_by)
      select (i->>'id')::uuid, p_project, p_agent, p_entity, i->>'name', coalesce(i->>'instruction', ''), i->>'runAfter', (i->>'scheduledAt')::timestamptz,
        i->>'cron', i->>'timeZone', (i->>'nextRunAt')::timestamptz, by_call
      from jsonb_array_elements(p_items) i
      on conflict (entity_id, troupe.folded(name)) do update set name = excluded.name, run_after = excluded.run_after, scheduled_at = excluded.scheduled_at,
        cron = excluded.cron, time_zone = excluded.time_zone, next_run_at = excluded.next_run_at, status = 'pending', set_by = by_call,
        -- What is not said of it stays.
        instruction = coalesce((select i->>'instruction' from jsonb_array_elements(p_items) i where i->>'id' = excluded.id::text), p.instruction),
        version = p.version + 1, updated_at = now();
  end if;
  return jsonb_build_object('ok', true, 'plans', (
    select jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'nextRunAt', p.next_run_at, 'created', p.id = (i->>'id')::uuid) order by o)
    from jsonb_array_elements(p_items) with ordinality x(i, o) join troupe.plans p on p.entity_id = p_entity and troupe.folded(p.name) = troupe.folded(i->>'name')));
end $$;

create function troupe.delete_plans(p_project uuid, p_entity uuid, p_ids uuid[], p_run uuid, p_epoch int, p_worker uuid) returns jsonb language plpgsql as $$
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

-- The run of a plan that is due, and the time of the next one, as one. Nothing where the plan is no longer what the caller has read. The id of
-- the run follows from the plan and the time that it was due at; p_item without a run: the agent takes no work, and the time passes.
create function troupe.fire_plan(p_plan uuid, p_version int, p_next timestamptz, p_item jsonb, p_why text) returns jsonb language plpgsql as $$
declare
  p troupe.plans; item jsonb := p_item; started jsonb;
begin
  select * into p from troupe.plans x where x.id = p_plan for no key update;
  if not found or p.status <> 'pending' or p.version <> p_version or p.next_run_at > now() then
    return jsonb_build_object('ok', false);
  end if;
  if item is null then
    insert into troupe.audit_log (project_id, actor_kind, action, target, data)
      values (p.project_id, 'system', 'plan.skipped', p.id, jsonb_build_object('name', p.name, 'dueAt', p.next_run_at, 'why', p_why));
  else
    item := jsonb_set(item, '{run,trigger}', jsonb_build_object('planId', p.id, 'planName', p.name, 'instruction', p.instruction,
      'scheduledAt', to_char(p.next_run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    started := troupe.start(item);
    if not (started->>'ok')::boolean then
      raise exception 'the run of plan % could not be started: %', p_plan, started->>'code';
    end if;
  end if;
  update troupe.plans x set status = case when p_next is null then 'completed' else 'pending' end, next_run_at = p_next, version = x.version + 1, updated_at = now(),
    last_run_at = case when started is null then x.last_run_at else now() end, last_run_id = coalesce((started->>'run')::uuid, x.last_run_id)
    where x.id = p_plan;
  return jsonb_build_object('ok', true, 'run', started->'run');
end $$;

-- For plans that are late and that no job will look at any more: it failed too often. And the other way round, jobs that were replaced while
-- they were carried out by somebody who then died: nobody would take them, or take them away.
create function troupe.rearm_plans(p_late interval) returns int language plpgsql as $$
declare
  late uuid; armed int := 0;
begin
  for late in select p.id from troupe.plans p where p.status = 'pending' and p.next_run_at < now() - p_late
      and not exists (select from graphile_worker.jobs j where j.key = 'plan:' || p.id and j.attempts < j.max_attempts)
    order by p.next_run_at limit 1000 loop
    perform troupe.arm_plan(late, now());
    armed := armed + 1;
  end loop;
  perform graphile_worker.complete_jobs(array(select j.id from graphile_worker.jobs j
    where j.task_identifier = 'fire_plan' and j.key is null and j.locked_at is null and j.attempts >= j.max_attempts));
  return armed;
end $$;
