-- breaking: false
-- Spaces: a thread that many entities share. Its posts, its visible tool calls and what becomes of its runs are numbered there; what a run
-- thinks and calls is in a thread of its own, so that many agents do not wait for one row.
--
-- Locks: runs, heads, tool calls, then the thread of a run, then spaces by their id. A run's own thread is only written by whoever has the
-- run, so it may come before or after a space.

alter type troupe.waits_for add value 'reply';

-- The thread has the id of the space.
create table troupe.spaces (
  id uuid primary key,
  project_id uuid not null,
  name text check (length(name) between 1 and 200),
  description text check (length(description) <= 10000),
  -- Who is started by a message: every other agent; those it names; every agent, but by people only.
  policy text not null default 'all' check (policy in ('all', 'mentions', 'humans')),
  -- How many agents may start one another in a row, and how many runs agents may start in all, after one message of a person.
  chain_depth int not null default 8 check (chain_depth between 1 and 100),
  agent_runs int not null default 50 check (agent_runs between 0 and 1000),
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index spaces_project on troupe.spaces (project_id, id desc);

create table troupe.memberships (
  space_id uuid not null references troupe.spaces on delete cascade,
  entity_id uuid not null references troupe.entities on delete cascade,
  role text not null default 'member' check (role in ('admin', 'member')),
  -- Of an agent. Serial: one run at a time here, and what is said meanwhile is for the next one.
  ordering text not null default 'parallel' check (ordering in ('parallel', 'serial')),
  -- The last message when it joined.
  joined_seq bigint not null,
  -- Of an agent: what its completed runs were shown or said.
  seen int8multirange not null default '{}',
  -- Of an agent: up to where it has seen everything since it joined.
  last_processed_seq bigint not null,
  last_processed_message_id uuid,
  -- Of a person.
  last_seen_seq bigint not null default 0,
  last_seen_message_id uuid,
  joined_at timestamptz not null default now(),
  primary key (space_id, entity_id)
);
create index memberships_entity on troupe.memberships (entity_id);

alter table troupe.runs
  -- Where the message was said that it is about; none for a plan or a service.
  add column space_id uuid,
  -- Where it speaks. Checked by membership, not by a key.
  add column active_space_id uuid,
  -- What began the chain of runs that it belongs to: a person's message; null where it began by itself.
  add column origin_id uuid;
create index runs_space on troupe.runs (space_id, id) where space_id is not null;
create index runs_active_space on troupe.runs (active_space_id) where active_space_id is not null and status in ('queued', 'running', 'waiting_tool', 'waiting_reply');
create index runs_of_agent on troupe.runs (entity_id, id desc) where door = 'space';
create index runs_origin on troupe.runs (origin_id) where origin_id is not null and chain_depth > 0;

-- What a run was shown of a space, in its prompt or by a tool, and what it said there. `prompt_upto`: where the history in its prompt ends,
-- so that whoever takes the run over shows it the same.
create table troupe.run_shown (
  run_id uuid not null,
  space_id uuid not null,
  seqs int8multirange not null default '{}',
  prompt_upto bigint,
  primary key (run_id, space_id)
);

-- Messages that are for a run which had not begun when they came.
create table troupe.folded_messages (
  entity_id uuid not null,
  message_id uuid not null,
  run_id uuid not null,
  space_id uuid not null references troupe.spaces on delete cascade,
  primary key (entity_id, message_id)
);
create index folded_messages_run on troupe.folded_messages (run_id);

-- Calls of send_message that wait for a reply. Written under the lock of the run, then of the space.
create table troupe.reply_waits (
  run_id uuid not null,
  call_id text not null,
  space_id uuid not null references troupe.spaces on delete cascade,
  entity_id uuid not null,
  message_id uuid not null,
  message_seq bigint not null,
  -- [{ entityId, entityName, entityType, responded }]; where nobody is named, the first reply is enough.
  waiting_for jsonb not null,
  any_reply boolean not null,
  replies jsonb not null default '[]',
  timeout_ms bigint not null,
  started_at timestamptz not null default now(),
  primary key (run_id, call_id)
);
create index reply_waits_space on troupe.reply_waits (space_id);

-- As `idFrom` in base/ids.ts: what a run says has the id that follows from the run and the call.
create function troupe.id_from(p_key text) returns uuid language sql immutable strict as $$
  select (overlay(overlay(substr(x.hex, 1, 32) placing '8' from 13) placing 'a' from 17))::uuid from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as hex) x
$$;

