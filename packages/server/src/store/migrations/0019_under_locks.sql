-- breaking: false
-- What is decided about under a lock is decided with what is true under it: deadlines of calls, owners of forks, limits and copies.

-- As before (0018). A call past its deadline waits for nobody any more, though the row says so until it is swept: while another call
-- of its step executes, or while no process lives that sweeps.
create function troupe.expired() returns jsonb language sql immutable as $$
  select jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
$$;

create or replace function troupe.settle(p_run uuid, p_call text, p_outcome jsonb, p_by text, p_message uuid) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; target text := p_outcome->>'status'; queued boolean; is_edited boolean;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = p_call for no key update;
  if not found then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_found');
  elsif c.waits_for is null or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status, 'output', c.output, 'error', c.error, 'settledBy', c.settled_by);
  elsif c.deadline <= now() then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', 'expired', 'output', null, 'error', troupe.expired(), 'settledBy', null);
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if target = 'proceed' then
    -- The same arguments once more are no edit. A call in doubt was tried before.
    is_edited := p_outcome ? 'args' and p_outcome->'args' <> c.args;
    update troupe.tool_calls x set status = 'requested', waits_for = null, deadline = null, settled_by = p_by, error = null,
      args = coalesce(p_outcome->'args', x.args), edited = x.edited or is_edited, attempt = x.attempt + case when x.status = 'in_doubt' then 1 else 0 end
      where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.approved', 'step', c.step,
      'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'by', p_by, 'edited', case when is_edited then true end)))));
  else
    update troupe.tool_calls x set status = target::troupe.call_status, output = p_outcome->'output', error = p_outcome->'error', waits_for = null, deadline = null,
      settled_by = p_by, settled_at = now() where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run,
      jsonb_build_array(jsonb_build_object('id', p_message, 'role', 'tool_result', 'callId', p_call, 'step', c.step,
        'content', jsonb_build_object('result', p_outcome->'output', 'error', p_outcome->'error')
          || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
      jsonb_build_array(jsonb_build_object('type', case target when 'completed' then 'tool.completed' else 'tool.failed' end, 'message', 0,
        'step', c.step, 'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'status', target, 'by', p_by)))));
  end if;
  queued := r.status = 'waiting_tool' and r.open_calls = 1;
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status else x.status end,
    run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status = 'waiting_tool' then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null)) else x.wait_deadline end,
    updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end if;
  return jsonb_build_object('ok', true, 'queued', queued, 'status', case when queued then 'queued'::troupe.run_status else r.status end,
    'openCalls', r.open_calls - 1, 'thread', r.thread_id);
end $$;

-- As before (0014), and the same.
create or replace function troupe.settle_all(p_run uuid, p_items jsonb, p_by text) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; item jsonb; refused jsonb := '[]'; repeated int := 0; answer jsonb; told jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = p_run and x.call_id in (select i->>'call' from jsonb_array_elements(p_items) i)
    order by x.call_id for no key update;
  for item in select i from jsonb_array_elements(p_items) i loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    told := jsonb_build_object('call', item->'call', 'status', c.status, 'waitsFor', c.waits_for, 'settledBy', c.settled_by, 'run', r.status);
    if c.call_id is null then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_found'));
    elsif c.waits_for is null and c.settled_by = p_by and c.status::text = item->'outcome'->>'status'
      and c.output is not distinct from item->'outcome'->'output' and c.error is not distinct from item->'outcome'->'error' then
      repeated := repeated + 1;
    elsif c.waits_for is null or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open'));
    elsif c.deadline <= now() then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open', 'status', 'expired', 'waitsFor', null));
    elsif c.waits_for::text <> item->>'waitsFor' then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'wrong_settlement'));
    end if;
  end loop;
  if jsonb_array_length(refused) > 0 then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'refused', 'refused', refused);
  end if;
  answer := jsonb_build_object('ok', true, 'queued', false, 'thread', r.thread_id);
  for item in select i from jsonb_array_elements(p_items) i order by i->>'call' loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    continue when c.waits_for is null;
    answer := troupe.settle(p_run, item->>'call', item->'outcome', p_by, (item->>'message')::uuid);
  end loop;
  return answer || jsonb_build_object('repeated', repeated);
