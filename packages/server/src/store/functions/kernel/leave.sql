-- Writes the row of a run after a commit in which it may have ended, parked or been released. p_leave: see commit.
-- Returns openCalls, steers, whether the next run of a serial thread was promoted and, if the run goes on, the calls
-- that are ready.
-- Locks: the budget that the run is about to wait for. The caller holds the run, its head and its thread.
-- Called by: troupe.commit.
create or replace function troupe.leave(p_run uuid, p_thread uuid, p_mode text, p_leave jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r record; promoted boolean := false; target text := p_leave->>'target';
  delay interval := make_interval(secs => (p_leave->>'delayMs')::float8 / 1000);
begin
  -- A budget raised since it was exhausted: the next sweep queues the run again.
  if p_mode = 'parked' and p_leave->'waitState' ? 'budget' then
    perform 1 from troupe.budgets b where b.id = (p_leave->'waitState'->>'budget')::uuid for share;
    perform 1 from troupe.budgets b where b.id = (p_leave->'waitState'->>'budget')::uuid
      and b.amount > (p_leave->'waitState'->>'amount')::bigint;
    if found then
      delay := '0';
    end if;
  end if;
  update troupe.runs x set
    step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens, cost = h.cost,
    -- A step since the row was last written resets both counters.
    takeovers = case when h.step > x.step then 0 else x.takeovers end,
    attempt = coalesce((p_leave->>'attempt')::int, case when h.step > x.step then 0 else x.attempt end),
    model_index = coalesce((p_leave->>'model')::int, x.model_index),
    open_calls = case when p_mode = 'ended' then 0 else x.open_calls + (p_leave->>'outside')::int end,
    status = case p_mode when 'go' then 'running' when 'parked' then case when target is null and not exists (
        select from troupe.tool_calls c where c.run_id = p_run and c.waits_for <> 'reply')
      then 'waiting_reply' else 'waiting_tool' end else target end::troupe.run_status,
    worker_id = case when p_mode = 'go' then x.worker_id end,
    run_at = case when p_mode = 'released' then now() + coalesce(delay, '0') else x.run_at end,
    wait_state = case when p_mode = 'parked' then p_leave->'waitState' end,
    wait_deadline = case when p_mode = 'parked' then least(x.deadline_at, now() + delay,
      (select min(c.deadline) from troupe.tool_calls c where c.run_id = p_run and c.waits_for is not null)) end,
    outcome = case when p_mode = 'ended' then p_leave->'outcome' else x.outcome end,
    error = case when p_leave ? 'error' then p_leave->'error' when p_mode = 'ended' then null else x.error end,
    cancel_reason = case when p_mode = 'ended' then (p_leave->>'cancelReason')::troupe.cancel_reason end,
    completed_at = case when p_mode = 'ended' and target <> 'canceled' then now() end,
    canceled_at = case when p_mode = 'ended' and target = 'canceled' then now() end,
    updated_at = now()
  from troupe.run_heads h where x.id = p_run and h.run_id = p_run returning x.serial, x.open_calls, x.steers into r;
  if r.serial and p_mode = 'ended' then
    if exists (select from troupe.runs w where w.thread_id = p_thread and w.status = 'queued' and not w.ready) then
      promoted := troupe.promote(p_thread, p_run);
    end if;
    if target = 'failed' and not promoted then
      update troupe.threads t set failed_run_id = p_run where t.id = p_thread and t.active_run_id is null;
    end if;
  end if;
  return jsonb_build_object('openCalls', r.open_calls, 'steers', r.steers, 'promoted', promoted)
    || case when p_mode = 'go' and p_leave ? 'park' then jsonb_build_object('ready', (
      select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
      where c.run_id = p_run and c.status = 'requested' and c.waits_for is null)) else '{}' end;
end $$;
