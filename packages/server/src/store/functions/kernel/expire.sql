-- Sweeps waiting runs whose deadline passed. Expired calls end and the run continues with the other results; a run
-- whose wall time is over is canceled. Runs that another transaction is settling are skipped. A door can complete its
-- calls instead, in a trigger that sets status and output.
-- Locks: the runs (skipping locked ones), the threads that watch them by id, their threads by id.
-- Called by: store/queries/outside.ts.
create or replace function troupe.expire(p_limit int) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  ids uuid[]; r record; c record; left_open int; over boolean; replies boolean; expired int := 0; canceled int := 0;
  queued int := 0;
begin
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.status in ('waiting_tool', 'waiting_reply') and x.wait_deadline <= now()
    order by x.wait_deadline limit p_limit for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return jsonb_build_object('runs', 0);
  end if;
  if exists (select from troupe.runs x where x.id = any(ids) and x.watchers is not null) then
    perform troupe.lock_watchers(ids, null);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids))
    order by t.id for no key update;
  for r in select x.id, x.thread_id, x.status, x.deadline_at from troupe.runs x where x.id = any(ids)
    order by x.thread_id, x.id loop
    over := r.deadline_at <= now();
    if over then
      perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
      canceled := canceled + 1;
      continue;
    end if;
    for c in update troupe.tool_calls x set status = 'expired', waits_for = null, deadline = null, settled_at = now(),
        error = jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
      where x.run_id = r.id and x.waits_for is not null and x.deadline <= now() returning x.call_id, x.step, x.status,
        case when x.status = 'completed' then x.output end as output, x.error,
        case when x.status = 'completed' then x.settled_by end as settler, x.edited, x.args loop
      perform troupe.append(r.thread_id, r.id,
        jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', c.call_id, 'step', c.step,
          'content', jsonb_build_object('result', c.output, 'error', c.error)
            || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
        jsonb_build_array(troupe.result_created(0, c.step), jsonb_build_object('type',
          case c.status when 'completed' then 'tool.completed' else 'tool.failed' end, 'message', 0, 'step', c.step,
          'data', jsonb_strip_nulls(jsonb_build_object('id', c.call_id, 'status', c.status, 'code', c.error->'code',
            'by', c.settler)))));
      expired := expired + 1;
    end loop;
    select count(*) into left_open from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null;
    replies := left_open > 0 and r.status = 'waiting_tool' and not exists (
      select from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null and x.waits_for <> 'reply');
    update troupe.runs x set open_calls = left_open,
      status = case when left_open = 0 then 'queued'::troupe.run_status when replies then 'waiting_reply'
        else x.status end,
      run_at = case when left_open = 0 then now() else x.run_at end,
      wait_state = case when left_open = 0 then null else x.wait_state end,
      wait_deadline = case when left_open = 0 then null else least(x.deadline_at,
        (select min(o.deadline) from troupe.tool_calls o where o.run_id = x.id and o.waits_for is not null)) end,
      updated_at = now()
      where x.id = r.id;
    if left_open = 0 then
      queued := queued + 1;
      perform troupe.append(r.thread_id, r.id, null,
        jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
    elsif replies then
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type',
        'run.waiting_reply')));
    end if;
  end loop;
  return jsonb_build_object('runs', cardinality(ids), 'expired', expired, 'canceled', canceled, 'queued', queued);
end $$;