-- Whether a text names somebody: @name, with nothing before or behind it that would make it another word.
create function troupe.mentions(p_text text, p_name text) returns boolean language sql immutable strict as $$
  select troupe.folded(p_text) ~ ('(^|[^[:alnum:]_])@' || regexp_replace(troupe.folded(p_name), '([^[:alnum:][:space:]])', '\\\1', 'g') || '(?![[:alnum:]_])')
$$;

-- What became of a run is told where it began and where it speaks; a run that is complete has seen what it was shown.
create function troupe.tell_spaces() returns trigger language plpgsql as $$
declare
  ended boolean := new.status in ('completed', 'failed', 'canceled');
  types text[] := case
    when new.status = 'running' and old.started_at is null then '{run.started,agent.active}'
    when new.status = 'running' then '{run.resumed}'
    when new.status = 'waiting_tool' then '{run.waiting_tool}'
    when new.status = 'waiting_reply' then '{run.waiting_reply}'
    when new.status = 'queued' and old.status in ('failed', 'canceled') then '{run.queued,agent.active}'
    when new.status = 'completed' then '{run.completed,agent.inactive}'
    when new.status = 'failed' then '{run.failed,agent.inactive}'
    when new.status = 'canceled' then array[case when new.absorbed_by is null then 'run.canceled' else 'run.absorbed' end, 'agent.inactive'] end;
  about jsonb; space uuid; shown record;
begin
  if types is not null and (new.space_id is not null or new.active_space_id is not null) then
    about := jsonb_build_object('entityId', new.entity_id, 'agentName', (select e.display_name from troupe.entities e where e.id = new.entity_id))
      || case new.status when 'failed' then jsonb_build_object('code', new.error->'code', 'message', new.error->'message')
        when 'canceled' then jsonb_strip_nulls(jsonb_build_object('reason', new.cancel_reason, 'absorbedBy', new.absorbed_by))
        when 'completed' then jsonb_build_object('silent', coalesce(new.outcome->'silent', 'false')) else '{}' end;
    for space in select s.id from troupe.spaces s where s.id in (new.space_id, new.active_space_id) order by s.id loop
      perform troupe.append(space, new.id, null, (select jsonb_agg(jsonb_build_object('type', t, 'data', about)) from unnest(types) t));
    end loop;
  end if;
  if not ended then
    return null;
  end if;
  delete from troupe.reply_waits w where w.run_id = new.id;
  if new.status = 'completed' then
    for shown in select x.space_id, x.seqs from troupe.run_shown x where x.run_id = new.id order by x.space_id loop
      perform troupe.see(shown.space_id, new.entity_id, shown.seqs);
    end loop;
  elsif new.absorbed_by is not null then
    -- What it was shown, and the messages that it was to answer, are its absorber's from here on.
    insert into troupe.run_shown as x (run_id, space_id, seqs)
      select new.absorbed_by, t.space_id, range_agg(t.seqs) from (
        select y.space_id, y.seqs from troupe.run_shown y where y.run_id = new.id
        union all
        select new.space_id, int8multirange(int8range((new.trigger->>'sequence')::bigint, (new.trigger->>'sequence')::bigint, '[]'))
          where new.space_id is not null and new.trigger ? 'sequence'
        union all
        select m.thread_id, int8multirange(int8range(m.seq, m.seq, '[]')) from troupe.folded_messages f join troupe.messages m on m.id = f.message_id
          where f.run_id = new.id) t
      group by t.space_id
      on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs;
  end if;
  return null;
end $$;
create trigger runs_tell after update on troupe.runs for each row
  when (new.door = 'space' and new.status is distinct from old.status) execute function troupe.tell_spaces();

create function troupe.note_shown(p_run uuid, p_space uuid, p_from bigint, p_to bigint) returns void language sql as $$
  insert into troupe.run_shown as x (run_id, space_id, seqs) values (p_run, p_space, int8multirange(int8range(p_from, p_to, '[]')))
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs
$$;

-- An agent has seen these. What it said itself needs no seeing: the place up to where it has seen everything passes over that.
create function troupe.see(p_space uuid, p_entity uuid, p_seqs int8multirange) returns void language plpgsql as $$
declare
  known int8multirange; upto bigint; next bigint; joined bigint;
