-- breaking: false
-- Triggers: rules that act when a row of a collection changes and a condition holds. The commit that changes the row writes a change,
-- with both images and the rules of the moment; a change becomes deliveries in the transaction that deletes it; a delivery is attempted
-- until it is made or given up.

create table troupe.triggers (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (name ~ '^[A-Za-z0-9_-]{1,64}$'),
  version int not null default 1,
  -- All that people edit, as the contract has it.
  definition jsonb not null,
  -- What follows from it: the collections that its glob can match, and the glob as a pattern for paths of collections.
  collections text[] not null,
  pattern text not null,
  events text[] not null,
  enabled boolean not null,
  disabled_reason text,
  condition_error jsonb,
  -- Given up since the last one that was made.
  dead_in_row int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index triggers_name on troupe.triggers (project_id, lower(name));

-- What a rule was with each version: a change is judged by the rules that held when it was made.
create table troupe.trigger_versions (
  trigger_id uuid not null references troupe.triggers on delete cascade,
  version int not null,
  definition jsonb not null,
  created_at timestamptz not null default now(),
  primary key (trigger_id, version)
);

-- Rows live for milliseconds.
create table troupe.changes (
  id bigint generated always as identity primary key,
  project_id uuid not null,
  collection text not null,
  -- Of the document; what stands before its last segment is the path of its collection.
  path text not null,
  document_id text not null,
  user_id uuid,
  -- The session or space that it is of.
  chat_id uuid,
  event text not null,
  before jsonb,
  after jsonb,
  depth int not null,
  -- [{ id, version }]
  rules jsonb not null,
  created_at timestamptz not null default now()
);
create index changes_path on troupe.changes (path, id);

create table troupe.trigger_deliveries (
  id uuid primary key,
  project_id uuid not null,
  trigger_id uuid not null references troupe.triggers on delete cascade,
  version int not null,
  -- The version whose action is carried out: that of the change, until somebody delivers it again by hand.
  action_version int not null,
  change_id bigint not null,
  event text not null,
  path text not null,
  document_id text not null,
  user_id uuid,
  chat_id uuid,
  -- What it is of was deleted: the images are gone, or go as soon as it has ended.
  erased boolean not null default false,
  before jsonb,
  after jsonb,
  depth int not null,
  -- To an address of the server itself, which only a process that serves knows.
  own boolean not null,
  status text not null default 'pending' check (status in ('pending', 'sending', 'delivered', 'dead')),
  attempts int not null default 0,
  -- Of these, how many before it was last delivered again by hand.
  attempts_before int not null default 0,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  error jsonb,
  result jsonb,
  changed_at timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  unique (trigger_id, version, change_id),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check ((status = 'sending') = (lease_until is not null)),
  check ((status in ('delivered', 'dead')) = (ended_at is not null))
);
create index trigger_deliveries_due on troupe.trigger_deliveries (next_attempt_at) where status = 'pending';
create index trigger_deliveries_leased on troupe.trigger_deliveries (lease_until) where status = 'sending';
create index trigger_deliveries_order on troupe.trigger_deliveries (trigger_id, path, change_id) where status in ('pending', 'sending');
create index trigger_deliveries_made on troupe.trigger_deliveries (trigger_id, ended_at) where status = 'delivered';
create index trigger_deliveries_sending on troupe.trigger_deliveries (trigger_id) where status = 'sending';
create index trigger_deliveries_dead on troupe.trigger_deliveries (trigger_id) where status = 'dead';
create index trigger_deliveries_newest on troupe.trigger_deliveries (project_id, id desc);
create index trigger_deliveries_of on troupe.trigger_deliveries (trigger_id, id desc);
create index trigger_deliveries_path on troupe.trigger_deliveries (project_id, path, id desc);
create index trigger_deliveries_document on troupe.trigger_deliveries (project_id, document_id, id desc);
create index trigger_deliveries_chat on troupe.trigger_deliveries (chat_id) where chat_id is not null;
create index trigger_deliveries_user on troupe.trigger_deliveries (user_id) where user_id is not null;
create index trigger_deliveries_ended on troupe.trigger_deliveries (ended_at) where status in ('delivered', 'dead');

create table troupe.trigger_attempts (
  delivery_id uuid not null references troupe.trigger_deliveries on delete cascade,
  attempt int not null,
  started_at timestamptz not null default now(),
  -- Null: under way, or its process died.
  duration_ms int,
  request jsonb,
  response jsonb,
  error jsonb,
  primary key (delivery_id, attempt)
);

-- Takes deliveries that are due and no other process has: those of one rule and one document one after the other, none before a change of
-- the document that has yet to be judged, and none of a rule that is not enabled. An attempt counts from here on: a process that dies
-- leaves a lease that runs out, and the next attempt has the same id. A rule with a rate has no more within a minute; the rest wait as they are.
-- Two who count at once choose the same ones, and one of them gets them. `p_busy`: rules that have enough under way.
create function troupe.claim_deliveries(p_limit int, p_own boolean, p_others boolean, p_busy uuid[]) returns setof troupe.trigger_deliveries
language plpgsql as $$
begin
  return query
  with limited as materialized (
    select t.id, (t.definition->>'ratePerMinute')::int - (select count(*) from troupe.trigger_deliveries x
        where x.trigger_id = t.id and (x.status = 'sending' and x.lease_until > now() or x.status = 'delivered' and x.ended_at > now() - interval '1 minute')) as room
    from troupe.triggers t where t.enabled and t.definition->>'ratePerMinute' is not null),
  due as materialized (
    select d.id, row_number() over (partition by d.trigger_id order by coalesce(d.next_attempt_at, d.lease_until), d.id) as place, l.room
    from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id and t.enabled left join limited l on l.id = d.trigger_id
    where coalesce(l.room, 1) > 0 and (d.status = 'pending' and d.next_attempt_at <= now() or d.status = 'sending' and d.lease_until <= now())
      and (d.own and p_own or not d.own and p_others) and d.trigger_id <> all (p_busy)
      and not exists (select from troupe.trigger_deliveries x where x.trigger_id = d.trigger_id and x.path = d.path and x.change_id < d.change_id
        and x.status in ('pending', 'sending'))
      and not exists (select from troupe.changes c where c.path = d.path and c.id < d.change_id)
    order by coalesce(d.next_attempt_at, d.lease_until) limit p_limit),
  free as materialized (
    select d.id from troupe.trigger_deliveries d join due on due.id = d.id where due.room is null or due.place <= due.room for update of d skip locked),
  taken as (
    update troupe.trigger_deliveries d set status = 'sending', attempts = d.attempts + 1, next_attempt_at = null,
      lease_until = now() + make_interval(secs => (v.definition->>'timeoutMs')::float8 / 1000 + 15)
    from free, troupe.trigger_versions v
    where d.id = free.id and v.trigger_id = d.trigger_id and v.version = d.action_version
      -- Another process may have taken it while this one waited.
      and (d.status = 'pending' or d.lease_until <= now())
    returning d.*),
  noted as (
    insert into troupe.trigger_attempts (delivery_id, attempt) select t.id, t.attempts from taken t)
  select * from taken;
end $$;

-- What became of an attempt, told by whoever made it. Counts those that were given up, and turns the rule off after `p_most` in a row, or at
-- once where the receiver asks for it. Whoever is so late that its lease ran out decides no more, but that it was delivered.
create function troupe.end_attempt(p_delivery uuid, p_attempt int, p_outcome jsonb, p_most int) returns jsonb language plpgsql as $$
declare
  d troupe.trigger_deliveries; t troupe.triggers; v_status text := p_outcome->>'status'; reason text;
begin
  -- Rules before deliveries, as whoever deletes a rule locks them.
  select x.* into t from troupe.triggers x where x.id = (select y.trigger_id from troupe.trigger_deliveries y where y.id = p_delivery) for no key update;
  select * into d from troupe.trigger_deliveries x where x.id = p_delivery for no key update;
  if d.id is null then
    return '{"ok": false}';
  end if;
  update troupe.trigger_attempts a set duration_ms = (p_outcome->>'durationMs')::int, request = p_outcome->'request',
    response = case when d.erased and p_outcome->'response' ? 'body' then (p_outcome->'response') - 'body' else p_outcome->'response' end, error = p_outcome->'error'
    where a.delivery_id = p_delivery and a.attempt = p_attempt and a.duration_ms is null;
  if (d.attempts <> p_attempt or d.status <> 'sending')
      and not (v_status = 'delivered' and d.status in ('pending', 'sending') and p_attempt > d.attempts_before and p_attempt <= d.attempts) then
    return '{"ok": false}';
  end if;
  update troupe.trigger_deliveries x set status = v_status, lease_until = null,
    -- What is only put off was no attempt.
    attempts = x.attempts - case when (p_outcome->>'putOff')::boolean then 1 else 0 end,
    next_attempt_at = case when v_status = 'pending' then now() + make_interval(secs => (p_outcome->>'delayMs')::float8 / 1000) end,
    ended_at = case when v_status <> 'pending' then now() end,
    before = case when v_status = 'pending' or not x.erased then x.before end, after = case when v_status = 'pending' or not x.erased then x.after end,
    error = case when v_status = 'delivered' then null else coalesce(p_outcome->'error', x.error) end, result = coalesce(p_outcome->'result', x.result)
    where x.id = p_delivery;
  if (p_outcome->>'putOff')::boolean then
    delete from troupe.trigger_attempts a where a.delivery_id = p_delivery and a.attempt = p_attempt;
  elsif v_status = 'delivered' and t.dead_in_row > 0 then
    update troupe.triggers x set dead_in_row = 0 where x.id = t.id;
  elsif v_status = 'dead' then
    reason := case when (p_outcome->>'gone')::boolean then 'The receiver answered 410: it is gone for good.'
      when t.dead_in_row + 1 >= p_most then format('%s deliveries in a row were given up; the last: %s', t.dead_in_row + 1, p_outcome->'error'->>'message') end;
    update troupe.triggers x set dead_in_row = x.dead_in_row + 1 where x.id = t.id;
    if reason is not null and t.enabled then
      update troupe.triggers x set enabled = false, disabled_reason = reason, updated_at = now() where x.id = t.id;
      insert into troupe.audit_log (project_id, actor_kind, action, target, data)
        values (t.project_id, 'system', 'trigger.disabled', t.id::text, jsonb_build_object('name', t.name, 'reason', reason));
      return jsonb_build_object('ok', true, 'disabled', reason);
    end if;
  end if;
  return '{"ok": true}';
end $$;

-- Which collections have their changes written down: those that an enabled rule is about. A trigger that is off costs nothing. Turning one on
-- waits for those who write the table, so that every commit after this one is seen, and keeps those who come later waiting behind it: for
-- `p_patience` milliseconds over all tables, then it gives up (55P03). Only where Postgres tidies a table up is it worth more: a vacuum goes
-- away after a second. Turning one off can wait, since a change of which no rule wants to know is not written. Called under the lock that
-- all changes of rules take.
create table troupe.captured (
  trigger_name text primary key,
  table_name text not null,
  collections text[] not null
);
create function troupe.arm_captures(p_patience int) returns void language plpgsql as $$
declare
  c record; deadline timestamptz := clock_timestamp() + make_interval(secs => p_patience / 1000.0);
begin
  for c in select x.trigger_name, x.table_name, w.wanted
      from troupe.captured x join pg_trigger g on g.tgname = x.trigger_name and g.tgrelid = ('troupe.' || x.table_name)::regclass
        cross join lateral (select exists (select from troupe.triggers t where t.enabled and t.collections && x.collections) as wanted) w
      where w.wanted <> (g.tgenabled <> 'D') order by w.wanted desc, x.table_name loop
    if c.wanted then
      perform set_config('lock_timeout', greatest(1, ceil(extract(epoch from deadline - clock_timestamp()) * 1000)) || 'ms', true);
      execute format('alter table troupe.%I enable trigger %I', c.table_name, c.trigger_name);
    else
      begin
        perform set_config('lock_timeout', '10ms', true);
        execute format('alter table troupe.%I disable trigger %I', c.table_name, c.trigger_name);
      exception when lock_not_available or deadlock_detected then
        null;
      end;
    end if;
  end loop;
end $$;
-- Whether a table that is to be captured, and is not yet, is being tidied up.
create function troupe.is_tidied() returns boolean language sql stable as $$
  select exists (select from troupe.captured x join pg_trigger g on g.tgname = x.trigger_name and g.tgrelid = ('troupe.' || x.table_name)::regclass
      join pg_locks l on l.locktype = 'relation' and l.relation = g.tgrelid and l.granted and l.mode = 'ShareUpdateExclusiveLock'
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
    where g.tgenabled = 'D' and exists (select from troupe.triggers t where t.enabled and t.collections && x.collections))
$$;

-- Writes a change down where a rule wants to know of it. `p_path`: of the collection.
create function troupe.capture(p_collection text, p_project uuid, p_chat uuid, p_path text, p_document text, p_user uuid, p_before jsonb, p_after jsonb, p_depth int)
returns void language plpgsql as $$
declare
  what text := case when p_before is null then 'create' when p_after is null then 'delete' else 'update' end; wanted jsonb;
begin
  if p_before is not distinct from p_after then
    return;
  end if;
  select jsonb_agg(jsonb_build_object('id', t.id, 'version', t.version)) into wanted from troupe.triggers t
    where t.project_id = p_project and t.enabled and p_collection = any (t.collections) and what = any (t.events) and p_path ~ t.pattern;
  if wanted is not null then
    insert into troupe.changes (project_id, collection, path, document_id, user_id, chat_id, event, before, after, depth, rules)
      values (p_project, p_collection, p_path || '/' || p_document, p_document, p_user, p_chat, what, p_before, p_after, p_depth, wanted);
  end if;
end $$;

-- Whether any rule of the project wants to know of a collection at all: asked before documents are made. In PL/pgSQL, which keeps its plans:
-- functions in SQL are planned anew in every transaction, and this is what commits of projects without rules pay.
create function troupe.is_captured(p_project uuid, p_collection text) returns boolean language plpgsql stable as $$
begin
  return exists (select from troupe.triggers t where t.project_id = p_project and t.enabled and p_collection = any (t.collections));
end $$;
create function troupe.is_thread_captured(p_thread uuid, p_collections text[]) returns boolean language plpgsql stable as $$
begin
  -- A thread that this transaction deletes is looked at all the same.
  return exists (select from troupe.threads h join troupe.triggers t on t.project_id = h.project_id where h.id = p_thread and t.enabled and t.collections && p_collections)
    or not exists (select from troupe.threads h where h.id = p_thread);
end $$;

-- How many triggers led to what a run does: what started it says so, or what started that. Callers cannot write the note; what it is not is 0.
create function troupe.noted_depth(p_metadata jsonb) returns int language sql immutable as $$
  select case when p_metadata->>'troupe:depth' ~ '^[0-9]{1,4}$' then (p_metadata->>'troupe:depth')::int end
$$;
create function troupe.trigger_depth(p_run uuid) returns int language plpgsql stable as $$
declare
  r troupe.runs; m troupe.messages; above uuid := p_run; depth int;
begin
  for i in 1..50 loop
    exit when above is null;
    select * into r from troupe.runs x where x.id = above;
    if not found then
      return 0;
    end if;
    m := null;
    if r.trigger_message_id is not null then
      select * into m from troupe.messages x where x.id = r.trigger_message_id;
    end if;
    depth := coalesce(troupe.noted_depth(r.metadata), troupe.noted_depth(m.metadata));
    if depth is not null then
      return depth;
    end if;
    above := coalesce(m.run_id, r.parent_run_id, nullif(r.root_run_id, r.id));
  end loop;
  return 0;
end $$;

-- ---- What the tables tell, each by a trigger that is off until a rule is about it

create function troupe.capture_tasks() returns trigger language plpgsql as $$
declare
  r troupe.tasks;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'tasks') then
    perform troupe.capture('tasks', r.project_id, r.chat_id, troupe.task_path(r), r.id::text, r.user_id, case when tg_op <> 'INSERT' then troupe.task_document(old) end,
      case when tg_op <> 'DELETE' then troupe.task_document(new) end, troupe.trigger_depth(r.parent_run_id));
  end if;
  return null;
