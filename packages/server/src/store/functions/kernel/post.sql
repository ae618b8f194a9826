-- Posts a message to a serial thread that may be busy. item is that of troupe.start, with policy:
-- queue|steer|interrupt|reject.
-- Locks: the advisory lock of the thread's posts and the active run (unless the policy is queue), its head (interrupt),
-- the thread.
-- Called by: store/queries/start.ts.
create or replace function troupe.post(item jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  thread uuid := (item->>'thread')::uuid; policy text := item->>'policy'; active uuid; r troupe.runs; now_active uuid;
  message jsonb := item->'message';
  stored troupe.messages; seq bigint;
begin
  if item ? 'createThread' then
    insert into troupe.threads (id, project_id, kind) values (thread, (item->>'project')::uuid,
      (item->>'createThread')::troupe.thread_kind) on conflict do nothing;
  end if;
  -- The active run is locked before the thread, so it is read before both locks. Posts that depend on it are
  -- serialised; only the end of the run can still come between.
  if policy <> 'queue' then
    perform pg_advisory_xact_lock(hashtextextended('troupe.post:' || thread::text, 0));
    select t.active_run_id into active from troupe.threads t where t.id = thread
      and t.project_id = (item->>'project')::uuid;
    select * into r from troupe.runs x where x.id = active for no key update;
    if policy = 'interrupt' then
      perform 1 from troupe.run_heads h where h.run_id = active for no key update;
    end if;
  end if;
  select t.active_run_id into now_active from troupe.threads t where t.id = thread
    and t.project_id = (item->>'project')::uuid for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'thread_not_found');
  end if;
  select * into stored from troupe.messages m where m.id = (message->>'id')::uuid;
  if stored.thread_id <> thread then
    return jsonb_build_object('ok', false, 'code', 'message_id_taken');
  elsif stored.id is not null then
    return jsonb_build_object('ok', true, 'outcome', 'duplicate', 'thread', thread, 'seq', stored.seq,
      'run', stored.run_id,
      'started', (select x.id from troupe.runs x where x.entity_id = (item->'run'->>'entity')::uuid
        and x.trigger_message_id = stored.id));
  end if;
  if policy <> 'queue' then
    if now_active is distinct from active then
      raise exception 'the active run of the thread changed' using errcode = '40001';
    end if;
    if active is not null then
      if policy = 'reject' then
        return jsonb_build_object('ok', false, 'code', 'busy', 'run', active);
      elsif policy = 'steer' then
        begin
          seq := 1 + troupe.append(thread, active, jsonb_build_array(message),
            jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0,
              'data', jsonb_build_object('id', message->'id', 'role', message->'role'))));
        exception when unique_violation then
          -- Another thread stored a message with this id since it was looked for.
          return jsonb_build_object('ok', false, 'code', 'message_id_taken');
        end;
        update troupe.runs x set steers = x.steers + 1, updated_at = now() where x.id = active;
        return jsonb_build_object('ok', true, 'outcome', 'steered', 'thread', thread, 'seq', seq, 'run', active,
          'worker', r.worker_id, 'createdAt', now());
      end if;
      perform troupe.end_run(active, 'superseded', item->>'by', null, 'run.canceled');
      return (troupe.start(jsonb_build_array(item))->0)
        || jsonb_build_object('outcome', 'interrupted', 'canceled', active, 'worker', r.worker_id);
    end if;
  end if;
  return (troupe.start(jsonb_build_array(item))->0) || jsonb_build_object('outcome', 'started');
end $$;