begin
  select m.seen + p_seqs, m.last_processed_seq, m.joined_seq into known, upto, joined from troupe.memberships m
    where m.space_id = p_space and m.entity_id = p_entity for no key update;
  if not found then
    return;
  end if;
  loop
    select upper(r) - 1 into next from unnest(known) r where r @> (upto + 1);
    if not found then
      select m.seq into next from troupe.messages m where m.thread_id = p_space and m.seq = upto + 1 and m.sender_id = p_entity;
      exit when not found;
    end if;
    upto := next;
  end loop;
  update troupe.memberships m set seen = known, last_processed_seq = upto,
    last_processed_message_id = case when upto > m.last_processed_seq then (select x.id from troupe.messages x where x.thread_id = p_space and x.seq = upto) else m.last_processed_message_id end
    where m.space_id = p_space and m.entity_id = p_entity;
end $$;

-- Where a call of a run takes effect: the space entered last before it, else the one that the run began in. What an enter_space of the same
-- answer names counts whatever becomes of it: what was meant for one space must not be said in another.
create function troupe.space_of_call(p_run uuid, p_call text) returns uuid language sql stable as $$
  select coalesce((
    select case when e.args->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (e.args->>'spaceId')::uuid else '00000000-0000-0000-0000-000000000000' end
    from troupe.tool_calls c join troupe.tool_calls e on e.run_id = c.run_id and e.tool = 'enter_space' and (e.step, e.position) < (c.step, c.position)
    where c.run_id = p_run and c.call_id = p_call and (e.step = c.step or e.status = 'completed' and e.output @> '{"success": true}')
    order by e.step desc, e.position desc limit 1),
    (select r.space_id from troupe.runs r where r.id = p_run))
$$;

-- A message in a space, and the runs that it starts, as one. All that is written hangs on the lock of the space's thread.
--
-- item: { project, space, message: { id, role, content, sender, metadata }, by?: { run, epoch, worker, call, step }, mentions: [entity],
--   starts: boolean, agents: [{ entity, agent, snapshot, wallMs }], wait?: { for: [entity] | null, timeoutMs } }
-- `agents` is what its caller found; where somebody is missing there, nothing is written and the caller looks again.
create function troupe.post_to_space(item jsonb) returns jsonb language plpgsql
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
  speaker troupe.runs; place troupe.spaces; sender record; known record; w record; locked uuid[];
  base bigint; events_base bigint; v_seq bigint; depth int := 0; origin uuid := v_message; room int; two boolean;
  targets uuid[]; offered uuid[]; strangers uuid[]; refused uuid[] := '{}'; refusal text; folded jsonb := '[]'; replied jsonb := '[]'; resumed uuid[] := '{}'; waiters uuid[] := '{}';
  started jsonb := '[]'; events jsonb; about jsonb; e uuid; existing uuid; awaited jsonb; is_last boolean; recipients jsonb; written int;
