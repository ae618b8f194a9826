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