end $$;

create function troupe.capture_sub_agents() returns trigger language plpgsql as $$
declare
  r troupe.sub_agents;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'sub_agents') then
    perform troupe.capture('sub_agents', r.project_id, r.chat_id, troupe.sub_agent_path(r), r.id::text, r.user_id, case when tg_op <> 'INSERT' then troupe.sub_agent_document(old) end,
      case when tg_op <> 'DELETE' then troupe.sub_agent_document(new) end,
      troupe.trigger_depth((select t.parent_run_id from troupe.tasks t where t.id = r.task_id)));
  end if;
  return null;
end $$;

create function troupe.capture_sessions() returns trigger language plpgsql as $$
declare
  r troupe.sessions;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'sessions') then
    perform troupe.capture('sessions', r.project_id, r.id, troupe.session_path(r), r.id::text, r.entity_id, case when tg_op <> 'INSERT' then troupe.session_document(old) end,
      case when tg_op <> 'DELETE' then troupe.session_document(new) end, 0);
  end if;
  return null;
end $$;

create function troupe.capture_spaces() returns trigger language plpgsql as $$
declare
  r troupe.spaces;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'spaces') then
    perform troupe.capture('spaces', r.project_id, r.id, troupe.space_path(r), r.id::text, null, case when tg_op <> 'INSERT' then troupe.space_document(old) end,
      case when tg_op <> 'DELETE' then troupe.space_document(new) end, 0);
  end if;
  return null;