end $$;

-- Whose memories a fork writes is noted as it is made: the session that it comes from may be deleted while it goes on.
alter table troupe.runs add column owner_id uuid;

-- As before (0015); null where the line of runs is broken, so that nobody knows. What a person said is never kept for all by mistake.
create or replace function troupe.owner_of(p_run uuid, p_entity uuid) returns uuid language sql stable as $$
  with recursive line as (
    select r.id, r.thread_id, r.owner_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id) as origin, 0 as back from troupe.runs r where r.id = p_run
    union all
    select r.id, r.thread_id, r.owner_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id), l.back + 1 from line l join troupe.runs r on r.id = l.origin
      where l.owner_id is null)
  select case
    when known.back is not null then coalesce(known.owner, p_entity)
    when exists (select from line l where l.origin is null) then p_entity end
  from (select 1) one left join lateral (
    select l.back, coalesce(l.owner_id, s.entity_id) as owner from line l left join troupe.sessions s on s.thread_id = l.thread_id
    where l.owner_id is not null or s.id is not null order by l.back limit 1) known on true
$$;
update troupe.runs r set owner_id = troupe.owner_of(r.id, r.entity_id) where r.trigger_type = 'fork';

-- As before (0017). What is copied is locked also where nothing was ever written: the first writer waits, or is waited for.
create or replace function troupe.copy_files(p_from uuid, p_to uuid) returns void language plpgsql as $$
begin
  insert into troupe.file_totals (thread_id) values (p_from) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_from for share;
  insert into troupe.files (thread_id, path, content, type, created_at, updated_at)
    select p_to, f.path, f.content, f.type, f.created_at, f.updated_at from troupe.files f where f.thread_id = p_from;
  insert into troupe.file_totals (thread_id, files, bytes) select p_to, t.files, t.bytes from troupe.file_totals t where t.thread_id = p_from;
  insert into troupe.todo_lists (thread_id, items, updated_at) select p_to, l.items, l.updated_at from troupe.todo_lists l where l.thread_id = p_from;
  insert into troupe.findings (thread_id, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at)
    select p_to, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at from troupe.findings f where f.thread_id = p_from order by f.seq;
end $$;

-- As before (0017), and notes whose memories the fork writes. A thread that was deleted a moment ago has nothing to fork.
create or replace function troupe.fork(p_source uuid, p_step int, p_thread uuid, p_run uuid, p_snapshot uuid, p_edits jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; upto bigint; edited bigint := (select min((e.v->>'seq')::bigint) from jsonb_array_elements(p_edits) e(v));
begin
  lock table troupe.runs in row exclusive mode;
  -- Steps whose calls are settled never change again: nothing of the run has to be locked. The thread's lock is for two forks with the same ids.
  select * into r from troupe.runs x where x.id = p_source;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if exists (select from troupe.runs x where x.id = p_run) then
    return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'duplicate', true);
  end if;
  if troupe.missing_for(r.project_id, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), null) is not null then
    return jsonb_build_object('ok', false, 'code', 'snapshot_not_found');
  end if;
  r.step := coalesce((select h.step from troupe.run_heads h where h.run_id = p_source), r.step);
  if p_step < 0 or p_step > r.step then
    return jsonb_build_object('ok', false, 'code', 'step_not_found', 'step', r.step);
  elsif exists (select from troupe.tool_calls c where c.run_id = p_source and c.step <= p_step
      and (c.status in ('requested', 'running') or c.waits_for is not null)) then
    return jsonb_build_object('ok', false, 'code', 'step_not_settled', 'step', p_step);
  end if;
  -- Everything up to the step's last message; without a step, up to the trigger.
  select greatest(max(m.seq), coalesce(r.trigger_seq, 0)) into upto from troupe.messages m
    where m.thread_id = r.thread_id and m.run_id = p_source and m.step <= p_step;
  upto := coalesce(upto, r.trigger_seq, 0);
  insert into troupe.threads (id, project_id, kind, last_message_seq) values (p_thread, r.project_id, 'run', upto);
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata, created_at)
  select p_thread, m.seq, troupe.new_id(), m.role, coalesce(e.v->'content', m.content), m.tool_call_id, m.sender_id,
    case when m.run_id = p_source then p_run else m.run_id end, m.step,
    -- What a model thought of what stands otherwise now is not its thought any more.
    case when m.seq >= edited then m.metadata - 'troupe:reasoning' else m.metadata end, m.created_at
  from troupe.messages m left join jsonb_array_elements(p_edits) e(v) on (e.v->>'seq')::bigint = m.seq
  where m.thread_id = r.thread_id and m.seq <= upto;
  perform troupe.copy_files(r.thread_id, p_thread);
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id, trigger_type, trigger_seq, trigger,
    chain_depth, step, wall_ms, history_limit, budget_ids, metadata, owner_id)
  values (p_run, r.project_id, r.door, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), p_thread, null, p_run, 'fork', r.trigger_seq,
    r.trigger || jsonb_build_object('forkedFrom', p_source, 'forkedAtStep', p_step), r.chain_depth, p_step, r.wall_ms, r.history_limit, r.budget_ids,
    r.metadata || jsonb_build_object('forkedFrom', p_source), troupe.owner_of(p_source, r.entity_id));
  perform troupe.append(p_thread, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('forkedFrom', p_source, 'step', p_step))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'messages', upto);