begin
  -- Whoever deletes what a run names waits for this, or this waits and finds it gone (keep_used).
  lock table troupe.runs in row exclusive mode;
  -- 1. Runs that may be answered by this, and the one that speaks, in the order of their ids.
  locked := array(select x.run_id from troupe.reply_waits x where x.space_id = v_space and x.entity_id <> v_sender);
  if wait is not null then
    locked := locked || by_run;
  end if;
  if cardinality(locked) > 0 then
    perform 1 from troupe.runs r where r.id = any(locked) order by r.id for no key update;
  end if;
  if by_run is not null then
    if not troupe.has_run(by_run, (item->'by'->>'epoch')::int, (item->'by'->>'worker')::uuid) then
      return jsonb_build_object('ok', false, 'code', 'run_lost');
    end if;
    select * into speaker from troupe.runs r where r.id = by_run;
    depth := speaker.chain_depth + 1;
    origin := coalesce(speaker.origin_id, by_run);
  end if;

  -- 2. The space, and its lock.
  select t.last_message_seq, t.last_event_seq into base, events_base from troupe.threads t where t.id = v_space and t.project_id = v_project for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  select * into place from troupe.spaces s where s.id = v_space;
  select coalesce(jsonb_agg(jsonb_build_object('entityId', x.id, 'name', coalesce(x.display_name, x.external_id), 'type', x.type) order by m.joined_at, x.id), '[]'), count(*) = 1
    into recipients, two from troupe.memberships m join troupe.entities x on x.id = m.entity_id where m.space_id = v_space and m.entity_id <> v_sender;
  -- Said before: answered as it was, also to one who is no member any more.
  select m.seq, m.thread_id, m.sender_id, m.content, m.metadata, m.created_at into known from troupe.messages m where m.id = v_message;
  if found then
    if known.thread_id <> v_space or known.sender_id is distinct from v_sender then
      return jsonb_build_object('ok', false, 'code', 'message_id_taken');
    end if;
    return jsonb_build_object('ok', true, 'duplicate', true, 'seq', known.seq, 'createdAt', known.created_at, 'content', known.content, 'metadata', known.metadata, 'recipients', recipients,
      'runs', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'entity', r.entity_id) order by r.id), '[]') from troupe.runs r
        where r.space_id = v_space and r.trigger_message_id = v_message));
  end if;
  select m.entity_id, x.type, x.display_name, x.external_id into sender from troupe.memberships m join troupe.entities x on x.id = m.entity_id
    where m.space_id = v_space and m.entity_id = v_sender;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  v_seq := base + 1;
  -- Only members can answer.
  if jsonb_typeof(wait->'for') = 'array' then
    strangers := array(select x::uuid from jsonb_array_elements_text(wait->'for') x
      where x::uuid = v_sender or not exists (select from troupe.memberships m where m.space_id = v_space and m.entity_id = x::uuid));
    if cardinality(strangers) > 0 then
      return jsonb_build_object('ok', false, 'code', 'not_members', 'entities', to_jsonb(strangers));
    end if;
  end if;

  -- 3. Whom it is for.
  select coalesce(array_agg(x.id order by m.joined_at, x.id), '{}') into targets
    from troupe.memberships m join troupe.entities x on x.id = m.entity_id join troupe.agents a on a.id = x.agent_id
    where m.space_id = v_space and x.id <> v_sender and a.status = 'active' and coalesce((item->>'starts')::boolean, true)
      and case place.policy when 'all' then true when 'humans' then sender.type = 'human'
        else two or item->'mentions' ? x.id::text or troupe.mentions(text_said, x.display_name) end;

  -- 4. Who waits for a reply goes on with it and is not started. What somebody waits for is decided here and nowhere else.
  for w in select x.*, r.status, r.entity_id as waiter from troupe.reply_waits x join troupe.runs r on r.id = x.run_id
      where x.space_id = v_space and x.entity_id <> v_sender and x.message_seq < v_seq
        and (x.any_reply or x.waiting_for @> jsonb_build_array(jsonb_build_object('entityId', v_sender, 'responded', false)))
      order by x.run_id, x.call_id loop
    if not w.run_id = any(locked) then
      perform 1 from troupe.runs r where r.id = w.run_id for no key update skip locked;
      if not found then
        raise exception 'troupe.post_to_space: a run began to wait just now' using errcode = 'serialization_failure';
      end if;
      locked := locked || w.run_id;
    end if;
    continue when w.status not in ('running', 'queued', 'waiting_tool', 'waiting_reply');
    select coalesce(jsonb_agg(case when x->>'entityId' = v_sender::text then x || '{"responded": true}' else x end), '[]') into awaited from jsonb_array_elements(w.waiting_for) x;
    update troupe.reply_waits x set waiting_for = awaited, replies = x.replies || jsonb_build_array(jsonb_build_object('entityId', v_sender,
        'entityName', coalesce(sender.display_name, sender.external_id), 'text', left(text_said, 20000), 'messageId', v_message, 'timestamp', now()))
      where x.run_id = w.run_id and x.call_id = w.call_id;
    perform troupe.note_shown(w.run_id, v_space, v_seq, v_seq);
    is_last := w.any_reply or not awaited @> '[{"responded": false}]';
    -- One that goes on waiting for others is not started for this either.
    waiters := waiters || w.waiter;
    if is_last then
      resumed := resumed || w.run_id;
    end if;
    replied := replied || jsonb_build_array(jsonb_build_object('run', w.run_id, 'call', w.call_id, 'entity', w.waiter, 'done', is_last));
  end loop;
  select coalesce(array_agg(t order by k), '{}') into targets from unnest(targets) with ordinality x(t, k) where not t = any(waiters);

  -- 5. Agents are limited; a person never is.
  if sender.type = 'agent' and cardinality(targets) > 0 then
    if depth > place.chain_depth then
      refused := targets; targets := '{}'; refusal := 'chain_depth';
    else
      -- One chain can go on in several spaces at once.
      perform pg_advisory_xact_lock(hashtextextended('troupe.chain:' || origin, 0));
      room := greatest(0, place.agent_runs - (select count(*)::int from troupe.runs r where r.origin_id = origin and r.chain_depth > 0));
      if room < cardinality(targets) then
        refused := targets[room + 1 :]; targets := targets[: room]; refusal := 'agent_runs';
      end if;
    end if;
  end if;

  -- 6. One at a time: what is said to an agent whose next run has yet to begin is for that run.
  for e in select t from unnest(targets) t join troupe.memberships m on m.space_id = v_space and m.entity_id = t where m.ordering = 'serial' loop
    existing := null;
    select r.id into existing from troupe.runs r where r.entity_id = e and r.door = 'space' and r.space_id = v_space and r.status = 'queued' and r.started_at is null
      and r.lane = 'space:' || v_space || ':' || e order by r.id desc limit 1 for no key update skip locked;
    if existing is not null then
      insert into troupe.folded_messages (entity_id, message_id, run_id, space_id) values (e, v_message, existing, v_space);
      folded := folded || jsonb_build_array(jsonb_build_object('run', existing, 'entity', e));
      targets := array_remove(targets, e);
    end if;
  end loop;

  -- 7. What each of them runs with.
  offered := array(select (a->>'entity')::uuid from jsonb_array_elements(item->'agents') a);
  if not targets <@ offered then
    -- Nothing may stay of what was written above.
    raise exception 'troupe.post_to_space: the members have changed' using errcode = 'TR002';
  end if;

  -- 8. The runs.
  about := jsonb_build_object('spaceId', v_space, 'spaceName', place.name, 'messageId', v_message, 'sequence', v_seq, 'text', left(text_said, 20000),
    'senderId', v_sender, 'senderName', coalesce(sender.display_name, sender.external_id), 'senderType', sender.type, 'createdAt', now());
  if cardinality(targets) > 0 then
    with chosen as materialized (
      select t as entity, k, troupe.new_id() as run, troupe.new_id() as thread, (a->>'agent')::uuid as agent, (a->>'snapshot')::uuid as snapshot, (a->>'wallMs')::bigint as wall,
        m.ordering = 'serial' as serial
      from unnest(targets) with ordinality x(t, k)
        join jsonb_array_elements(item->'agents') a on (a->>'entity')::uuid = t
        join troupe.memberships m on m.space_id = v_space and m.entity_id = t),
    threads as (insert into troupe.threads (id, project_id, kind, last_event_seq) select c.thread, v_project, 'run', 1 from chosen c),
    runs as (
      insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id, trigger_type, trigger_message_id, trigger,
        chain_depth, lane, lane_limit, wall_ms, history_limit, space_id, active_space_id, origin_id)
      select c.run, v_project, 'space', c.agent, c.entity, c.snapshot, c.thread, by_run, coalesce(speaker.root_run_id, c.run), 'space_message', v_message, about,
        depth, case when c.serial then 'space:' || v_space || ':' || c.entity end, case when c.serial then 1 end, c.wall, 1000000, v_space, v_space, origin
      from chosen c),
    told as (insert into troupe.events (thread_id, seq, type, run_id) select c.thread, 1, 'run.queued', c.run from chosen c)
    select jsonb_agg(jsonb_build_object('id', c.run, 'entity', c.entity, 'thread', c.thread) order by c.k) into started from chosen c;
  end if;

  -- 9. What is said and told.
  insert into troupe.messages (thread_id, seq, id, role, content, sender_id, run_id, step, metadata)
    values (v_space, v_seq, v_message, (message->>'role')::troupe.message_role, message->'content', v_sender, by_run, (item->'by'->>'step')::int, message->'metadata');
  events := jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('type', 'message.created', 'message', 1, 'run', by_run, 'data',
    jsonb_build_object('id', v_message, 'role', message->'role', 'senderId', v_sender, 'streamId', case when by_run is not null then v_message end,
      'folded', case when folded <> '[]' then folded end, 'replies', case when replied <> '[]' then replied end))));
  events := events || coalesce((select jsonb_agg(jsonb_build_object('type', 'run.queued', 'run', s->'id', 'data', jsonb_build_object('entityId', s->'entity', 'messageId', v_message)) order by k)
    from jsonb_array_elements(started) with ordinality x(s, k)), '[]');
  if refusal is not null then
    events := events || jsonb_build_array(jsonb_build_object('type', 'run.refused', 'run', by_run, 'data', jsonb_build_object('reason', refusal, 'messageId', v_message,
      'entityIds', to_jsonb(refused), 'limit', case refusal when 'chain_depth' then place.chain_depth else place.agent_runs end)));
  end if;
  written := jsonb_array_length(events);
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id)
    select v_space, events_base + k, x->>'type', x->'data', case when x ? 'message' then v_seq end, (x->>'run')::uuid from jsonb_array_elements(events) with ordinality y(x, k);
  update troupe.threads t set last_message_seq = v_seq, last_event_seq = events_base + written where t.id = v_space;
  if by_run is not null then
    perform troupe.note_shown(by_run, v_space, v_seq, v_seq);
  elsif sender.type = 'human' then
    update troupe.memberships m set last_seen_seq = v_seq, last_seen_message_id = v_message where m.space_id = v_space and m.entity_id = v_sender;
  end if;

  -- 10. Who goes on, and who begins to wait.
  for w in select x->>'run' as run, x->>'call' as call from jsonb_array_elements(replied) x where (x->>'done')::boolean loop
    perform troupe.end_wait(w.run::uuid, w.call, 'resolved');
  end loop;
  if wait is not null then
    perform troupe.begin_wait(by_run, item->'by'->>'call', v_space, v_message, v_seq, wait);
  end if;
  return jsonb_build_object('ok', true, 'duplicate', false, 'seq', v_seq, 'createdAt', now(), 'runs', started, 'folded', folded, 'replied', replied,
    'resumed', to_jsonb(resumed), 'refused', case when refusal is not null then jsonb_build_object('reason', refusal, 'entities', to_jsonb(refused),
      'limit', case refusal when 'chain_depth' then place.chain_depth else place.agent_runs end) end,
    'spaceName', place.name, 'recipients', recipients);