end $$;

-- What an agent has seen changes with its runs: the newest of them in the space tells how it came about.
create function troupe.capture_memberships() returns trigger language plpgsql as $$
declare
  r troupe.memberships; project uuid;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  select t.project_id into project from troupe.threads t where t.id = r.space_id;
  if troupe.is_captured(project, 'memberships') then
    perform troupe.capture('memberships', project, r.space_id, troupe.membership_path(r), r.space_id || ':' || r.entity_id, r.entity_id,
      case when tg_op <> 'INSERT' then troupe.membership_document(old) end, case when tg_op <> 'DELETE' then troupe.membership_document(new) end,
      coalesce((select troupe.trigger_depth(x.id) from troupe.runs x where x.entity_id = r.entity_id and x.door = 'space' order by x.id desc limit 1), 0));
  end if;
  return null;
end $$;

create function troupe.capture_runs() returns trigger language plpgsql as $$
declare
  r troupe.runs; place troupe.place;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'runs') then
    place := troupe.place_of_thread(r.thread_id);
    perform troupe.capture('runs', r.project_id, place.chat_id, troupe.run_path(r), r.id::text, place.user_id, case when tg_op <> 'INSERT' then troupe.run_document(old) end,
      case when tg_op <> 'DELETE' then troupe.run_document(new) end, troupe.trigger_depth(r.id));
  end if;
  return null;
