-- Posts a message to a space and starts the runs that it triggers, atomically. item is { project, space, message: { id,
-- role, content, sender, metadata }, by?: { run, epoch, worker, call, step }, mentions: [entity], starts: boolean,
-- agents: [{ entity, agent, snapshot, wallMs }], wait?: { for: [entity] | null, timeoutMs } }. If a target is missing
-- in `agents`, the function raises TR002, and the caller reads the members again.
-- Locks: table runs (row exclusive), the waiting runs and the sending run by id, its head, the thread of the space, the
-- advisory lock of the chain.
-- Called by: store/queries/in-spaces.ts.
create or replace function troupe.post_to_space(item jsonb) returns jsonb language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  v_space uuid := (item->>'space')::uuid;
  v_project uuid := (item->>'project')::uuid;
  message jsonb := item->'message';
  v_message uuid := (item->'message'->>'id')::uuid;
  v_sender uuid := (item->'message'->>'sender')::uuid;
  by_run uuid := (item->'by'->>'run')::uuid;
  wait jsonb := item->'wait';
  text_said text := item->'message'->'content'->>'text';
  root uuid; place record; known record; w record; locked uuid[];
  base bigint; events_base bigint; v_seq bigint; depth int := 0; origin uuid := v_message; room int;
  targets uuid[]; strangers uuid[]; refused uuid[] := '{}'; refusal text; folded jsonb := '[]';
  replied jsonb := '[]'; resumed uuid[] := '{}'; waiters uuid[] := '{}';
  started jsonb := '[]'; events jsonb; about jsonb; e uuid; existing uuid; awaited jsonb; is_last boolean;
