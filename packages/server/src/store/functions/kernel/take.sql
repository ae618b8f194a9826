-- Takes runs for a worker and returns all that it needs: the row, the tail of the thread, the ledger with arguments of
-- open calls; at most 64 MB for several runs (TR005). p_error: without tail and ledger, for the worker to fail it.
-- Locks: the heads by id, the threads by id. The caller holds the runs and the threads that watch them.
-- Called by: troupe.claim.
create or replace function troupe.take(p_ids uuid[], p_worker uuid, p_start_events jsonb, p_error jsonb) returns jsonb[]
  language plpgsql as $$
declare
  taken jsonb[]; got record; first boolean; started jsonb; thinks boolean; told int; base bigint; last_seq bigint;
begin
  -- A head ahead of its row belongs to a worker that died: its progress is taken over.
  update troupe.runs r set status = 'running', epoch = r.epoch + 1, worker_id = p_worker, wait_state = null,
    step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens),
    output_tokens = coalesce(h.output_tokens, r.output_tokens),
    cost = coalesce(h.cost, r.cost), attempt = case when h.step > r.step then 0 else r.attempt end,
    started_at = coalesce(r.started_at, now()),
    deadline_at = coalesce(r.deadline_at, now() + make_interval(secs => r.wall_ms::float8 / 1000)), updated_at = now()
  from unnest(p_ids) x(id) left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  insert into troupe.run_heads as h (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
    select r.id, p_worker, r.epoch, 1, r.step, r.input_tokens, r.output_tokens, r.cost from troupe.runs r
      where r.id = any(p_ids) order by r.id
    on conflict (run_id) do update set worker_id = excluded.worker_id, epoch = excluded.epoch, version = h.version + 1,
      step = excluded.step;
  -- Write the events and return the runs.
  for got in select x.*, h.version from troupe.runs x join troupe.run_heads h on h.run_id = x.id where x.id = any(p_ids)
    order by x.thread_id, x.id loop
    first := got.started_at = now();
    -- Its wall time begins now: the run is new or retried.
    started := case when got.deadline_at = now() + make_interval(secs => got.wall_ms::float8 / 1000)
      then coalesce(p_start_events->got.door, '[]') else '[]' end;
    thinks := got.step = 0 or not exists (select from troupe.tool_calls c where c.run_id = got.id
      and c.status in ('running', 'requested'));
    told := 1 + jsonb_array_length(started) + thinks::int;
    update troupe.threads t set last_event_seq = t.last_event_seq + told where t.id = got.thread_id
      returning t.last_event_seq - told, t.last_message_seq into base, last_seq;
    insert into troupe.event_batches (thread_id, last_seq, run_id, entries) values (got.thread_id, base + told, got.id,
      (jsonb_build_array(case when first then '["run.started"]'::jsonb
          else jsonb_build_array('run.resumed', jsonb_build_object('epoch', got.epoch)) end)
        || (select coalesce(jsonb_agg(jsonb_build_array(t)), '[]') from jsonb_array_elements(started) t)
        || case when thinks then jsonb_build_array(jsonb_build_array('step.started', null, null, got.step + 1))
          else '[]' end)::json);
    taken := taken || (jsonb_build_object('id', got.id, 'projectId', got.project_id, 'door', got.door,
        'agentId', got.agent_id, 'entityId', got.entity_id, 'snapshotId', got.snapshot_id, 'threadId', got.thread_id,
        'parentRunId', got.parent_run_id, 'rootRunId', got.root_run_id, 'triggerType', got.trigger_type,
        'triggerMessageId', got.trigger_message_id, 'triggerSeq', got.trigger_seq, 'trigger', got.trigger,
        'chainDepth', got.chain_depth, 'serial', got.serial, 'status', got.status, 'step', got.step,
        'epoch', got.epoch, 'version', got.version, 'attempt', got.attempt, 'modelIndex', got.model_index,
        'takeovers', got.takeovers, 'openCalls', got.open_calls, 'steers', got.steers, 'waitState', got.wait_state,
        'remainingMs', extract(epoch from got.deadline_at - clock_timestamp()) * 1000,
        'inputTokens', got.input_tokens, 'outputTokens', got.output_tokens, 'cost', got.cost, 'lives', got.lives,
        'budgetIds', got.budget_ids, 'metadata', got.metadata, 'lastSeq', last_seq, 'spaceId', got.space_id)
      || case when p_error is not null then jsonb_build_object('messages', '[]'::jsonb, 'calls', '[]'::jsonb,
        'unclaimable', p_error) else jsonb_build_object(
        'messages', troupe.tail(got.thread_id, got.id, coalesce(got.trigger_seq, last_seq), got.history_limit),
        'calls', case when got.step = 0 then '[]' else (
          select coalesce(jsonb_agg(troupe.call_json(c) - case when c.status in ('requested', 'running')
            then '{}'::text[] else '{args,output,error}' end order by c.step, c.position), '[]')
          from troupe.tool_calls c where c.run_id = got.id) end) end);
    if pg_column_size(taken) > 67108864 and cardinality(p_ids) > 1 then
      raise 'troupe.take: too many bytes' using errcode = 'TR005';
    end if;
  end loop;
  return taken;
end $$;