end $$;

-- A call of send_message becomes one that is open until somebody has replied. The caller has the run's row and the space.
create function troupe.begin_wait(p_run uuid, p_call text, p_space uuid, p_message uuid, p_seq bigint, p_wait jsonb) returns void language plpgsql as $$
declare
  v_timeout bigint := (p_wait->>'timeoutMs')::bigint;
begin
  update troupe.tool_calls c set status = 'requested', waits_for = 'reply', deadline = now() + make_interval(secs => v_timeout::float8 / 1000)
    where c.run_id = p_run and c.call_id = p_call and c.status = 'running';
  if not found then
    raise exception 'troupe.begin_wait: call % of run % is not running', p_call, p_run;
  end if;
  insert into troupe.reply_waits (run_id, call_id, space_id, entity_id, message_id, message_seq, waiting_for, any_reply, timeout_ms)
    select p_run, p_call, p_space, r.entity_id, p_message, p_seq,
      (select coalesce(jsonb_agg(jsonb_build_object('entityId', e.id, 'entityName', coalesce(e.display_name, e.external_id), 'entityType', e.type, 'responded', false)), '[]')
        from troupe.entities e where case when jsonb_typeof(p_wait->'for') = 'array' then p_wait->'for' ? e.id::text else false end),
      coalesce(jsonb_typeof(p_wait->'for'), 'null') <> 'array', v_timeout
    from troupe.runs r where r.id = p_run;
  update troupe.runs r set open_calls = r.open_calls + 1, updated_at = now() where r.id = p_run;