end $$;

-- At the end of the transaction: the rows of an answer are written one after the other, and are one document within a sub-agent.
create function troupe.capture_messages() returns trigger language plpgsql as $$
declare
  r troupe.messages; place troupe.place; before jsonb; after jsonb; whose uuid; at text;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if not troupe.is_thread_captured(r.thread_id, '{messages,sub_agent_messages}') then
    return null;
  end if;
  place := troupe.place_of_thread(r.thread_id);
  if place.collection is null or not troupe.is_captured(place.project_id, place.collection) then
    return null;
  end if;
  if place.collection = 'messages' then
    before := case when tg_op <> 'INSERT' then troupe.message_document(old, place) end;
    after := case when tg_op <> 'DELETE' then troupe.message_document(new, place) end;
    whose := coalesce(place.user_id, nullif(coalesce(after, before)->>'userId', '')::uuid); at := 'messages';
  else
    before := case when tg_op <> 'INSERT' then troupe.sub_agent_message_document(old, place) end;
    after := case when tg_op <> 'DELETE' then troupe.sub_agent_message_document(new, place) end;
    whose := place.user_id; at := 'sub-agents/' || place.sub_agent_id || '/messages';
  end if;
  perform troupe.capture(place.collection, place.project_id, place.chat_id, troupe.chat_path(whose, place.chat_id, at), r.id::text, whose, before, after,
    coalesce(troupe.noted_depth(r.metadata), troupe.trigger_depth(r.run_id)));
  return null;