end $$;

-- As before (0015). Rows are written in one order, and nothing for an owner whom nobody knows.
create or replace function troupe.set_memories(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most int, p_run uuid, p_epoch int, p_worker uuid)
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
    where not exists (select from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner and m.key = i->>'key');
  if fresh > 0 and held + fresh > p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
  end if;
  insert into troupe.memories (project_id, entity_id, owner_id, key, value)
    select p_project, p_entity, p_owner, i->>'key', i->>'value' from jsonb_array_elements(p_items) i order by i->>'key'
    on conflict (entity_id, owner_id, key) do update set value = excluded.value, updated_at = now();
  return jsonb_build_object('ok', true);
end $$;

create or replace function troupe.set_goals(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most int, p_run uuid, p_epoch int, p_worker uuid)
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
  update troupe.goals g set description = coalesce(i->>'description', g.description), status = coalesce(i->>'status', g.status),
      priority = coalesce((i->>'priority')::int, g.priority), updated_at = now()
    from jsonb_array_elements(p_items) i
    where (i->>'known')::boolean and g.id = (i->>'id')::uuid;
  return jsonb_build_object('ok', true);
end $$;

-- Whoever deletes comes before or after those who write to the same owner.
create function troupe.delete_memories(p_project uuid, p_entity uuid, p_owner uuid, p_keys text[], p_run uuid, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  gone int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.memories:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  delete from troupe.memories m where m.project_id = p_project and m.entity_id = p_entity and m.owner_id = p_owner and m.key = any(p_keys);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $$;

create function troupe.delete_goals(p_project uuid, p_entity uuid, p_owner uuid, p_ids uuid[], p_run uuid, p_epoch int, p_worker uuid)
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
  delete from troupe.goals m where m.project_id = p_project and m.entity_id = p_entity and m.owner_id = p_owner and m.id = any(p_ids);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $$;

-- Those who note something in one thread come one after the other, so that the limit is exact. A call that is carried out again finds
-- what it noted.
create function troupe.add_finding(p_project uuid, p_thread uuid, p_run uuid, p_call text, p_finding jsonb, p_most int, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  held int;
  known boolean;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.findings:' || p_thread, 0));
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select count(*), coalesce(bool_or(f.run_id = p_run and f.call_id = p_call), false) into held, known from troupe.findings f where f.thread_id = p_thread;
  if known then
    return jsonb_build_object('ok', true, 'count', held);
  elsif held >= p_most then
    return jsonb_build_object('ok', false, 'code', 'full');
  end if;
  insert into troupe.findings (project_id, thread_id, run_id, call_id, question, claim, source, quote, confidence)
    values (p_project, p_thread, p_run, p_call, p_finding->>'question', p_finding->>'claim', p_finding->>'source', p_finding->>'quote', p_finding->>'confidence');
  return jsonb_build_object('ok', true, 'count', held + 1);
end $$;
