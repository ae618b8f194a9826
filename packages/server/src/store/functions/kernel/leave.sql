-- Writes the rows of runs after a commit in which they may have ended, parked or been released. p_leave: see commit.
-- Returns, by number of the item, its mode, openCalls, steers, whether the next run of a serial thread was promoted
-- and, if the run goes on, the calls that are ready.
-- Locks: the budgets that runs are about to wait for. The caller holds the runs, their heads and their threads.
-- Called by: troupe.commit.
create or replace function troupe.leave(p_run uuid[], p_thread uuid[], p_modes text[], p_leave jsonb, p_refused int[])
returns jsonb language plpgsql as $$
declare
  n constant int := cardinality(p_run);
  r record; raised int[]; promoted boolean; answer jsonb := '{}';
begin
  -- A budget raised since it was exhausted: the next sweep queues the run again.
  if p_leave @? '$[*].waitState.budget' then
    for r in select (v->>'item')::int as i, b.amount > (v->'waitState'->>'amount')::bigint as more
      from jsonb_array_elements(p_leave) v join troupe.budgets b on b.id = (v->'waitState'->>'budget')::uuid
      order by b.id for share of b loop
      if r.more then
        raised := raised || r.i;
      end if;
    end loop;
  end if;
  for r in
    update troupe.runs x set
      step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens, cost = h.cost,
      -- A step since the row was last written resets both counters.
      takeovers = case when h.step > x.step then 0 else x.takeovers end,
      attempt = coalesce((v->>'attempt')::int, case when h.step > x.step then 0 else x.attempt end),
      model_index = coalesce((v->>'model')::int, x.model_index),
      open_calls = case when y.mode = 'ended' then 0 else x.open_calls + (v->>'outside')::int end,
      status = case y.mode when 'go' then 'running' when 'parked' then case when not v ? 'target' and not exists (
          select from troupe.tool_calls c where c.run_id = x.id and c.waits_for <> 'reply')
        then 'waiting_reply' else 'waiting_tool' end else v->>'target' end::troupe.run_status,
      worker_id = case when y.mode = 'go' then x.worker_id end,
      run_at = case when y.mode = 'released' then now() + coalesce(y.delay, '0') else x.run_at end,
      wait_state = case when y.mode = 'parked' then v->'waitState' end,
      wait_deadline = case when y.mode = 'parked' then least(x.deadline_at, now() + y.delay,
        (select min(c.deadline) from troupe.tool_calls c where c.run_id = x.id and c.waits_for is not null)) end,
      outcome = case when y.mode = 'ended' then v->'outcome' else x.outcome end,
      error = case when v ? 'error' then v->'error' when y.mode = 'ended' then null else x.error end,
      cancel_reason = case when y.mode = 'ended' then (v->>'cancelReason')::troupe.cancel_reason end,
      completed_at = case when y.mode = 'ended' and v->>'target' <> 'canceled' then now() end,
      canceled_at = case when y.mode = 'ended' and v->>'target' = 'canceled' then now() end,
      updated_at = now(), xid = troupe.stamp()
    from jsonb_array_elements(p_leave) v, lateral (select (v->>'item')::int as i) z,
      lateral (select p_modes[z.i] as mode, case when z.i = any(raised) then '0'
        else make_interval(secs => (v->>'delayMs')::float8 / 1000) end as delay) y, troupe.run_heads h
    where z.i between 1 and n and x.id = p_run[z.i] and h.run_id = p_run[z.i]
      and (p_refused is null or z.i <> all(p_refused))
    returning z.i, y.mode, v->>'target' as target, v ? 'park' as parks, x.open_calls, x.steers,
      x.serial and y.mode = 'ended' as over
  loop
    promoted := false;
    if r.over then
      if exists (select from troupe.runs w where w.thread_id = p_thread[r.i] and w.status = 'queued' and not w.ready)
      then
        promoted := troupe.promote(p_thread[r.i], p_run[r.i]);
      end if;
      if r.target = 'failed' and not promoted then
        update troupe.threads t set failed_run_id = p_run[r.i] where t.id = p_thread[r.i] and t.active_run_id is null;
      end if;
    end if;
    answer := answer || jsonb_build_object(r.i, jsonb_build_object('mode', r.mode, 'openCalls', r.open_calls, 'steers',
        r.steers, 'promoted', promoted)
      || case when r.mode = 'go' and r.parks then jsonb_build_object('ready', (
        select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
        where c.run_id = p_run[r.i] and c.status = 'requested' and c.waits_for is null)) else '{}' end);
  end loop;
  if p_refused is not null then
    perform troupe.pass(x) from jsonb_array_elements(p_leave) v, troupe.runs x
      where (v->>'item')::int = any(p_refused) and x.id = p_run[(v->>'item')::int];
  end if;
  return answer;
end $$;