end $$;

create function troupe.capture_tool_calls() returns trigger language plpgsql as $$
declare
  r troupe.tool_calls; place troupe.place;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if not exists (select from troupe.runs x join troupe.triggers t on t.project_id = x.project_id
      where x.id = r.run_id and x.task_id is not null and t.enabled and 'sub_agent_tool_calls' = any (t.collections)) then
    return null;
  end if;
  select p.* into place from troupe.runs x cross join lateral troupe.place_of_thread(x.thread_id) p where x.id = r.run_id and x.task_id is not null;
  if place.sub_agent_id is null or not troupe.is_captured(place.project_id, 'sub_agent_tool_calls') then
    return null;
  end if;
  perform troupe.capture('sub_agent_tool_calls', place.project_id, place.chat_id, troupe.tool_call_path(r), troupe.call_document_id(r.run_id, r.call_id), place.user_id,
    case when tg_op <> 'INSERT' then troupe.tool_call_document(old, place) end, case when tg_op <> 'DELETE' then troupe.tool_call_document(new, place) end,
    troupe.trigger_depth(r.run_id));
  return null;
end $$;

create trigger tasks_capture after insert or update or delete on troupe.tasks for each row execute function troupe.capture_tasks();
create trigger sub_agents_capture after insert or update or delete on troupe.sub_agents for each row execute function troupe.capture_sub_agents();
create trigger sessions_capture after insert or update or delete on troupe.sessions for each row execute function troupe.capture_sessions();
create trigger spaces_capture after insert or update or delete on troupe.spaces for each row execute function troupe.capture_spaces();
create trigger memberships_capture after insert or update or delete on troupe.memberships for each row execute function troupe.capture_memberships();
create trigger runs_capture after insert or update or delete on troupe.runs for each row execute function troupe.capture_runs();
create trigger tool_calls_capture after insert or update or delete on troupe.tool_calls for each row execute function troupe.capture_tool_calls();
create constraint trigger messages_capture after insert or update or delete on troupe.messages deferrable initially deferred for each row
  execute function troupe.capture_messages();
