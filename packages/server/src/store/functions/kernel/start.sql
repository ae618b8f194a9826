-- A start that comes again while its run is being taken waited for the taker, which waited for the thread that the
-- start has: a deadlock.
create or replace function troupe.start(item jsonb)
returns jsonb language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  thread uuid := (item->>'thread')::uuid;
  message jsonb := item->'message';
  message_id uuid := (item->'message'->>'id')::uuid;
  run jsonb := item->'run';
  new_run uuid := (item->'run'->>'id')::uuid;
  v_entity uuid := (item->'run'->>'entity')::uuid;
  active uuid; failed uuid; message_base bigint; event_base bigint; message_seq bigint; existing uuid; serial boolean;
  is_ready boolean := true; made boolean := false;
  found_in uuid; messages int := 0; events int := 0; taker uuid; started jsonb := '[]'; window_from bigint; absent text;
begin
  -- Before looking: whoever deletes what the run names waits for this start, or this one waits and finds it gone
  -- (keep_used).
  lock table troupe.runs in row exclusive mode;
  if run is not null then
    absent := troupe.missing_for((item->>'project')::uuid, (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid,
      (run->>'parent')::uuid);
  elsif not exists (select from troupe.projects p where p.id = (item->>'project')::uuid) then
    absent := 'project';
  end if;
  if absent is not null then
    raise exception 'the project has no such %', absent using errcode = 'foreign_key_violation';
  end if;
  -- 1. The thread, and its lock.
  if item ? 'createThread' then
    insert into troupe.threads as t (id, project_id, kind)
      values (thread, (item->>'project')::uuid, (item->>'createThread')::troupe.thread_kind)
      on conflict do nothing;
    made := found;
  end if;
  if made then
    message_base := 0; event_base := 0;
  else
    select t.active_run_id, t.failed_run_id, t.last_message_seq, t.last_event_seq into active, failed, message_base,
      event_base from troupe.threads t
      where t.id = thread and t.project_id = (item->>'project')::uuid for update;
    if not found then
      return jsonb_build_object('ok', false, 'code', 'thread_not_found');
    end if;
  end if;
  -- 2. The message: where it is there already, only what is missing of the rest is done.
  if message is not null then
    select m.seq, m.thread_id into message_seq, found_in from troupe.messages m where m.id = message_id;
    if found_in <> thread then
      -- The same start may come again with another name for the thread that it makes.
      if made then
        delete from troupe.threads t where t.id = thread;
        select r.id, r.thread_id into existing, thread from troupe.runs r
          where r.thread_id = found_in and (r.id = new_run or r.entity_id = v_entity
            and r.trigger_message_id = message_id);
        if existing is not null then
          return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate',
            true);
        end if;
      end if;
      return jsonb_build_object('ok', false, 'code', 'message_id_taken');
    elsif found_in is not null then
      message := null;
    else
      message_seq := message_base + 1; messages := 1; events := 1;
    end if;
  end if;
  -- 3. The run. Where it is there already it is found by a look, which waits for nobody: an insert that meets it would
  -- wait for whoever is changing it
  -- just then, and `claim` does so before it asks for this thread.
  if run is not null and messages = 0 then
    select r.id, r.thread_id into existing, found_in from troupe.runs r where r.id = new_run;
    if existing is null then
      select r.id, r.thread_id into existing, found_in from troupe.runs r where r.entity_id = v_entity
        and r.trigger_message_id = message_id;
    end if;
    if existing is not null then
      if made then
        delete from troupe.threads t where t.id = thread;
      elsif found_in <> thread then
        return jsonb_build_object('ok', false, 'code', 'message_id_taken');
      end if;
      return jsonb_build_object('ok', true, 'run', existing, 'thread', found_in, 'seq', message_seq, 'duplicate', true);
    end if;
  end if;
  if run is not null then
    serial := coalesce((run->>'serial')::boolean, false);
    is_ready := not serial or active is null;
    if failed is not null and messages = 1 and item ? 'unlessFailed' then
      return jsonb_build_object('ok', false, 'code', 'thread_failed', 'run', failed);
    end if;
    if item ? 'claim' and is_ready and not run ? 'lane' and not run ? 'delayMs' then
      taker := (item->'claim'->>'worker')::uuid; started := item->'claim'->'events';
    end if;
    insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id,
      root_run_id,
      trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, lane, lane_limit, run_at,
        wall_ms, history_limit, budget_ids, metadata,
      status, epoch, worker_id, started_at, deadline_at)
    values (new_run, (item->>'project')::uuid, run->>'door', (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid,
      thread,
      (run->>'parent')::uuid, coalesce((run->>'root')::uuid, new_run), run->>'triggerType', message_id, message_seq,
      coalesce(run->'trigger', '{}'), coalesce((run->>'chainDepth')::int, 0), serial, is_ready, run->>'lane',
        (run->>'laneLimit')::int,
      now() + make_interval(secs => coalesce((run->>'delayMs')::float8, 0) / 1000), (run->>'wallMs')::bigint,
      coalesce((run->>'historyLimit')::int, 50),
      case when run ? 'budgets' then array(select value::uuid from jsonb_array_elements_text(run->'budgets')) end,
      coalesce(run->'metadata', '{}'),
      case when taker is null then 'queued'::troupe.run_status else 'running' end, case when taker is null then 0
        else 1 end, taker,
      case when taker is not null then now() end,
      case when taker is not null then now() + make_interval(secs => (run->>'wallMs')::float8 / 1000) end)
    on conflict do nothing;
    if not found then
      -- The same message for the same entity by another way, since we looked.
      if made then
        delete from troupe.threads t where t.id = thread;
      end if;
      select r.id, r.thread_id into existing, thread from troupe.runs r where r.id = new_run;
      if existing is null then
        select r.id, r.thread_id into existing, thread from troupe.runs r where r.entity_id = v_entity
          and r.trigger_message_id = message_id;
      end if;
      -- By another thread, since we looked.
      if not made and thread <> (item->>'thread')::uuid then
        return jsonb_build_object('ok', false, 'code', 'message_id_taken');
      end if;
      return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate', true);
    end if;
    events := events + case when taker is null then 1 else 3 + jsonb_array_length(started) end;
  end if;
  -- 4. What is said and told.
  update troupe.threads t set last_message_seq = message_base + messages, last_event_seq = event_base + events,
    active_run_id = case when serial and is_ready then new_run else t.active_run_id end,
    failed_run_id = case when serial then null else t.failed_run_id end where t.id = thread;
  if messages = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
      values (thread, message_seq, message_id, (message->>'role')::troupe.message_role, message->'content',
        message->>'callId',
        (message->>'sender')::uuid, (message->>'run')::uuid, (message->>'step')::int, message->'metadata');
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id)
      values (thread, event_base + 1, 'message.created', jsonb_build_object('id', message_id, 'role', message->'role'),
        message_seq, new_run);
  end if;
  if run is not null then
    event_base := event_base + messages;
    insert into troupe.events (thread_id, seq, type, run_id) values (thread, event_base + 1, 'run.queued', new_run);
  end if;
  if taker is not null then
    insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
      values (new_run, taker, 1, 1, 0, 0, 0, 0);
    insert into troupe.events (thread_id, seq, type, run_id, step) values
      (thread, event_base + 2, 'run.started', new_run, null), (thread, event_base + 3 + jsonb_array_length(started),
        'step.started', new_run, 1);
    for k in 1 .. jsonb_array_length(started) loop
      insert into troupe.events (thread_id, seq, type, run_id) values (thread, event_base + 2 + k, started->>(k - 1),
        new_run);
    end loop;
    window_from := coalesce(message_seq, message_base) - coalesce((run->>'historyLimit')::int, 50);
    return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', true,
      'duplicate', false, 'createdAt', now(),
      'lastSeq', message_base + messages,
      'claimed', case when made and messages = 1 then null else (
        select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = thread and m.seq > window_from) end);
  end if;
  return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', is_ready,
    'duplicate', run is null and messages = 0, 'createdAt', now());
end $$;
