-- A message and the run that it starts, in a thread of its own (p_kind) or one that is there, taken at once by p_taker
-- where p_takes says so and the thread is free. Items come in the order of their threads' ids, each thread once. e_:
-- events; the first two of an item are written in any case, the others where the run is taken p_events: how many in all
-- Answers, by item, [seq of the message, when it was stored, whether the run may start, the thread's tail where the run
-- is taken in a thread that was there].
create or replace function troupe.starts(
  p_taker uuid, p_count int[], p_project uuid[], p_thread uuid[], p_kind troupe.thread_kind[], p_takes boolean[],
    p_events int[],
  m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_sender uuid[], m_metadata jsonb[],
  r_id uuid[], r_door text[], r_agent uuid[], r_entity uuid[], r_snapshot uuid[], r_parent uuid[], r_root uuid[],
    r_type text[], r_trigger jsonb[],
  r_depth int[], r_serial boolean[], r_wall bigint[], r_history int[], r_metadata jsonb[],
  e_item int[], e_place int[], e_type text[], e_step int[]
) returns jsonb language plpgsql as $$
declare
  n constant int := cardinality(r_id);
  made int := 0; done int; message_base bigint[]; event_base bigint[]; free boolean[]; failed boolean;
begin
  -- 1. Threads, and their locks.
  if p_kind is not null then
    insert into troupe.threads (id, project_id, kind, last_message_seq, last_event_seq, active_run_id)
      select p_thread[x.i], p_project[x.i], p_kind[x.i], 1, case when p_takes[x.i] then p_events[x.i] else 2 end, case
        when r_serial[x.i] then r_id[x.i] end
      from generate_series(1, n) x(i) where p_kind[x.i] is not null on conflict do nothing;
    get diagnostics made = row_count;
  end if;
  if made = n then
    message_base := array_fill(0::bigint, array[n]); event_base := message_base; free := array_fill(true, array[n]);
  else
    with placed as (
      update troupe.threads t set last_message_seq = t.last_message_seq + 1,
          last_event_seq = t.last_event_seq + case when p_takes[x.i] and (t.active_run_id is null or not r_serial[x.i])
            then p_events[x.i] else 2 end,
          active_run_id = case when r_serial[x.i] then coalesce(t.active_run_id, r_id[x.i]) else t.active_run_id end
        from unnest(p_count) x(i) where x.i between 1 and n and t.id = p_thread[x.i] and t.project_id = p_project[x.i]
          and p_kind[x.i] is null
        returning x.i, t.last_message_seq - 1 as messages, t.last_event_seq as events, not r_serial[x.i]
          or t.active_run_id = r_id[x.i] as free,
          t.failed_run_id is not null as failed)
    select array_agg(coalesce(p.messages, 0) order by x.i), array_agg(coalesce(p.free, true) order by x.i), count(p.i),
        array_agg(coalesce(p.events - case when p_takes[x.i] and p.free then p_events[x.i] else 2 end, 0)
          order by x.i), bool_or(p.failed)
      into message_base, free, done, event_base, failed from generate_series(1, n) x(i) left join placed p on p.i = x.i;
    if failed then
      raise exception 'troupe.starts: a thread has failed' using errcode = 'TR001';
    end if;
    if made + done < n then
      raise exception 'troupe.starts: a thread is there already, or is not' using errcode = 'TR001';
    end if;
  end if;

  -- 2. The message and the run. What is there already has been started before.
  insert into troupe.messages (thread_id, seq, id, role, content, sender_id, metadata)
    select p_thread[x.i], message_base[x.i] + 1, m_id[x.i], m_role[x.i], m_content->(x.i - 1), m_sender[x.i],
      m_metadata[x.i]
    from generate_series(1, n) x(i) on conflict do nothing;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.starts: a message is there already' using errcode = 'TR001';
  end if;
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id,
    root_run_id,
    trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, wall_ms, history_limit,
      metadata,
    status, epoch, worker_id, started_at, deadline_at)
    select r_id[x.i], p_project[x.i], r_door[x.i], r_agent[x.i], r_entity[x.i], r_snapshot[x.i], p_thread[x.i],
      r_parent[x.i], coalesce(r_root[x.i], r_id[x.i]),
      r_type[x.i], m_id[x.i], message_base[x.i] + 1, coalesce(r_trigger[x.i], '{}'), r_depth[x.i], r_serial[x.i],
        free[x.i], r_wall[x.i], r_history[x.i],
      coalesce(r_metadata[x.i], '{}'), case when y.taken then 'running'::troupe.run_status
        else 'queued' end, y.taken::int,
      case when y.taken then p_taker end, case when y.taken then now() end, case when y.taken
        then now() + make_interval(secs => r_wall[x.i]::float8 / 1000) end
    from generate_series(1, n) x(i), lateral (select p_takes[x.i] and free[x.i] as taken) y
    where exists (select from troupe.projects p where p.id = p_project[x.i])
      and exists (select from troupe.compiled_snapshots s where s.id = r_snapshot[x.i]
        and s.project_id = p_project[x.i])
      and (r_agent[x.i] is null or exists (select from troupe.agents a where a.id = r_agent[x.i]
        and a.project_id = p_project[x.i]))
      and (r_entity[x.i] is null or exists (select from troupe.entities e where e.id = r_entity[x.i]
        and e.project_id = p_project[x.i]))
      and (r_parent[x.i] is null or exists (select from troupe.runs r where r.id = r_parent[x.i]
        and r.project_id = p_project[x.i]))
    on conflict do nothing;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.starts: a run is there already, or names what is not' using errcode = 'TR001';
  end if;

  -- 3. What is told.
  if p_taker is not null then
    insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
      select r_id[x.i], p_taker, 1, 1, 0, 0, 0, 0 from generate_series(1, n) x(i) where p_takes[x.i] and free[x.i];
  end if;
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
    select p_thread[e_item[k]], event_base[e_item[k]] + e_place[k], e_type[k],
      case when e_place[k] = 1 then jsonb_build_object('id', m_id[e_item[k]], 'role', m_role[e_item[k]]) end,
      case when e_place[k] = 1 then message_base[e_item[k]] + 1 end, r_id[e_item[k]], e_step[k]
    from generate_series(1, cardinality(e_item)) k where e_place[k] <= 2 or free[e_item[k]];
  return (select jsonb_agg(jsonb_build_array(message_base[x.i] + 1, now(), free[x.i], case when p_takes[x.i]
    and free[x.i] and p_kind[x.i] is null then (
      select jsonb_agg(troupe.message_json(m) order by m.seq) from troupe.messages m
      where m.thread_id = p_thread[x.i] and m.seq > message_base[x.i] + 1 - r_history[x.i]) end) order by x.i)
    from generate_series(1, n) x(i));
end $$;
