-- Commits one step of many runs of one worker: the hot path. Each item is fenced by epoch, version and worker; a
-- refused item writes nothing. Items are sorted by run and name different threads. Returns [items, bases, more]: the
-- numbers of the items that were written, the sequence number before the first message of each, and, by number, an
-- object for each item that may leave, was refused or is behind (null if there is none).
-- p_leave: [{item, …}] for items whose run may end, wait or return to the queue; `log` and `events` replace those of
-- the item if it does. p_tell: items whose changed calls are told to the threads that watch the run; p_places: other
-- threads to lock with these. x_: calls that change, m_: messages, c_: new calls, s_: steps; x_item, m_item and c_item
-- number the item that a row belongs to. *_more: rare columns as objects, null if no row has any.
-- p_count: 1, 2, … up to the length of the longest list. Updates join `unnest(p_count) where … between`, which the
-- planner takes for one row, so that it looks rows up by key whatever size the table had when the plan was made.
-- Locks: each by id: runs of p_leave, run heads, watching threads, tool calls, threads. Rows are read under their lock.
-- Called by: store/queries/commit.ts.
create or replace function troupe.commit(
  p_worker uuid, p_count int[], p_run uuid[], p_thread uuid[], p_epoch int[], p_version int[], p_known bigint[],
  p_order int[],
  p_messages int[], p_events int[], p_log json[], p_leave jsonb, p_tell int[], p_places uuid[],
  x_item int[], x_id text[], x_status troupe.call_status[], x_output jsonb, x_error jsonb, x_more jsonb,
  m_item int[], m_place int[], m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_call text[], m_step int[],
  m_more jsonb,
  c_item int[], c_place int[], c_id text[], c_tool text[], c_args jsonb, c_effect troupe.tool_effect[], c_more jsonb,
  s_step int[], s_input bigint[], s_output bigint[], s_cost bigint[], s_provider text[], s_model text[],
  s_attempt int[], s_started float8[], s_first float8[], s_finished float8[], s_finish text[], s_more jsonb
) returns jsonb language plpgsql as $$
declare
  n constant int := cardinality(p_run);
  modes text[]; refused int[]; placed int[]; bases bigint[]; behind boolean; told uuid[]; more jsonb;
  r record; i int; done int; expected int;
