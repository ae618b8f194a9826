-- breaking: false
-- A person may approve a call with other arguments than the model gave. The message of the call keeps those of the model; that the
-- ledger has others is noted, so that whoever reads the result learns what was really called.

alter table troupe.tool_calls add column edited boolean not null default false;

-- As before (0002), with that note.
create or replace function troupe.call_json(c troupe.tool_calls) returns jsonb language sql stable as $$
  select jsonb_build_object('id', c.call_id, 'step', c.step, 'position', c.position, 'tool', c.tool, 'args', c.args, 'edited', c.edited, 'effect', c.effect,
    'status', c.status, 'waitsFor', c.waits_for, 'output', c.output, 'error', c.error, 'attempt', c.attempt, 'epoch', c.epoch)
$$;

-- As before (0010), and notes and tells of changed arguments.
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

-- As before (0002); the result of a call whose arguments were changed says so.
create or replace function troupe.close_calls(p_run uuid, p_thread uuid, p_status text, p_code text, p_text text, p_by text) returns void language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  closed jsonb; problem jsonb := jsonb_build_object('code', p_code, 'message', p_text);
begin
  with c as (
    update troupe.tool_calls t set status = p_status::troupe.call_status, error = problem, waits_for = null, deadline = null, settled_at = now(), settled_by = p_by
    where t.run_id = p_run and (t.status in ('requested', 'running') or t.status = 'in_doubt' and t.waits_for is not null)
    returning t.call_id, t.step, t.position, t.edited, t.args
  )
  select jsonb_agg(jsonb_build_object('id', call_id, 'step', step, 'calledWith', case when edited then args end) order by position) into closed from c;
  if closed is not null then
    perform troupe.append(p_thread, p_run,
      (select jsonb_agg(jsonb_build_object('role', 'tool_result', 'callId', c->>'id', 'step', c->'step',
        'content', jsonb_build_object('result', null, 'error', problem)
          || case when c->>'calledWith' is null then '{}' else jsonb_build_object('calledWith', c->'calledWith') end)) from jsonb_array_elements(closed) c),
      (select jsonb_agg(jsonb_build_object('type', 'tool.failed', 'message', k - 1, 'step', c->'step',
        'data', jsonb_build_object('id', c->'id', 'status', p_status, 'code', p_code))) from jsonb_array_elements(closed) with ordinality x(c, k)));
  end if;
end $$;

-- As before (0010); the same.
create or replace function troupe.expire(p_limit int) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; r record; c record; left_open int; over boolean; expired int := 0; canceled int := 0; queued int := 0;
begin
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.status in ('waiting_tool', 'waiting_reply') and x.wait_deadline <= now()
    order by x.wait_deadline limit p_limit for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return jsonb_build_object('runs', 0);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids)) order by t.id for no key update;
  for r in select x.id, x.thread_id, x.status, x.deadline_at from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    over := r.deadline_at <= now();
    if over then
      perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
      canceled := canceled + 1;
      continue;
    end if;
    for c in update troupe.tool_calls x set status = 'expired', waits_for = null, deadline = null, settled_at = now(),
        error = jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
      where x.run_id = r.id and x.waits_for is not null and x.deadline <= now() returning x.call_id, x.step, x.error, x.edited, x.args loop
      perform troupe.append(r.thread_id, r.id,
        jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', c.call_id, 'step', c.step,
          'content', jsonb_build_object('result', null, 'error', c.error)
            || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
        jsonb_build_array(jsonb_build_object('type', 'tool.failed', 'message', 0, 'step', c.step,
          'data', jsonb_build_object('id', c.call_id, 'status', 'expired', 'code', 'expired'))));
      expired := expired + 1;
    end loop;
    select count(*) into left_open from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null;
    update troupe.runs x set open_calls = left_open,
      status = case when left_open = 0 then 'queued'::troupe.run_status else x.status end,
      run_at = case when left_open = 0 then now() else x.run_at end,
      wait_state = case when left_open = 0 then null else x.wait_state end,
      wait_deadline = case when left_open = 0 then null else least(x.deadline_at,
        (select min(o.deadline) from troupe.tool_calls o where o.run_id = x.id and o.waits_for is not null)) end,
      updated_at = now()
      where x.id = r.id;
    if left_open = 0 then
      queued := queued + 1;
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
    end if;
  end loop;
  return jsonb_build_object('runs', cardinality(ids), 'expired', expired, 'canceled', canceled, 'queued', queued);
end $$;