insert into troupe.captured (trigger_name, table_name, collections) values
  ('tasks_capture', 'tasks', '{tasks}'),
  ('sub_agents_capture', 'sub_agents', '{sub_agents}'),
  ('sessions_capture', 'sessions', '{sessions}'),
  ('spaces_capture', 'spaces', '{spaces}'),
  ('memberships_capture', 'memberships', '{memberships}'),
  ('runs_capture', 'runs', '{runs}'),
  ('tool_calls_capture', 'tool_calls', '{sub_agent_tool_calls}'),
  ('messages_capture', 'messages', '{messages,sub_agent_messages}');
alter table troupe.tasks disable trigger tasks_capture;
alter table troupe.sub_agents disable trigger sub_agents_capture;
alter table troupe.sessions disable trigger sessions_capture;
alter table troupe.spaces disable trigger spaces_capture;
alter table troupe.memberships disable trigger memberships_capture;
alter table troupe.runs disable trigger runs_capture;
alter table troupe.tool_calls disable trigger tool_calls_capture;
alter table troupe.messages disable trigger messages_capture;

-- ---- What is deleted leaves no images behind
-- Those that have yet to be delivered keep theirs until then: whoever is to be told is told. An answer may hold what was sent.
create function troupe.erase_deliveries() returns trigger language plpgsql as $$
begin
  with erased as (
    update troupe.trigger_deliveries d set erased = true, before = case when d.ended_at is null then d.before end, after = case when d.ended_at is null then d.after end
      where tg_table_name = 'entities' and d.user_id = old.id or tg_table_name <> 'entities' and d.chat_id = old.id returning d.id)
  update troupe.trigger_attempts a set response = a.response - 'body' from erased where a.delivery_id = erased.id and a.response ? 'body';
  return null;
end $$;
create trigger sessions_erase after delete on troupe.sessions for each row execute function troupe.erase_deliveries();
create trigger spaces_erase after delete on troupe.spaces for each row execute function troupe.erase_deliveries();
create trigger entities_erase after delete on troupe.entities for each row execute function troupe.erase_deliveries();