begin
  -- Orders this start before or after a deletion of what the runs name (keep_used).
  lock table troupe.runs in row exclusive mode;
  -- 1. Lock the runs whose wait this message may end, and the sending run, by id.
  locked := array(select x.run_id from troupe.reply_waits x where x.space_id = v_space and x.entity_id <> v_sender);
  if wait is not null then
    locked := locked || by_run;
  end if;
  if cardinality(locked) > 0 then
    perform 1 from troupe.runs r where r.id = any(locked) order by r.id for no key update;
  end if;
  if by_run is not null then
    select r.chain_depth + 1, coalesce(r.origin_id, r.id), r.root_run_id into depth, origin, root
      from troupe.run_heads h join troupe.runs r on r.id = h.run_id
      where h.run_id = by_run and h.epoch = (item->'by'->>'epoch')::int
        and h.worker_id = (item->'by'->>'worker')::uuid for share of h;
    if not found then
      return jsonb_build_object('ok', false, 'code', 'run_lost');
    end if;
  end if;

  -- 2. Lock the space.
  select t.last_message_seq, t.last_event_seq into base, events_base from troupe.threads t where t.id = v_space
    and t.project_id = v_project for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  select s.name, s.policy, s.chain_depth, s.agent_runs,
      coalesce(jsonb_agg(jsonb_build_object('entityId', x.id, 'name', coalesce(x.display_name, x.external_id),
        'type', x.type) order by m.joined_at, x.id) filter (where x.id <> v_sender), '[]') as recipients,
      count(*) filter (where x.id <> v_sender) = 1 as two,
      (array_agg(x.type) filter (where x.id = v_sender))[1] as sender_type,
      (array_agg(coalesce(x.display_name, x.external_id)) filter (where x.id = v_sender))[1] as sender_name,
      array_agg(x.id order by m.joined_at, x.id) filter (where x.id <> v_sender and a.id is not null) as agents,
      array_agg(x.id order by m.joined_at, x.id) filter (where x.id <> v_sender and a.id is not null
        and s.policy = 'mentions'
        and (item->'mentions' ? x.id::text or troupe.mentions(text_said, x.display_name,
          array(select troupe.folded(y.display_name) from troupe.memberships n
            join troupe.entities y on y.id = n.entity_id
            where n.space_id = v_space and y.display_name is not null)))) as mentioned
    into place from troupe.spaces s join troupe.memberships m on m.space_id = s.id
      join troupe.entities x on x.id = m.entity_id
      left join troupe.agents a on a.id = x.agent_id and a.status = 'active'
    where s.id = v_space group by s.id;
  -- A repeated message returns the first answer, even if the sender has left the space.
  select m.seq, m.thread_id, m.sender_id, m.content, m.metadata, m.created_at into known from troupe.messages m
    where m.id = v_message;
  if found then
    if known.thread_id <> v_space or known.sender_id is distinct from v_sender then
      return jsonb_build_object('ok', false, 'code', 'message_id_taken');
    end if;
    return jsonb_build_object('ok', true, 'duplicate', true, 'seq', known.seq, 'createdAt', known.created_at,
      'content', known.content, 'metadata', known.metadata, 'recipients', coalesce(place.recipients, '[]'),
      'runs', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'entity', r.entity_id) order by r.id), '[]')
        from troupe.runs r
        where r.space_id = v_space and r.trigger_message_id = v_message));
  end if;
  if place.sender_type is null then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  v_seq := base + 1;
  -- Only members can reply.
  if jsonb_typeof(wait->'for') = 'array' then
    strangers := array(select x::uuid from jsonb_array_elements_text(wait->'for') x
      where x::uuid = v_sender or not exists (select from troupe.memberships m where m.space_id = v_space
        and m.entity_id = x::uuid));
    if cardinality(strangers) > 0 then
      return jsonb_build_object('ok', false, 'code', 'not_members', 'entities', to_jsonb(strangers));
    end if;
  end if;

  -- 3. Choose the agents that the policy starts.
  targets := coalesce(case when not coalesce((item->>'starts')::boolean, true) then null
    when place.policy = 'all' or place.policy = 'humans' and place.sender_type = 'human' then place.agents
    when place.policy = 'mentions' then case when place.two then place.agents else place.mentioned end end, '{}');

  -- 4. A run that waits for this reply continues with it and is not started again.
  for w in select x.*, r.status, r.entity_id as waiter from troupe.reply_waits x join troupe.runs r on r.id = x.run_id
      where x.space_id = v_space and x.entity_id <> v_sender and x.message_seq < v_seq
        and (x.any_reply or x.waiting_for @> jsonb_build_array(jsonb_build_object('entityId', v_sender,
          'responded', false)))
      order by x.run_id, x.call_id loop
    if not w.run_id = any(locked) then
      perform 1 from troupe.runs r where r.id = w.run_id for no key update skip locked;
      if not found then
        raise exception 'troupe.post_to_space: a run began to wait just now' using errcode = 'serialization_failure';
      end if;
      locked := locked || w.run_id;
    end if;
    continue when w.status not in ('running', 'queued', 'waiting_tool', 'waiting_reply');
    select coalesce(jsonb_agg(case when x->>'entityId' = v_sender::text then x || '{"responded": true}'
      else x end), '[]') into awaited from jsonb_array_elements(w.waiting_for) x;
    update troupe.reply_waits x set waiting_for = awaited, replies = x.replies
      || jsonb_build_array(jsonb_build_object('entityId', v_sender,
        'entityName', place.sender_name, 'text', left(text_said, 20000),
        'messageId', v_message, 'timestamp', troupe.iso_time(now())))
      where x.run_id = w.run_id and x.call_id = w.call_id;
    perform troupe.note_shown(w.run_id, v_space, v_seq, v_seq);
    is_last := w.any_reply or not awaited @> '[{"responded": false}]';
    -- A run that still waits for other replies is not started again.
    waiters := waiters || w.waiter;
    if is_last then
      resumed := resumed || w.run_id;
    end if;
    replied := replied || jsonb_build_array(jsonb_build_object('run', w.run_id, 'call', w.call_id, 'entity', w.waiter,
      'done', is_last));
  end loop;
  if cardinality(waiters) > 0 then
    targets := array(select t from unnest(targets) with ordinality x(t, k) where not t = any(waiters) order by k);
  end if;

  -- 5. Apply the limits on messages of agents. Humans are not limited.
  if place.sender_type = 'agent' and cardinality(targets) > 0 then
    if depth > place.chain_depth then
      refused := targets; targets := '{}'; refusal := 'chain_depth';
    else
      -- A chain can continue in several spaces at once.
      perform pg_advisory_xact_lock(hashtextextended('troupe.chain:' || origin, 0));
      room := greatest(0, place.agent_runs - (select count(*)::int from troupe.runs r where r.origin_id = origin
        and r.chain_depth > 0));
      if room < cardinality(targets) then
        refused := targets[room + 1 :]; targets := targets[: room]; refusal := 'agent_runs';
      end if;
    end if;
  end if;

  if cardinality(targets) > 0 then
    -- 6. Fold the message into the queued run of a serial agent.
    for e in select t from unnest(targets) t join troupe.memberships m on m.space_id = v_space and m.entity_id = t
      where m.ordering = 'serial' loop
      existing := null;
      select r.id into existing from troupe.runs r where r.entity_id = e and r.door = 'space' and r.space_id = v_space
        and r.status = 'queued' and r.started_at is null
        and r.lane = 'space:' || v_space || ':' || e order by r.id desc limit 1 for no key update skip locked;
      if existing is not null then
        insert into troupe.folded_messages (entity_id, message_id, run_id, space_id)
          values (e, v_message, existing, v_space);
        folded := folded || jsonb_build_array(jsonb_build_object('run', existing, 'entity', e));
        targets := array_remove(targets, e);
      end if;
    end loop;

    -- 7. Check that the caller brought a snapshot for every target.
    if not targets <@ array(select (a->>'entity')::uuid from jsonb_array_elements(item->'agents') a) then
      -- An exception, because the writes above must be rolled back.
      raise exception 'troupe.post_to_space: the members have changed' using errcode = 'TR002';
    end if;
  end if;

  -- 8. Start the runs.
  if cardinality(targets) > 0 then
    about := jsonb_build_object('spaceId', v_space, 'spaceName', place.name, 'messageId', v_message, 'sequence', v_seq,
      'text', left(text_said, 20000), 'senderId', v_sender, 'senderName', place.sender_name,
      'senderType', place.sender_type, 'createdAt', now());
    with chosen as materialized (
      select t as entity, k, troupe.new_id() as run, troupe.new_id() as thread, (a->>'agent')::uuid as agent,
        (a->>'snapshot')::uuid as snapshot, (a->>'wallMs')::bigint as wall,
        m.ordering = 'serial' as serial
      from unnest(targets) with ordinality x(t, k)
        join jsonb_array_elements(item->'agents') a on (a->>'entity')::uuid = t
        join troupe.memberships m on m.space_id = v_space and m.entity_id = t),
    threads as (insert into troupe.threads (id, project_id, kind, last_event_seq)
      select c.thread, v_project, 'run', 1 from chosen c),
    runs as (
      insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id,
        root_run_id, trigger_type, trigger_message_id, trigger,
        chain_depth, lane, lane_limit, wall_ms, history_limit, space_id, active_space_id, origin_id,
        watchers, code_tools)
      select c.run, v_project, 'space', c.agent, c.entity, c.snapshot, c.thread, by_run,
        coalesce(root, c.run), 'space_message', v_message, about,
        depth, case when c.serial then 'space:' || v_space || ':' || c.entity end, case when c.serial then 1 end,
        c.wall, 1000000, v_space, v_space, origin, array[v_space],
        (select s.code_tools from troupe.compiled_snapshots s where s.id = c.snapshot)
      from chosen c),
    told as (insert into troupe.event_batches (thread_id, last_seq, run_id, entries)
      select c.thread, 1, c.run, '[["run.queued"]]' from chosen c)
    select jsonb_agg(jsonb_build_object('id', c.run, 'entity', c.entity, 'thread', c.thread) order by c.k)
      into started from chosen c;
  end if;

  -- 9. Write the message and the events.
  events := jsonb_build_array(jsonb_build_array('message.created', jsonb_strip_nulls(jsonb_build_object('id', v_message,
    'role', message->'role', 'senderId', v_sender, 'streamId', case when by_run is not null then v_message end,
    'folded', nullif(folded, '[]'), 'replies', nullif(replied, '[]'))), 1, null, by_run));
  if started <> '[]' then
    events := events || (select jsonb_agg(jsonb_build_array('run.queued', jsonb_build_object('entityId', s->'entity',
      'messageId', v_message), null, null, s->'id') order by k)
      from jsonb_array_elements(started) with ordinality x(s, k));
  end if;
  if refusal is not null then
    events := events || jsonb_build_array(jsonb_build_array('run.refused', jsonb_build_object('reason', refusal,
      'messageId', v_message, 'entityIds', to_jsonb(refused),
      'limit', case refusal when 'chain_depth' then place.chain_depth else place.agent_runs end), null, null, by_run));
  end if;
  with said as (
    insert into troupe.messages (thread_id, seq, id, role, content, sender_id, run_id, step, metadata)
    values (v_space, v_seq, v_message, (message->>'role')::troupe.message_role, message->'content', v_sender, by_run,
      (item->'by'->>'step')::int, message->'metadata')),
  logged as (
    insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
    values (v_space, events_base + jsonb_array_length(events), base, by_run, events::json))
  update troupe.threads t set last_message_seq = v_seq, last_event_seq = events_base + jsonb_array_length(events)
    where t.id = v_space;
  if by_run is not null then
    perform troupe.note_shown(by_run, v_space, v_seq, v_seq);
  elsif place.sender_type = 'human' then
    update troupe.memberships m set last_seen_seq = v_seq, last_seen_message_id = v_message where m.space_id = v_space
      and m.entity_id = v_sender;
  end if;

  -- 10. Resume runs with all replies, and begin the wait of the sender.
  if cardinality(resumed) > 0 then
    for w in select x->>'run' as run, x->>'call' as call from jsonb_array_elements(replied) x
      where (x->>'done')::boolean loop
      perform troupe.end_wait(w.run::uuid, w.call, 'resolved');
    end loop;
  end if;
  if wait is not null then
    perform troupe.begin_wait(by_run, item->'by'->>'call', v_space, v_message, v_seq, wait);
  end if;
  return jsonb_build_object('ok', true, 'duplicate', false, 'seq', v_seq, 'createdAt', now(), 'runs', started,
    'folded', folded, 'replied', replied,
    'resumed', to_jsonb(resumed), 'refused', case when refusal is not null
      then jsonb_build_object('reason', refusal, 'entities', to_jsonb(refused),
      'limit', case refusal when 'chain_depth' then place.chain_depth else place.agent_runs end) end,
    'spaceName', place.name, 'recipients', place.recipients);
end $$;
