-- Writes the row of a run that ends, waits, goes back to the queue, or stays although it might have left. The caller
-- holds all locks.
create or replace function troupe.leave(p_run uuid, p_thread uuid, p_mode text, p_attempt int, p_model int,
  p_outside int, p_target text,
  p_extra jsonb) returns boolean
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  is_serial boolean; promoted boolean; delay interval := make_interval(secs => (p_extra->>'delayMs')::float8 / 1000);
begin
  -- The budget that a run is about to wait for was raised meanwhile: the next sweep has it ask again.
  if p_mode = 'parked' and p_extra->'waitState' ? 'budget' then
    perform 1 from troupe.budgets b where b.id = (p_extra->'waitState'->>'budget')::uuid for share;
    perform 1 from troupe.budgets b where b.id = (p_extra->'waitState'->>'budget')::uuid
      and b.amount > (p_extra->'waitState'->>'amount')::bigint;
    if found then
      delay := '0';
    end if;
  end if;
  update troupe.runs r set
    step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens, cost = h.cost,
    -- A head that is ahead has taken a step since: both count from there.
    takeovers = case when h.step > r.step then 0 else r.takeovers end,
    attempt = coalesce(p_attempt, case when h.step > r.step then 0 else r.attempt end),
    model_index = coalesce(p_model, r.model_index),
    open_calls = case when p_mode = 'ended' then 0 else r.open_calls + p_outside end,
    status = case p_mode when 'parked' then case when p_target is null and not exists (
        select from troupe.tool_calls c where c.run_id = p_run and c.waits_for is not null and c.waits_for <> 'reply')
          then 'waiting_reply' else 'waiting_tool' end
      when 'go' then 'running' else p_target end::troupe.run_status,
    worker_id = case when p_mode = 'go' then r.worker_id end,
    run_at = case when p_mode = 'released' then now() + coalesce(delay, '0') else r.run_at end,
    wait_state = case when p_mode = 'parked' then p_extra->'waitState' end,
    wait_deadline = case when p_mode = 'parked' then least(r.deadline_at, now() + delay,
      (select min(c.deadline) from troupe.tool_calls c where c.run_id = r.id and c.waits_for is not null)) end,
    outcome = case when p_mode = 'ended' then p_extra->'outcome' else r.outcome end,
    error = case when p_extra ? 'error' then p_extra->'error' when p_mode = 'ended' then null else r.error end,
    cancel_reason = case when p_mode = 'ended' then (p_extra->>'cancelReason')::troupe.cancel_reason end,
    completed_at = case when p_mode = 'ended' and p_target <> 'canceled' then now() end,
    canceled_at = case when p_mode = 'ended' and p_target = 'canceled' then now() end,
    updated_at = now()
  from troupe.run_heads h where r.id = p_run and h.run_id = p_run returning r.serial into is_serial;
  -- Let the next run of a serial thread in; true where there was one.
  promoted := is_serial and p_mode = 'ended' and troupe.promote(p_thread, p_run);
  if is_serial and p_mode = 'ended' and p_target = 'failed' and not promoted then
    update troupe.threads t set failed_run_id = p_run where t.id = p_thread and t.active_run_id is null;
  end if;
  return promoted;
end $$;