begin
  -- 1. Runs that may leave: their rows decide whether they do.
  if p_leave is not null then
    modes := array_fill('go'::text, array[n]);
    for r in select y.i, v as l, x.open_calls, x.steers, x.watchers is not null as watched
      from jsonb_array_elements(p_leave) v, lateral (select (v->>'item')::int as i) y, troupe.runs x
      where y.i between 1 and n and x.id = p_run[y.i] for no key update of x loop
      i := r.i;
      modes[i] := case
        when r.l->>'target' = 'completed' then case when r.steers > (r.l->>'steers')::int then 'go' else 'ended' end
        when r.l->>'target' in ('failed', 'canceled') then 'ended'
        when r.l->>'target' = 'queued' then 'released'
        when r.l->>'target' = 'waiting_tool' or r.l ? 'park' and r.open_calls + (r.l->>'outside')::int > 0 then 'parked'
        else 'go' end;
      continue when modes[i] = 'go';
      p_log[i] := r.l->'log'; p_events[i] := (r.l->>'events')::int;
      -- A run whose open calls all wait for replies waits for replies.
      if modes[i] = 'parked' and not r.l ? 'target' and (r.l->>'outside')::int = 0 and not exists (
          select from troupe.tool_calls c where c.run_id = p_run[i] and c.waits_for <> 'reply') then
        p_log[i] := replace(p_log[i]::text, '"run.waiting_tool"', '"run.waiting_reply"');
      end if;
      if r.watched then
        told := told || p_run[i];
      end if;
    end loop;
  end if;

  -- 2. Heads: the fence.
  update troupe.run_heads h set version = h.version + 1,
    worker_id = case when modes[x.i] <> 'go' then null else h.worker_id end, step = coalesce(s_step[x.i], h.step),
    input_tokens = h.input_tokens + coalesce(s_input[x.i], 0),
    output_tokens = h.output_tokens + coalesce(s_output[x.i], 0), cost = h.cost + coalesce(s_cost[x.i], 0)
  from unnest(p_count) x(i)
  where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i]
    and h.worker_id = p_worker;
  get diagnostics done = row_count;
  if done < n then
    refused := array(select g from generate_series(1, n) g where not exists (
      select from troupe.run_heads h where h.run_id = p_run[g] and h.xmin = pg_current_xact_id()::xid));
  end if;

  -- 3. Threads that show the run, before the first change that is told there.
  if p_tell is not null then
    told := told || array(select p_run[g] from unnest(p_tell) g);
  end if;
  if told is not null or p_places is not null then
    perform troupe.lock_watchers(told, p_places);
  end if;

  -- 4. Calls that end, calls that start again or wait. One that was handed over is not the worker's to end.
  if x_item is not null then
    update troupe.tool_calls c set status = x_status[k],
      output = case when x_status[k] = 'completed' then x_output->(k - 1) end,
      error = nullif(x_error->(k - 1), 'null'), settled_at = now(), xid = troupe.stamp()
    from unnest(p_count) k
    where k between 1 and cardinality(x_item) and c.run_id = p_run[x_item[k]] and c.call_id = x_id[k]
      and c.status = 'running'
      and (x_more is null or x_more->(k - 1) = 'null') and (refused is null or x_item[k] <> all(refused));
    get diagnostics done = row_count;
    if x_more is not null or refused is not null then
      expected := (select count(*) from generate_series(1, cardinality(x_item)) k
        where (x_more is null or x_more->(k - 1) = 'null') and (refused is null or x_item[k] <> all(refused)));
    else
      expected := cardinality(x_item);
    end if;
    if done < expected then
      raise exception 'troupe.commit: a call is not open' using errcode = 'TR003';
    end if;
    if x_more is not null then
      update troupe.tool_calls c set status = x_status[k],
        output = coalesce(nullif(x_output->(k - 1), 'null'), c.output),
        error = coalesce(nullif(x_error->(k - 1), 'null'), c.error), epoch = p_epoch[x_item[k]],
        attempt = c.attempt + coalesce((m->>'again')::int, 0), waits_for = (m->>'waitsFor')::troupe.waits_for,
        deadline = now() + make_interval(secs => (m->>'deadlineMs')::float8 / 1000),
        settled_at = case when x_status[k] not in ('requested', 'running') and not m ? 'waitsFor' then now() end
      from jsonb_array_elements(x_more) with ordinality y(m, o), lateral (select o::int as k) z
      where m <> 'null' and c.run_id = p_run[x_item[k]] and c.call_id = x_id[k]
        and c.status in ('requested', 'running', 'in_doubt') and (refused is null or x_item[k] <> all(refused));
      get diagnostics done = row_count;
      if done < (select count(*) from jsonb_array_elements(x_more) with ordinality y(m, k)
          where m <> 'null' and (refused is null or x_item[k] <> all(refused))) then
        raise exception 'troupe.commit: a call that starts again is not open';
      end if;
    end if;
  end if;
  if p_leave is not null then
    for i in select (v->>'item')::int from jsonb_array_elements(p_leave) v where v ? 'close' loop
      continue when modes[i] <> 'ended' or i = any(refused);
      perform 1 from troupe.threads t where t.id = any(p_thread) order by t.id for no key update;
      perform troupe.close_calls(p_run[i], p_thread[i], 'canceled', 'canceled',
        'The run ended before this call did; a call that was already running may have taken effect.', null);
    end loop;
  end if;

  -- 5. Threads, and the messages and events that their counters number.
  with moved as (
    update troupe.threads t set last_message_seq = t.last_message_seq + p_messages[x.i],
      last_event_seq = t.last_event_seq + p_events[x.i],
      active_run_id = case when modes[x.i] = 'ended' and t.active_run_id = p_run[x.i] then null else t.active_run_id end
    from unnest(p_order) x(i) where x.i between 1 and n and t.id = p_thread[x.i]
      and (refused is null or x.i <> all(refused))
    returning x.i, t.id, p_run[x.i] as run, t.last_message_seq - p_messages[x.i] as base, t.last_event_seq as last),
  said as (
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step, sender_id, metadata)
    select t.id, t.base + m_place[k], m_id[k], m_role[k], m_content->(k - 1)::int, m_call[k], t.run, m_step[k],
      (m_more->(k - 1)::int->>'sender')::uuid, m_more->(k - 1)::int->'metadata'
    from moved t, unnest(m_item) with ordinality y(item, k) where y.item = t.i),
  logged as (
    insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
    select t.id, t.last, t.base, t.run, p_log[t.i] from moved t where p_events[t.i] > 0)
  select array_agg(t.i), array_agg(t.base), bool_or(t.base > p_known[t.i]) into placed, bases, behind from moved t;
  if coalesce(cardinality(placed), 0) < n - coalesce(cardinality(refused), 0) then
    raise exception 'troupe.commit: a thread does not exist';
  end if;

  -- 6. The ledger.
  if c_item is not null then
    insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch, waits_for,
        deadline, error, settled_at, shown)
      select p_run[c_item[k]], c_id[k], s_step[c_item[k]], c_place[k], c_tool[k], c_args->(k - 1), c_effect[k],
        coalesce(m->>'status', 'running')::troupe.call_status, p_epoch[c_item[k]],
        (m->>'waitsFor')::troupe.waits_for, now() + make_interval(secs => (m->>'deadlineMs')::float8 / 1000),
        m->'error', case when m->>'status' = 'failed' then now() end, m->'shown'
      from generate_series(1, cardinality(c_item)) k, lateral (select c_more->(k - 1) as m) y
      where refused is null or c_item[k] <> all(refused);
  end if;
  if s_step is not null then
    insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at,
        finished_at, input_tokens, output_tokens, cost, finish_reason, agent_key, decision, budgeted)
      select p_run[x.i], s_step[x.i], s_provider[x.i], s_model[x.i], p_worker, p_epoch[x.i], s_attempt[x.i],
        to_timestamp(s_started[x.i] / 1000), to_timestamp(s_first[x.i] / 1000), to_timestamp(s_finished[x.i] / 1000),
        s_input[x.i], s_output[x.i], s_cost[x.i], s_finish[x.i], s_more->(x.i - 1)->>'agentKey',
        s_more->(x.i - 1)->'decision', coalesce((s_more->(x.i - 1)->>'budgeted')::boolean, false)
      from unnest(placed) x(i) where s_provider[x.i] is not null;
  end if;

  -- 7. What the caller needs to know about some items.
  if p_leave is not null then
    more := troupe.leave(p_run, p_thread, modes, p_leave, refused);
  end if;
  if refused is not null then
    for i in select unnest(refused) loop
      select x.status, x.epoch, h.version, h.step, x.worker_id into r
        from troupe.runs x left join troupe.run_heads h on h.run_id = x.id where x.id = p_run[i];
      more := coalesce(more, '{}') || jsonb_build_object(i, jsonb_build_object('ok', false, 'status',
        coalesce(r.status::text, 'missing'), 'epoch', r.epoch, 'version', r.version, 'step', r.step,
        'worker', r.worker_id));
    end loop;
  end if;
  if behind then
    for r in select x.i, x.base from unnest(placed, bases) x(i, base) where x.base > p_known[x.i] loop
      -- Steering messages are counted under the thread's lock, so that the count fits the messages.
      i := r.i;
      more := coalesce(more, '{}') || jsonb_build_object(i, coalesce(more->i::text, '{}')
        || (select jsonb_build_object('steers', x.steers, 'openCalls', x.open_calls) from troupe.runs x
          where x.id = p_run[i])
        || jsonb_build_object('foreign', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]')
          from troupe.messages m
          where m.thread_id = p_thread[i] and m.seq > p_known[i] and m.seq <= r.base  -- without triggers of other runs
            and (m.run_id is not null or (select b.id from troupe.runs x, troupe.runs b where x.id = p_run[i]
              and b.entity_id = x.entity_id and b.trigger_message_id = m.id) is null))));
    end loop;
  end if;
  return jsonb_build_array(placed, bases, more);
end $$;