end $$;

-- The wait is over: `resolved`, or by time, with what came. The caller has the run's row. False where it was over before.
create function troupe.end_wait(p_run uuid, p_call text, p_how text) returns boolean language plpgsql as $$
declare
  w troupe.reply_waits; r troupe.runs; told jsonb; v_step int; queued boolean;
begin
  delete from troupe.reply_waits x where x.run_id = p_run and x.call_id = p_call returning * into w;
  if not found then
    return false;
  end if;
  select * into r from troupe.runs x where x.id = p_run;
  told := jsonb_build_object('success', true, 'messageId', w.message_id, 'status', p_how, 'replies', w.replies, 'waitingFor', w.waiting_for,
    'waitDuration', round(extract(epoch from now() - w.started_at) * 1000));
  update troupe.tool_calls c set status = 'completed', output = told, waits_for = null, deadline = null, settled_at = now(), settled_by = 'reply'
    where c.run_id = p_run and c.call_id = p_call and c.waits_for is not null returning c.step into v_step;
  if not found then
    return false;
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  perform troupe.append(r.thread_id, p_run,
    jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', p_call, 'step', v_step, 'content', jsonb_build_object('result', told, 'error', null))),
    jsonb_build_array(jsonb_build_object('type', 'tool.completed', 'message', 0, 'step', v_step, 'data', jsonb_build_object('id', p_call, 'status', 'completed', 'by', 'reply'))));
  queued := r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 1;
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status else x.status end, run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status in ('waiting_tool', 'waiting_reply') then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null)) else x.wait_deadline end, updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end if;
  return true;
