-- Starts runs: the message and the run that it triggers, for each item, in one transaction. A start that is repeated
-- finds what it did before. items: [{project, thread, createThread?, unlessFailed?, message?, run?, claim?: {worker,
-- events}}]; `claim` takes the run at once if it is ready. Returns a verdict for each item, in order.
-- Joins with the items have `o between 1 and n`, which the planner takes for one row, so that it looks rows up by key.
-- Locks: table runs (row exclusive), so that a delete of a row that a run names waits for this start, or this start
-- waits and finds the row gone (keep_used); then threads by id.
-- Called by: troupe.begin_child, troupe.create_task, troupe.fire_plan, troupe.post, troupe.start_task_run,
--   troupe.tell_giver, store/queries/batches.ts, store/queries/start.ts.
create or replace function troupe.start(items jsonb) returns jsonb language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  n constant int := jsonb_array_length(items);
  verdicts jsonb[] := array_fill(null::jsonb, array[n]);
  -- By number of the item; null for a thread that does not exist yet, and a message that is not stored yet.
  active uuid[]; failed uuid[]; message_base bigint[]; event_base bigint[]; seqs bigint[];
  later int[] := '{}'; said uuid[]; r record; written int; expected int; absent text; late int;
begin
  lock table troupe.runs in row exclusive mode;

  -- 1. An item that names the thread, the message or the run of an earlier one comes after the others.
  if n > 1 then
    later := array(select x.o from (
      select o, v->'message' as message, v->'run' as run, row_number() over (partition by v->'thread' order by o) as t,
        row_number() over (partition by v->'message'->'id' order by o) as m,
        row_number() over (partition by v->'run'->'id' order by o) as r
      from jsonb_array_elements(items) with ordinality y(v, o)) x
      where x.t > 1 or x.m > 1 and x.message is not null or x.r > 1 and x.run is not null order by x.o);
  end if;

  -- 2. Lock the threads that exist.
  for r in select x.o, t.project_id = (x.v->>'project')::uuid as own, t.active_run_id, t.failed_run_id,
      t.last_message_seq, t.last_event_seq
    from jsonb_array_elements(items) with ordinality x(v, o), troupe.threads t
    where x.o between 1 and n and x.o <> all(later) and t.id = (x.v->>'thread')::uuid order by t.id for update of t loop
    if not r.own then
      verdicts[r.o] := '{"ok": false, "code": "thread_not_found"}';
    end if;
    active[r.o] := r.active_run_id; failed[r.o] := r.failed_run_id; message_base[r.o] := r.last_message_seq;
    event_base[r.o] := r.last_event_seq;
  end loop;

  -- 3. Repeated starts, and threads that take no message. A run is found by a read, which never waits: an insert would
  -- wait for a transaction that changes the run, and claim locks this thread after the run.
  for r in select x.o, x.v, w.id, w.thread_id, w.trigger_seq
    from jsonb_array_elements(items) with ordinality x(v, o)
      left join troupe.runs w on w.id = (x.v->'run'->>'id')::uuid
    where x.o between 1 and n and x.o <> all(later) and verdicts[x.o] is null
      and (w.id is not null or failed[x.o] is not null or message_base[x.o] is null and not x.v ? 'createThread') loop
    if message_base[r.o] is null and not r.v ? 'createThread' then
      verdicts[r.o] := '{"ok": false, "code": "thread_not_found"}';
    elsif r.id is not null then
      verdicts[r.o] := case when message_base[r.o] is null or r.thread_id = (r.v->>'thread')::uuid
        then jsonb_build_object('ok', true, 'run', r.id, 'thread', r.thread_id, 'seq', r.trigger_seq, 'duplicate', true)
        else '{"ok": false, "code": "message_id_taken"}' end;
    elsif r.v ?& array['unlessFailed', 'run', 'message']
        and not exists (select from troupe.messages m where m.id = (r.v->'message'->>'id')::uuid) then
      verdicts[r.o] := jsonb_build_object('ok', false, 'code', 'thread_failed', 'run', failed[r.o]);
    end if;
  end loop;

  -- 4. The messages, unless an earlier start stored them.
  with stored as (
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
    select (x.v->>'thread')::uuid, coalesce(message_base[x.o], 0) + 1, (m->>'id')::uuid,
      (m->>'role')::troupe.message_role, m->'content', m->>'callId', (m->>'sender')::uuid, (m->>'run')::uuid,
      (m->>'step')::int, m->'metadata'
    from jsonb_array_elements(items) with ordinality x(v, o), lateral (select x.v->'message' as m) y
    where x.o between 1 and n and x.o <> all(later) and verdicts[x.o] is null and m is not null
    on conflict do nothing returning id)
  select array_agg(s.id) into said from stored s;
  if cardinality(said) is distinct from n then
    for r in select x.o, x.v, m.thread_id, m.seq, w.id, w.thread_id as run_thread
      from jsonb_array_elements(items) with ordinality x(v, o)
        left join troupe.messages m on m.id = (x.v->'message'->>'id')::uuid
        left join troupe.runs w on w.entity_id = (x.v->'run'->>'entity')::uuid and w.trigger_message_id = m.id
      where x.o between 1 and n and x.o <> all(later) and verdicts[x.o] is null and x.v ? 'message'
        and (x.v->'message'->>'id')::uuid <> all(coalesce(said, '{}')) loop
      if r.thread_id is null then
        raise exception 'troupe.start: another transaction created the thread' using errcode = 'serialization_failure';
      elsif coalesce(r.run_thread, r.thread_id) <> (r.v->>'thread')::uuid
          and not (message_base[r.o] is null and r.id is not null) then
        verdicts[r.o] := '{"ok": false, "code": "message_id_taken"}';
      elsif r.id is not null then
        verdicts[r.o] := jsonb_build_object('ok', true, 'run', r.id, 'thread', r.run_thread, 'seq', r.seq,
          'duplicate', true);
      else
        seqs[r.o] := r.seq;
      end if;
    end loop;
  end if;

  -- 5. The runs, and the counters and logs of the threads.
  for r in with x as materialized (
      select i.o, i.v, i.run, (i.v->>'thread')::uuid as thread, (i.v->>'project')::uuid as project,
        (i.run->>'id')::uuid as id, message_base[i.o] is null as fresh, coalesce(message_base[i.o], 0) as message_base,
        coalesce(event_base[i.o], 0) as event_base, i.said, i.serial, i.ready, t.worker,
        coalesce(seqs[i.o], case when i.said then coalesce(message_base[i.o], 0) + 1 end) as seq,
        i.said::int + case when i.run is null then 0 when t.worker is null then 1
          else 3 + jsonb_array_length(i.v->'claim'->'events') end as events
      from (
        select y.o::int, y.v, y.v->'run' as run, y.v ? 'message' and seqs[y.o] is null as said,
          coalesce((y.v->'run'->>'serial')::boolean, false) as serial,
          active[y.o] is null or not coalesce((y.v->'run'->>'serial')::boolean, false) as ready
        from jsonb_array_elements(items) with ordinality y(v, o)
        where y.o between 1 and n and y.o <> all(later) and verdicts[y.o] is null) i,
        lateral (select case when i.ready and not i.run ?| array['lane', 'delayMs']
          then i.v->'claim'->>'worker' end::uuid as worker) t),
    created as (
      insert into troupe.threads (id, project_id, kind, last_message_seq, last_event_seq, active_run_id)
      select x.thread, x.project, (x.v->>'createThread')::troupe.thread_kind, x.said::int, x.events,
        case when x.serial then x.id end
      from x where x.fresh and (x.run is not null or exists (select from troupe.projects p where p.id = x.project))
      on conflict do nothing returning 1),
    moved as (
      update troupe.threads t set last_message_seq = x.message_base + x.said::int,
        last_event_seq = x.event_base + x.events,
        active_run_id = case when x.serial and x.ready then x.id else t.active_run_id end,
        failed_run_id = case when x.serial then null else t.failed_run_id end
      from x where t.id = x.thread and not x.fresh and x.events > 0),
    ran as (
      insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id,
        root_run_id, trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, lane,
        lane_limit, run_at, wall_ms, history_limit, budget_ids, metadata, network_id, network_version, sealed,
        code_tools, status, epoch, worker_id, started_at, deadline_at, queued_from)
      select x.id, x.project, run->>'door', a.agent, a.entity, s.id, x.thread, a.parent,
        coalesce((run->>'root')::uuid, x.id), run->>'triggerType', (x.v->'message'->>'id')::uuid, x.seq,
        coalesce(run->'trigger', '{}'), coalesce((run->>'chainDepth')::int, 0), x.serial, x.ready, run->>'lane',
        (run->>'laneLimit')::int, now() + make_interval(secs => coalesce((run->>'delayMs')::float8, 0) / 1000),
        (run->>'wallMs')::bigint, coalesce((run->>'historyLimit')::int, 50),
        case when run ? 'budgets' then array(select jsonb_array_elements_text(run->'budgets')::uuid) end,
        coalesce(run->'metadata', '{}'), (run->'network'->>'id')::uuid, (run->'network'->>'version')::int,
        nullif(run->'network'->'sealed', 'null'), s.code_tools,
        case when x.worker is null then 'queued' else 'running' end::troupe.run_status, (x.worker is not null)::int,
        x.worker, case when x.worker is not null then now() end,
        case when x.worker is not null then now() + make_interval(secs => (run->>'wallMs')::float8 / 1000) end,
        case when not x.ready and x.said then (select coalesce(b.queued_from, b.trigger_seq) from troupe.runs b
          where b.thread_id = x.thread and b.status = 'queued' and not b.ready and b.trigger_seq = x.message_base) end
      from x cross join lateral (select (run->>'agent')::uuid as agent, (run->>'entity')::uuid as entity,
          (run->>'parent')::uuid as parent) a
        join troupe.projects p on p.id = x.project
        join troupe.compiled_snapshots s on s.id = (run->>'snapshot')::uuid and s.project_id = x.project
        left join troupe.agents g on g.id = a.agent and g.project_id = x.project
        left join troupe.entities e on e.id = a.entity and e.project_id = x.project
        left join troupe.runs q on q.id = a.parent and q.project_id = x.project
      -- Joins, because the planner may read a whole table for `exists` in an alternative.
      where (a.agent is null or g.id is not null) and (a.entity is null or e.id is not null)
        and (a.parent is null or q.id is not null)
      on conflict do nothing returning 1),
    held as (
      insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
      select x.id, x.worker, 1, 1, 0, 0, 0, 0 from x where x.worker is not null),
    logged as (
      insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
      select x.thread, x.event_base + x.events, x.message_base, x.id, ('[' || concat_ws(',',
        case when x.said then json_build_array('message.created',
          json_build_object('id', x.v->'message'->'id', 'role', x.v->'message'->'role'), 1) end,
        case when x.run is not null then '["run.queued"]' end,
        case when x.worker is not null then '["run.started"]' end,
        case when x.worker is not null then (
          select string_agg(json_build_array(e)::text, ',') from jsonb_array_elements(x.v->'claim'->'events') e) end,
        case when x.worker is not null then '["step.started",null,null,1]' end) || ']')::json
      from x where x.events > 0)
    select x.o, jsonb_build_object('ok', true, 'run', x.id, 'thread', x.thread, 'seq', x.seq, 'ready', x.ready,
        'duplicate', x.events = 0, 'createdAt', now())
      || case when x.worker is null then '{}' else jsonb_build_object('lastSeq', x.message_base + x.said::int,
        'claimed', case when not x.fresh or not x.said then troupe.tail(x.thread, x.id,
          coalesce(x.seq, x.message_base), coalesce((x.run->>'historyLimit')::int, 50)) end) end as verdict,
      (select count(*) from ran) + (select count(*) from created) as written,
      (select count(x.run) + count(*) filter (where x.fresh) from x) as expected
    from x loop
    verdicts[r.o] := r.verdict; written := r.written; expected := r.expected;
  end loop;
  if written < expected then
    for r in select x.v->'run' as run, (x.v->>'project')::uuid as project
      from jsonb_array_elements(items) with ordinality x(v, o) where x.o <> all(later) loop
      if r.run is not null then
        absent := troupe.missing_for(r.project, (r.run->>'agent')::uuid, (r.run->>'entity')::uuid,
          (r.run->>'snapshot')::uuid, (r.run->>'parent')::uuid);
      elsif not exists (select from troupe.projects p where p.id = r.project) then
        absent := 'project';
      end if;
      if absent is not null then
        raise exception 'the project has no such %', absent using errcode = 'foreign_key_violation';
      end if;
    end loop;
    -- This one is rolled back.
    raise exception 'troupe.start: another transaction started one of the runs' using errcode = 'serialization_failure';
  end if;

  foreach late in array later loop
    verdicts[late] := troupe.start(jsonb_build_array(items->(late - 1)))->0;
  end loop;
  return to_jsonb(verdicts);
end $$;
