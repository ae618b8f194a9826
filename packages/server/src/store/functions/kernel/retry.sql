-- Queues a failed or canceled run again; it continues from its last step. p_with has the snapshot, limits and model to
-- continue with; null keeps those of the run. The effect is recorded with the key of its request, { key, attempt }.
-- Doors refuse in a trigger that raises TR004, with the code as message.
-- Locks: the run, the key of the request, the thread, the runs that wait for their turn in it (skipping locked ones).
-- Called by: store/queries/outside.ts.
create or replace function troupe.retry(p_run uuid, p_with jsonb default null) returns jsonb language plpgsql as $$
declare
  r troupe.runs; active uuid; is_ready boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status not in ('failed', 'canceled') or r.cancel_reason = 'absorbed' then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'run_not_retryable', 'status', r.status, 'reason', r.cancel_reason);
  elsif r.step > 0 and not exists (select from troupe.run_steps s where s.run_id = p_run)
    and exists (select from troupe.threads t where t.id = r.thread_id and t.kind = 'run') then
    return jsonb_build_object('ok', false, 'code', 'run_purged', 'status', r.status);
  end if;
  if p_with ? 'request' then
    update troupe.idempotency_keys k
    set body = k.body || jsonb_build_object('effect', jsonb_build_object('target', p_run))
    where k.project_id = r.project_id and k.key = p_with->'request'->>'key' and k.status is null
      and k.body->>'attempt' = p_with->'request'->>'attempt';
    if not found then
      return jsonb_build_object('ok', false, 'code', 'request_taken_over', 'status', r.status);
    end if;
  end if;
  select t.active_run_id into active from troupe.threads t where t.id = r.thread_id for no key update;
  is_ready := not r.serial or active is null;
  -- A row of waiting triggers may include one that was answered.
  update troupe.runs x set queued_from = null where x.id in (select y.id from troupe.runs y
    where y.thread_id = r.thread_id and y.status = 'queued' and not y.ready for no key update skip locked);
  update troupe.runs x set status = 'queued', ready = is_ready, run_at = now(), attempt = 0, model_index = 0,
    takeovers = 0, error = null, outcome = null, queued_from = null,
    cancel_reason = null, completed_at = null, canceled_at = null, deadline_at = null, updated_at = now(),
    snapshot_id = coalesce((p_with->>'snapshot')::uuid, x.snapshot_id), wall_ms = coalesce((p_with->>'wallMs')::bigint,
      x.wall_ms),
    history_limit = coalesce((p_with->>'historyLimit')::int, x.history_limit),
    metadata = x.metadata || case when p_with ? 'modelId' then jsonb_build_object('modelId', p_with->'modelId')
      else '{}' end
  where x.id = p_run;
  if r.serial and is_ready then
    update troupe.threads t set active_run_id = p_run, failed_run_id = null where t.id = r.thread_id;
  end if;
  perform troupe.append(r.thread_id, p_run, null,
    jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('retry', true))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', r.thread_id, 'ready', is_ready);
exception when sqlstate 'TR004' then
  return jsonb_build_object('ok', false, 'code', sqlerrm, 'status', r.status);
end $$;
