-- Starts runs: the message and the run that it triggers, for each item, in one transaction. A start that is repeated
-- finds what it did before. items: [{project, thread, createThread?, unlessFailed?, message?, run?, claim?: {worker,
-- events}}]; `claim` takes the run at once if it is ready. Returns a verdict for each item, in order.
-- Locks: table runs (row exclusive), so that a delete of a row that a run names waits for this start, or this start
-- waits and finds the row gone (keep_used); then threads by id.
-- Called by: troupe.begin_child, troupe.fire_plan, troupe.post, troupe.start_task_run, troupe.tell_giver,
--   store/queries/batches.ts, store/queries/start.ts.
create or replace function troupe.start(items jsonb) returns jsonb language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  verdicts jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(items)]);
  o int; item jsonb; message jsonb; run jsonb; v_thread uuid; v_project uuid; message_id uuid; new_run uuid;
  v_entity uuid; active uuid; failed uuid; message_base bigint; event_base bigint; v_seq bigint; existing uuid;
  found_in uuid; is_serial boolean; is_ready boolean; made boolean; said int; log jsonb; taker uuid; absent text;
begin
  lock table troupe.runs in row exclusive mode;
  for item, o in select x.v, x.o from jsonb_array_elements(items) with ordinality x(v, o)
    order by x.v->>'thread', x.o loop
    message := item->'message'; run := item->'run'; v_thread := item->>'thread'; v_project := item->>'project';
    message_id := message->>'id'; new_run := run->>'id'; v_entity := run->>'entity';
    is_serial := coalesce((run->>'serial')::boolean, false);
    active := null; failed := null; v_seq := null; existing := null; found_in := null; made := false; said := 0;

    -- 1. Lock the thread.
    if item ? 'createThread' then
      insert into troupe.threads (id, project_id, kind)
        values (v_thread, v_project, (item->>'createThread')::troupe.thread_kind) on conflict do nothing;
      made := found; message_base := 0; event_base := 0;
    end if;
    if not made then
      select t.active_run_id, t.failed_run_id, t.last_message_seq, t.last_event_seq
        into active, failed, message_base, event_base from troupe.threads t
        where t.id = v_thread and t.project_id = v_project for update;
      if not found then
        verdicts[o] := '{"ok": false, "code": "thread_not_found"}';
        continue;
      end if;
    end if;
    is_ready := not is_serial or active is null;

    -- 2. The message, unless an earlier start stored it or the run. The run is found by a read, which never waits: an
    -- insert would wait for a transaction that changes the run, and claim locks this thread after the run.
    select r.id, r.thread_id, r.trigger_seq into existing, found_in, v_seq from troupe.runs r where r.id = new_run;
    if existing is null and message is not null then
      if failed is not null and run is not null and item ? 'unlessFailed'
          and not exists (select from troupe.messages m where m.id = message_id) then
        verdicts[o] := jsonb_build_object('ok', false, 'code', 'thread_failed', 'run', failed);
        continue;
      end if;
      insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
        values (v_thread, message_base + 1, message_id, (message->>'role')::troupe.message_role, message->'content',
          message->>'callId', (message->>'sender')::uuid, (message->>'run')::uuid, (message->>'step')::int,
          message->'metadata') on conflict do nothing;
      if found then
        v_seq := message_base + 1; said := 1;
      else
        select m.seq, m.thread_id into v_seq, found_in from troupe.messages m where m.id = message_id;
        select r.id, coalesce(r.thread_id, found_in) into existing, found_in from (select) x
          left join troupe.runs r on r.entity_id = v_entity and r.trigger_message_id = message_id;
      end if;
    end if;

    -- 3. A repeated start. The thread that it creates may have another id the second time.
    if made and (existing is not null or found_in <> v_thread) then
      delete from troupe.threads t where t.id = v_thread;
    end if;
    if found_in <> v_thread and not (made and existing is not null) then
      verdicts[o] := '{"ok": false, "code": "message_id_taken"}';
      continue;
    elsif existing is not null then
      verdicts[o] := jsonb_build_object('ok', true, 'run', existing, 'thread', found_in, 'seq', v_seq,
        'duplicate', true);
      continue;
    end if;

    -- 4. The run.
    log := case when said = 1 then jsonb_build_array(jsonb_build_array('message.created',
      jsonb_build_object('id', message_id, 'role', message->'role'), 1)) else '[]' end;
    taker := null;
    if run is not null then
      log := log || '[["run.queued"]]';
      if item ? 'claim' and is_ready and not run ? 'lane' and not run ? 'delayMs' then
        taker := item->'claim'->>'worker';
        log := log || '[["run.started"]]' || (select coalesce(jsonb_agg(jsonb_build_array(t)), '[]')
          from jsonb_array_elements(item->'claim'->'events') t) || '[["step.started", null, null, 1]]';
      end if;
      insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id,
          root_run_id, trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, lane,
          lane_limit, run_at, wall_ms, history_limit, budget_ids, metadata, network_id, network_version, sealed,
          status, epoch, worker_id, started_at, deadline_at)
        select new_run, v_project, run->>'door', (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid, v_thread,
          (run->>'parent')::uuid, coalesce((run->>'root')::uuid, new_run), run->>'triggerType', message_id, v_seq,
          coalesce(run->'trigger', '{}'), coalesce((run->>'chainDepth')::int, 0), is_serial, is_ready, run->>'lane',
          (run->>'laneLimit')::int, now() + make_interval(secs => coalesce((run->>'delayMs')::float8, 0) / 1000),
          (run->>'wallMs')::bigint, coalesce((run->>'historyLimit')::int, 50),
          case when run ? 'budgets' then array(select value::uuid from jsonb_array_elements_text(run->'budgets')) end,
          coalesce(run->'metadata', '{}'), (run->'network'->>'id')::uuid, (run->'network'->>'version')::int,
          nullif(run->'network'->'sealed', 'null'),
          case when taker is null then 'queued' else 'running' end::troupe.run_status, (taker is not null)::int, taker,
          case when taker is not null then now() end,
          case when taker is not null then now() + make_interval(secs => (run->>'wallMs')::float8 / 1000) end
        where exists (select from troupe.projects p where p.id = v_project)
          and exists (select from troupe.compiled_snapshots s where s.id = (run->>'snapshot')::uuid
            and s.project_id = v_project)
          and (not run ? 'agent' or run->'agent' = 'null'
            or exists (select from troupe.agents a where a.id = (run->>'agent')::uuid and a.project_id = v_project))
          and (v_entity is null
            or exists (select from troupe.entities e where e.id = v_entity and e.project_id = v_project))
          and (not run ? 'parent' or run->'parent' = 'null'
            or exists (select from troupe.runs p where p.id = (run->>'parent')::uuid and p.project_id = v_project))
        on conflict do nothing;
      if not found then
        absent := troupe.missing_for(v_project, (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid,
          (run->>'parent')::uuid);
        if absent is not null then
          raise exception 'the project has no such %', absent using errcode = 'foreign_key_violation';
        end if;
        -- Another transaction started the run; this one is rolled back.
        raise exception 'troupe.start: run % was started by another transaction', new_run
          using errcode = 'serialization_failure';
      end if;
      if taker is not null then
        insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
          values (new_run, taker, 1, 1, 0, 0, 0, 0);
      end if;
    elsif not exists (select from troupe.projects p where p.id = v_project) then
      raise exception 'the project has no such project' using errcode = 'foreign_key_violation';
    end if;

    -- 5. The thread's counters and its log.
    if said = 1 or run is not null then
      update troupe.threads t set last_message_seq = message_base + said,
        last_event_seq = event_base + jsonb_array_length(log),
        active_run_id = case when is_serial and is_ready then new_run else t.active_run_id end,
        failed_run_id = case when is_serial then null else t.failed_run_id end where t.id = v_thread;
      insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
        values (v_thread, event_base + jsonb_array_length(log), message_base, new_run, log);
    end if;
    verdicts[o] := jsonb_build_object('ok', true, 'run', new_run, 'thread', v_thread, 'seq', v_seq, 'ready', is_ready,
        'duplicate', run is null and said = 0, 'createdAt', now())
      || case when taker is null then '{}' else jsonb_build_object('lastSeq', message_base + said,
        'claimed', case when not made or said = 0 then (
          select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]')
          from troupe.messages m where m.thread_id = v_thread
          and m.seq > coalesce(v_seq, message_base) - coalesce((run->>'historyLimit')::int, 50)) end) end;
  end loop;
  return to_jsonb(verdicts);
end $$;
