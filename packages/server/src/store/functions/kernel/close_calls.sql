-- Ends every open call of a run. Each call gets a result message, so that the history stays complete.
-- Locks: the calls. The caller holds the run, its head and its thread.
-- Called by: troupe.commit, troupe.end_run.
create or replace function troupe.close_calls(p_run uuid, p_thread uuid, p_status text, p_code text, p_text text,
  p_by text) returns void language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  closed jsonb; problem jsonb := jsonb_build_object('code', p_code, 'message', p_text);
begin
  with c as (
    update troupe.tool_calls t set status = p_status::troupe.call_status, error = problem, waits_for = null,
      deadline = null, settled_at = now(), settled_by = p_by
    where t.run_id = p_run and (t.status in ('requested', 'running') or t.status = 'in_doubt'
      and t.waits_for is not null)
    returning t.call_id, t.step, t.position, t.edited, t.args
  )
  select jsonb_agg(jsonb_build_object('id', call_id, 'step', step, 'calledWith', case when edited then args end)
    order by position) into closed from c;
  if closed is not null then
    perform troupe.append(p_thread, p_run,
      (select jsonb_agg(jsonb_build_object('role', 'tool_result', 'callId', c->>'id', 'step', c->'step',
        'content', jsonb_build_object('result', null, 'error', problem)
          || case when c->>'calledWith' is null then '{}' else jsonb_build_object('calledWith', c->'calledWith') end))
            from jsonb_array_elements(closed) c),
      (select jsonb_agg(e order by k, n) from jsonb_array_elements(closed) with ordinality x(c, k)
        cross join lateral (values (1, troupe.result_created((k - 1)::int, (c->>'step')::int)),
          (2, jsonb_build_object('type', 'tool.failed', 'message', k - 1, 'step', c->'step',
            'data', jsonb_build_object('id', c->'id', 'status', p_status, 'code', p_code)))) y(n, e)));
  end if;
end $$;