end $$;

-- The last messages up to a place, as an agent finds them: what it said itself it has seen.
-- Pictures are only counted: they are large, and the one who is to look at them gets them otherwise.
-- `p_units`: about how many characters, since what is left out for its length was not shown; the newest is always there.
create function troupe.space_history(p_space uuid, p_entity uuid, p_upto bigint, p_limit int, p_units int) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content - 'parts',
    'pictures', (select count(*) from jsonb_array_elements(m.content->'parts') x where x->>'type' = 'image'), 'senderId', m.sender_id, 'senderName', coalesce(e.display_name, e.external_id), 'senderType', e.type, 'runId', m.run_id, 'metadata', m.metadata, 'createdAt', m.created_at,
    'seen', m.sender_id is not distinct from p_entity or coalesce(s.seen @> m.seq, false)) order by m.seq), '[]')
  from (select n.*, sum(least(length(n.content->>'text'), 10000) + coalesce(length(n.metadata::text), 0) + 300) over (order by n.seq desc) as units, row_number() over (order by n.seq desc) as place
      from (select * from troupe.messages x where x.thread_id = p_space and x.seq <= p_upto order by x.seq desc limit p_limit) n) m
    left join troupe.entities e on e.id = m.sender_id
    left join troupe.memberships s on s.space_id = p_space and s.entity_id = p_entity
  where m.units <= p_units or m.place = 1
$$;

create function troupe.note_history(p_run uuid, p_space uuid, p_history jsonb) returns void language sql as $$
  insert into troupe.run_shown as x (run_id, space_id, seqs)
    select p_run, p_space, range_agg(int8range((m->>'seq')::bigint, (m->>'seq')::bigint, '[]')) from jsonb_array_elements(p_history) m having count(*) > 0
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs
$$;

-- A run turns to another space of its agent.
create function troupe.enter_space(p_run uuid, p_epoch int, p_worker uuid, p_space uuid, p_limit int) returns jsonb language plpgsql as $$
declare
  r troupe.runs; place troupe.spaces; last_seq bigint; history jsonb; about jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found or not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select s.* into place from troupe.spaces s join troupe.memberships m on m.space_id = s.id and m.entity_id = r.entity_id where s.id = p_space and s.project_id = r.project_id;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  perform 1 from troupe.threads t where t.id in (p_space, r.active_space_id) order by t.id for no key update;
  select t.last_message_seq into last_seq from troupe.threads t where t.id = p_space;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  if p_space is distinct from r.active_space_id then
    update troupe.runs x set active_space_id = p_space, updated_at = now() where x.id = p_run;
    about := jsonb_build_object('entityId', r.entity_id, 'agentName', (select e.display_name from troupe.entities e where e.id = r.entity_id));
    if p_space is distinct from r.space_id then
      perform troupe.append(p_space, p_run, null, jsonb_build_array(jsonb_build_object('type', 'agent.active', 'data', about)));
    end if;
    if r.active_space_id is not null and r.active_space_id is distinct from r.space_id and exists (select from troupe.spaces s where s.id = r.active_space_id) then
      perform troupe.append(r.active_space_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'agent.inactive', 'data', about)));
    end if;
  end if;
  history := troupe.space_history(p_space, r.entity_id, last_seq, p_limit, 60000);
  perform troupe.note_history(p_run, p_space, history);
  return jsonb_build_object('ok', true, 'spaceId', p_space, 'spaceName', place.name, 'history', history, 'total', last_seq, 'left', r.active_space_id,
    'members', (select jsonb_agg(jsonb_build_object('entityId', e.id, 'name', coalesce(e.display_name, e.external_id), 'type', e.type) order by m.joined_at, e.id)
      from troupe.memberships m join troupe.entities e on e.id = m.entity_id where m.space_id = p_space));
end $$;

-- The same without turning to it: `offset` messages before the end, or those that contain a text.
create function troupe.read_space(p_run uuid, p_epoch int, p_worker uuid, p_space uuid, p_limit int, p_offset bigint, p_search text) returns jsonb language plpgsql as $$
declare
  v_entity uuid; v_project uuid; last_seq bigint; history jsonb;
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select x.entity_id, x.project_id into v_entity, v_project from troupe.runs x where x.id = p_run;
  select t.last_message_seq into last_seq from troupe.threads t join troupe.memberships m on m.space_id = t.id and m.entity_id = v_entity
    where t.id = p_space and t.project_id = v_project;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  if p_search is null then
    history := troupe.space_history(p_space, v_entity, last_seq - p_offset, p_limit, 60000);
  else
    select coalesce(jsonb_agg(h order by (h->>'seq')::bigint), '[]') into history from (
      select m.seq from troupe.messages m where m.thread_id = p_space and position(lower(p_search) in lower(m.content->>'text')) > 0
      order by m.seq desc offset p_offset limit p_limit) f
      cross join lateral jsonb_array_elements(troupe.space_history(p_space, v_entity, f.seq, 1, 0)) h;
  end if;
  perform troupe.note_history(p_run, p_space, history);
  return jsonb_build_object('ok', true, 'spaceId', p_space, 'history', history, 'total', last_seq);
end $$;

-- What the prompt of a run shows of the space that it began in: from here on it ends there, whoever makes it.
create function troupe.show_prompt(p_run uuid, p_epoch int, p_worker uuid, p_space uuid, p_from bigint, p_upto bigint) returns boolean language plpgsql as $$
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  insert into troupe.run_shown as x (run_id, space_id, seqs, prompt_upto) values (p_run, p_space, int8multirange(int8range(p_from, p_upto, '[]')), p_upto)
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs, prompt_upto = coalesce(x.prompt_upto, excluded.prompt_upto);
  -- What began the run is in its prompt, however long ago it was said.
  perform troupe.note_shown(p_run, p_space, (r.trigger->>'sequence')::bigint, (r.trigger->>'sequence')::bigint)
    from troupe.runs r where r.id = p_run and r.space_id = p_space and r.trigger ? 'sequence';
  return true;
end $$;

-- Stops another run of the same agent. The one who asks must still have its own.
create function troupe.stop_run(p_target uuid, p_by uuid, p_epoch int, p_worker uuid) returns jsonb language plpgsql as $$
declare
  target troupe.runs; asking troupe.runs;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_stop_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into asking from troupe.runs r where r.id = p_by;
  if not troupe.has_run(p_by, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif target.id is null or target.project_id <> asking.project_id then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from asking.entity_id then
    return jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.status in ('completed', 'failed', 'canceled') then
    return jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status, 'reason', target.cancel_reason);
  end if;
  perform troupe.end_run(p_target, 'user', 'run:' || p_by, null, 'run.canceled');
  return jsonb_build_object('ok', true, 'worker', target.worker_id, 'thread', target.thread_id, 'spaces', to_jsonb(array[target.space_id, target.active_space_id]));
end $$;

-- As before (0004), and whose readers are to be told.
create or replace function troupe.absorb(p_target uuid, p_by uuid, p_worker uuid, p_epoch int) returns jsonb language plpgsql as $$
declare
  target troupe.runs; absorber troupe.runs; answer jsonb;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_absorb_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into absorber from troupe.runs r where r.id = p_by;
  if absorber.id is null or absorber.status <> 'running' or absorber.epoch <> p_epoch or absorber.worker_id <> p_worker then
    answer := jsonb_build_object('ok', false, 'code', 'absorber_lost');
  elsif target.id is null or target.project_id <> absorber.project_id then
    answer := jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from absorber.entity_id then
    answer := jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.absorbed_by is not null and target.absorbed_by <> p_by then
    answer := jsonb_build_object('ok', false, 'code', 'already_absorbed', 'by', target.absorbed_by);
  elsif target.absorbed_by is null and target.status in ('completed', 'failed', 'canceled') then
    answer := jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status);
  end if;
  if answer is not null then
    perform troupe.pass(r) from troupe.runs r where r.id in (p_target, p_by) order by r.thread_id;
    return answer;
  end if;
  -- What it did, as it stood when it was stopped: a call closed by this very absorption shows as canceled.
  if target.absorbed_by is null then
    perform troupe.end_run(p_target, 'absorbed', null, p_by, 'run.absorbed');
  end if;
  select jsonb_build_object('ok', true, 'run', p_target, 'status', target.status, 'worker', target.worker_id, 'thread', target.thread_id, 'spaces', to_jsonb(array[target.space_id, target.active_space_id]),
    'trigger', target.trigger || jsonb_strip_nulls(jsonb_build_object('type', target.trigger_type, 'messageId', target.trigger_message_id)),
    'actions', coalesce((select jsonb_agg(troupe.call_json(c) order by c.step, c.position) from troupe.tool_calls c where c.run_id = p_target), '[]'))
  into answer;
  return answer;
end $$;
