-- breaking: false
-- Rows as documents, for those who copy them (sync) and for rules over what changes (triggers): one function makes the document of a row, one
-- its path. Documents are flat, in camelCase, with times in milliseconds; what is not there is left out, but for what
-- clients have an index on, which is empty then. Nothing that is hidden from the people
-- of a chat stands in one: no sealed values, no notes of the program (`troupe:…`), no reasons of agents (`runContext`).

-- ---- In which order rows became what they are
-- `xid`: of the transaction that wrote the row last. A reader goes by (xid, id), below the oldest transaction that still runs, so that nothing
-- comes in behind him. Rows from before have 0. A default does it for what is inserted, since it costs less than a trigger.

alter table troupe.messages add column xid bigint not null default 0;
alter table troupe.runs add column xid bigint not null default 0;
alter table troupe.tool_calls add column xid bigint not null default 0;
alter table troupe.sessions add column xid bigint not null default 0;
alter table troupe.spaces add column xid bigint not null default 0;
-- `joined_xid`: from where on its entity sees what was in the space before.
alter table troupe.memberships add column xid bigint not null default 0, add column joined_xid bigint not null default 0;
alter table troupe.messages alter column xid set default pg_current_xact_id()::text::bigint;
alter table troupe.runs alter column xid set default pg_current_xact_id()::text::bigint;
alter table troupe.tool_calls alter column xid set default pg_current_xact_id()::text::bigint;
alter table troupe.sessions alter column xid set default pg_current_xact_id()::text::bigint;
alter table troupe.spaces alter column xid set default pg_current_xact_id()::text::bigint;
alter table troupe.memberships alter column xid set default pg_current_xact_id()::text::bigint, alter column joined_xid set default pg_current_xact_id()::text::bigint;

create trigger messages_stamp before update on troupe.messages for each row execute function troupe.stamp_xid();
-- Only for what stands in the document.
create trigger runs_stamp before update on troupe.runs for each row
  when (old.status is distinct from new.status or old.step is distinct from new.step or old.active_space_id is distinct from new.active_space_id
    or old.absorbed_by is distinct from new.absorbed_by or old.cancel_reason is distinct from new.cancel_reason or old.cost is distinct from new.cost
    or old.input_tokens is distinct from new.input_tokens or old.output_tokens is distinct from new.output_tokens
    or old.completed_at is distinct from new.completed_at or old.task_id is distinct from new.task_id)
  execute function troupe.stamp_xid();
create trigger tool_calls_stamp before update of status, args on troupe.tool_calls for each row execute function troupe.stamp_xid();
create trigger sessions_stamp before update on troupe.sessions for each row execute function troupe.stamp_xid();
create trigger spaces_stamp before update on troupe.spaces for each row execute function troupe.stamp_xid();
create trigger memberships_stamp before update on troupe.memberships for each row
  when (old.role is distinct from new.role or old.ordering is distinct from new.ordering
    or old.last_seen_message_id is distinct from new.last_seen_message_id or old.last_processed_message_id is distinct from new.last_processed_message_id)
  execute function troupe.stamp_xid();

-- Rows are appended with rising xids: a summary of each few pages finds what is new, and costs an insert next to nothing.
create index messages_xid on troupe.messages using brin (xid) with (pages_per_range = 16, autosummarize = on);
create index tool_calls_xid on troupe.tool_calls using brin (xid) with (pages_per_range = 16, autosummarize = on);
-- A run that changes is written at another place; every index of it is written then, and one more is little.
create index runs_xid on troupe.runs (xid);
create index sessions_xid on troupe.sessions (xid);
create index spaces_xid on troupe.spaces (xid);
create index memberships_xid on troupe.memberships (xid);
create index tasks_xid on troupe.tasks (xid);
create index sub_agents_xid on troupe.sub_agents (xid);

-- ---- What is gone
-- `entity_id`: whose it was; of a membership, who left. Null in a space: those who were in it. `place_id`: the thread or space that it was in.
-- `was`: its xid before, `born_at`: since when there was one. Who left a space before both never had it.
create table troupe.tombstones (
  collection text not null,
  id text not null,
  project_id uuid not null,
  entity_id uuid,
  place_id uuid,
  chat_id uuid,
  was bigint not null,
  born_at timestamptz,
  gone_at timestamptz not null default clock_timestamp(),
  xid bigint not null default pg_current_xact_id()::text::bigint,
  primary key (collection, id, xid)
);
create index tombstones_entity on troupe.tombstones (entity_id, collection, xid) where entity_id is not null;
create index tombstones_place on troupe.tombstones (place_id, collection, xid) where place_id is not null;
create index tombstones_project on troupe.tombstones (project_id, collection, xid);
create index tombstones_xid on troupe.tombstones (xid);
create index tombstones_gone_at on troupe.tombstones using brin (gone_at) with (pages_per_range = 16, autosummarize = on);

-- Tombstones are removed some day. Up to which transaction they were, of each project: who knows less than that begins at the beginning.
create table troupe.purged_tombstones (
  project_id uuid primary key,
  xid bigint not null
);

-- ---- Where a thread stands
-- collection: that its messages belong to; null in a thread whose messages are nobody's documents (that of a run).
create type troupe.place as (collection text, project_id uuid, user_id uuid, chat_id uuid, sub_agent_id uuid);

-- Also of what this transaction deletes, while it does.
create function troupe.place_of_thread(p_thread uuid) returns troupe.place language sql stable as $$
  select x.* from (
    select 'messages', s.project_id, s.entity_id, s.id, null::uuid from troupe.sessions s where s.thread_id = p_thread
    union all select 'messages', s.project_id, null, s.id, null from troupe.spaces s where s.id = p_thread
    union all select 'sub_agent_messages', a.project_id, a.user_id, a.chat_id, a.id from troupe.sub_agents a where a.thread_id = p_thread
    union all select case when x.collection = 'sub_agents' then 'sub_agent_messages' else 'messages' end, x.project_id, x.entity_id, x.chat_id,
        case when x.collection = 'sub_agents' then x.id::uuid end
      from troupe.tombstones x where x.place_id = p_thread and x.collection in ('sessions', 'spaces', 'sub_agents')) x
  limit 1
$$;

-- ---- Documents

create function troupe.milliseconds(p_time timestamptz) returns bigint language sql immutable parallel safe as $$
  select floor(extract(epoch from p_time) * 1000)::bigint
$$;
-- A field that is left out where there is nothing; what is within it stays as it is, nulls included.
create function troupe.field(p_name text, p_value jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when p_value is null or p_value = 'null' then '{}'::jsonb else jsonb_build_object(p_name, p_value) end
$$;
-- What people wrote, without the notes of the program.
create function troupe.own_metadata(p_metadata jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when p_metadata is null or p_metadata = '{}' then '{}'::jsonb else
    (select coalesce(jsonb_object_agg(x.key, x.value), '{}') from jsonb_each(p_metadata) x where x.key not like 'troupe:%' and x.key <> 'runContext') end
$$;
-- The id under which documents know a call: what models call theirs is unique within a run only.
create function troupe.call_document_id(p_run uuid, p_call text) returns text language sql immutable parallel safe as $$
  select troupe.id_from(p_run || ':' || p_call)::text
$$;

create function troupe.task_document(t troupe.tasks) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', t.id, 'userId', coalesce(t.user_id::text, ''), 'chatId', t.chat_id, 'type', t.type, 'name', t.name, 'instruction', t.instruction,
    'subAgentId', t.sub_agent_id, 'triggerMessageId', coalesce(t.trigger_message_id::text, ''), 'status', t.status, 'result', t.result, 'error', t.error->>'message', 'code', t.error->>'code',
    'question', t.question, 'background', t.background, 'depth', t.depth, 'parentTaskId', t.parent_task_id, 'parentRunId', t.parent_run_id, 'runId', t.run_id,
    'createdAt', troupe.milliseconds(t.created_at), 'updatedAt', troupe.milliseconds(t.updated_at))) || troupe.field('args', t.args)
$$;

create function troupe.sub_agent_document(a troupe.sub_agents) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', a.id, 'userId', coalesce(a.user_id::text, ''), 'chatId', a.chat_id, 'taskId', a.task_id, 'agentId', a.agent_id, 'role', a.role,
    'status', a.status, 'iterationCount', a.iteration_count, 'summary', a.summary,
    'createdAt', troupe.milliseconds(a.created_at), 'updatedAt', troupe.milliseconds(a.updated_at)))
$$;

create function troupe.session_document(s troupe.sessions) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', s.id, 'userId', s.entity_id, 'agentId', s.agent_id, 'title', s.title, 'modelId', s.model_id, 'policy', s.policy,
    'createdAt', troupe.milliseconds(s.created_at), 'updatedAt', troupe.milliseconds(s.updated_at)))
    || jsonb_build_object('tags', s.tags, 'metadata', s.metadata)
$$;

create function troupe.space_document(s troupe.spaces) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', s.id, 'name', s.name, 'description', s.description, 'policy', s.policy, 'chainDepth', s.chain_depth,
    'agentRuns', s.agent_runs, 'createdAt', troupe.milliseconds(s.created_at), 'updatedAt', troupe.milliseconds(s.updated_at)))
    || jsonb_build_object('metadata', s.metadata)
$$;

create function troupe.membership_document(m troupe.memberships) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', m.space_id || ':' || m.entity_id, 'spaceId', m.space_id, 'entityId', m.entity_id, 'type', e.type,
    'name', coalesce(e.display_name, e.external_id), 'agentId', e.agent_id, 'role', m.role, 'ordering', m.ordering, 'lastSeenMessageId', m.last_seen_message_id,
    'lastProcessedMessageId', m.last_processed_message_id, 'joinedAt', troupe.milliseconds(m.joined_at)))
  from (select 1) one left join troupe.entities e on e.id = m.entity_id
$$;

-- While a worker has it, how far it came is in its head and not here.
create function troupe.run_document(r troupe.runs) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', r.id, 'door', r.door, 'agentId', r.agent_id, 'entityId', r.entity_id,
    'sessionId', (select s.id from troupe.sessions s where s.thread_id = r.thread_id), 'spaceId', r.space_id, 'activeSpaceId', r.active_space_id, 'networkId', r.network_id,
    'taskId', r.task_id, 'status', r.status, 'step', r.step, 'triggerType', r.trigger_type, 'triggerMessageId', r.trigger_message_id, 'chainDepth', r.chain_depth,
    'parentRunId', case when r.parent_call_id is not null then r.parent_run_id end, 'absorbedBy', r.absorbed_by, 'cancelReason', r.cancel_reason,
    'inputTokens', r.input_tokens, 'outputTokens', r.output_tokens, 'cost', r.cost::numeric / 1000000, 'error', r.error->>'message', 'code', r.error->>'code',
    'createdAt', troupe.milliseconds(r.created_at), 'startedAt', troupe.milliseconds(r.started_at), 'completedAt', troupe.milliseconds(r.completed_at),
    'canceledAt', troupe.milliseconds(r.canceled_at))) || troupe.field('outcome', r.outcome)
$$;

-- Whose a message of a space is: who said it; of an agent, the person whose message began the chain, else the agent. What began it elsewhere is
-- of those who were there.
create function troupe.user_of_message(m troupe.messages) returns uuid language sql stable as $$
  select coalesce((select o.sender_id from troupe.runs r join troupe.messages o on o.id = r.origin_id and o.thread_id = m.thread_id where r.id = m.run_id), m.sender_id,
    (select r.entity_id from troupe.runs r where r.id = m.run_id))
$$;

-- A message of a session or a space.
create function troupe.message_document(m troupe.messages, p troupe.place) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', m.id, 'userId', coalesce((p).user_id, troupe.user_of_message(m)), 'chatId', (p).chat_id, 'sequence', m.seq, 'role', m.role,
    'content', case m.role when 'tool_call' then coalesce(m.content->>'text', '')
      when 'tool_result' then coalesce(nullif(m.content->'result', 'null') #>> '{}', m.content->'error'->>'message', '') else coalesce(m.content->>'text', '') end,
    'toolCallId', m.tool_call_id, 'name', case when m.role = 'tool_call' then coalesce(m.content->>'name', m.content->'tool'->>'name') end,
    'senderId', coalesce(m.sender_id, case when m.role in ('assistant', 'tool_call') then (select r.entity_id from troupe.runs r where r.id = m.run_id) end),
    'runId', coalesce(m.metadata->>'troupe:run', m.run_id::text), 'step', m.step, 'createdAt', troupe.milliseconds(m.created_at)))
    || troupe.field('parts', m.content->'parts')
    || case when m.role = 'tool_call' then troupe.field('arguments', m.content->'arguments') || troupe.field('tool', m.content->'tool') else '{}' end
    || case when m.role = 'tool_result' then troupe.field('error', m.content->'error') else '{}' end
    || jsonb_build_object('metadata', troupe.own_metadata(m.metadata))
$$;

-- Whether a message of a sub-agent is a document: of what a model answered, the first row is, with all calls of that step.
create function troupe.begins_document(m troupe.messages) returns boolean language sql stable as $$
  select m.role not in ('assistant', 'tool_call') or not exists (select from troupe.messages b
    where b.thread_id = m.thread_id and b.seq = m.seq - 1 and b.run_id = m.run_id and b.step = m.step and b.role in ('assistant', 'tool_call'))
$$;

-- As models are given it. The rows of a step are written by one transaction, but not always by one statement: whoever asks from a trigger asks
-- at the end of the transaction (a constraint trigger, deferred). Null for a row that belongs to the document of another.
create function troupe.sub_agent_message_document(m troupe.messages, p troupe.place) returns jsonb language sql stable as $$
  select case when troupe.begins_document(m) then
    jsonb_strip_nulls(jsonb_build_object('id', m.id, 'userId', coalesce((p).user_id::text, ''), 'chatId', (p).chat_id, 'subAgentId', (p).sub_agent_id, 'sequence', m.seq,
      'role', case m.role when 'tool_call' then 'assistant' when 'tool_result' then 'tool' else m.role::text end,
      'content', case m.role when 'tool_call' then '' when 'tool_result' then coalesce(nullif(m.content->'result', 'null') #>> '{}', m.content->'error'->>'message', '')
        else coalesce(m.content->>'text', '') end,
      'toolCallId', case when m.role = 'tool_result' then troupe.call_document_id(m.run_id, m.tool_call_id) end,
      'name', case when m.role = 'tool_result' then (select c.tool from troupe.tool_calls c where c.run_id = m.run_id and c.call_id = m.tool_call_id) end,
      'createdAt', troupe.milliseconds(m.created_at)))
    || case when m.role in ('assistant', 'tool_call') then troupe.field('toolCalls', (
      select jsonb_agg(jsonb_build_object('id', troupe.call_document_id(x.run_id, x.tool_call_id), 'type', 'function', 'function',
        jsonb_build_object('name', x.content->>'name', 'arguments', x.content->'arguments' #>> '{}')) order by x.seq)
      from troupe.messages x where x.thread_id = m.thread_id and x.seq between m.seq and m.seq + 1000 and x.run_id = m.run_id and x.step = m.step and x.role = 'tool_call'))
      else '{}' end end
$$;

-- Any message: its thread says which it is. Null where it is nobody's document.
create function troupe.message_document(m troupe.messages) returns jsonb language sql stable as $$
  select case (p).collection when 'messages' then troupe.message_document(m, p) when 'sub_agent_messages' then troupe.sub_agent_message_document(m, p) end
  from (select troupe.place_of_thread(m.thread_id) as p offset 0) x
$$;
create function troupe.message_collection(m troupe.messages) returns text language sql stable as $$
  select (troupe.place_of_thread(m.thread_id)).collection
$$;

-- A call within a sub-agent.
create function troupe.tool_call_document(c troupe.tool_calls, p troupe.place) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', troupe.call_document_id(c.run_id, c.call_id), 'userId', coalesce((p).user_id::text, ''), 'chatId', (p).chat_id, 'subAgentId', (p).sub_agent_id,
    'runId', c.run_id, 'callId', c.call_id, 'step', c.step, 'toolName', c.tool,
    'status', case when c.status in ('requested', 'running') then 'pending' when c.status = 'completed' then 'success' else 'failed' end,
    'result', case when c.status = 'completed' then coalesce(c.output #>> '{}', '') end,
    'error', case when c.status not in ('requested', 'running', 'completed') then coalesce(c.error->>'message', c.status::text) end,
    'createdAt', troupe.milliseconds(c.created_at))) || jsonb_build_object('args', c.args)
$$;
-- Null where it is of no sub-agent.
create function troupe.tool_call_document(c troupe.tool_calls) returns jsonb language sql stable as $$
  select case when (p).sub_agent_id is not null then troupe.tool_call_document(c, p) end
  from (select troupe.place_of_thread(r.thread_id) as p from troupe.runs r where r.id = c.run_id and r.task_id is not null offset 0) x
$$;

-- ---- Paths: of the collection that a document stands in. `-`: nobody's, as in a network that a key invoked.

create function troupe.chat_path(p_user uuid, p_chat uuid, p_rest text) returns text language sql immutable parallel safe as $$
  select 'users/' || coalesce(p_user::text, '-') || '/orch-chats/' || p_chat || '/' || p_rest
$$;
create function troupe.task_path(t troupe.tasks) returns text language sql stable as $$ select troupe.chat_path(t.user_id, t.chat_id, 'tasks') $$;
create function troupe.sub_agent_path(a troupe.sub_agents) returns text language sql stable as $$ select troupe.chat_path(a.user_id, a.chat_id, 'sub-agents') $$;
create function troupe.session_path(s troupe.sessions) returns text language sql stable as $$ select 'sessions' $$;
create function troupe.space_path(s troupe.spaces) returns text language sql stable as $$ select 'spaces' $$;
create function troupe.membership_path(m troupe.memberships) returns text language sql stable as $$ select 'spaces/' || m.space_id || '/memberships' $$;
create function troupe.run_path(r troupe.runs) returns text language sql stable as $$ select 'runs' $$;
create function troupe.message_path(m troupe.messages) returns text language sql stable as $$
  select case (p).collection when 'messages' then troupe.chat_path(coalesce((p).user_id, troupe.user_of_message(m)), (p).chat_id, 'messages')
    when 'sub_agent_messages' then troupe.chat_path((p).user_id, (p).chat_id, 'sub-agents/' || (p).sub_agent_id || '/messages') end
  from (select troupe.place_of_thread(m.thread_id) as p offset 0) x
$$;
create function troupe.tool_call_path(c troupe.tool_calls) returns text language sql stable as $$
  select case when (p).sub_agent_id is not null then troupe.chat_path((p).user_id, (p).chat_id, 'sub-agents/' || (p).sub_agent_id || '/tool-calls') end
  from (select troupe.place_of_thread(r.thread_id) as p from troupe.runs r where r.id = c.run_id and r.task_id is not null offset 0) x
$$;

-- The collections, and the tables that their documents are made of. Two share one: there the document is null for rows of the other.
create function troupe.collections() returns table (name text, source text) language sql immutable as $$
  values ('tasks', 'tasks'), ('sub_agents', 'sub_agents'), ('sub_agent_messages', 'messages'), ('sub_agent_tool_calls', 'tool_calls'), ('sessions', 'sessions'),
    ('messages', 'messages'), ('spaces', 'spaces'), ('memberships', 'memberships'), ('runs', 'runs')
$$;

-- ---- Tombstones are written by whoever deletes

create function troupe.bury() returns trigger language plpgsql as $$
begin
  case tg_table_name
    when 'sessions' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
        values ('sessions', old.id, old.project_id, old.entity_id, old.thread_id, old.id, old.xid) on conflict do nothing;
    when 'spaces' then
      insert into troupe.tombstones (collection, id, project_id, place_id, chat_id, was) values ('spaces', old.id, old.project_id, old.id, old.id, old.xid) on conflict do nothing;
    when 'memberships' then
      -- The space may go with it.
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
        select 'memberships', old.space_id || ':' || old.entity_id, t.project_id, old.entity_id, old.space_id, old.space_id, old.xid, old.joined_at
        from troupe.threads t where t.id = old.space_id on conflict do nothing;
    when 'tasks' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, chat_id, was) values ('tasks', old.id, old.project_id, old.user_id, old.chat_id, old.xid) on conflict do nothing;
    when 'sub_agents' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
        values ('sub_agents', old.id, old.project_id, old.user_id, old.thread_id, old.chat_id, old.xid) on conflict do nothing;
  end case;
  return null;
end $$;
create trigger sessions_bury after delete on troupe.sessions for each row execute function troupe.bury();
create trigger spaces_bury after delete on troupe.spaces for each row execute function troupe.bury();
create trigger memberships_bury after delete on troupe.memberships for each row execute function troupe.bury();
create trigger tasks_bury after delete on troupe.tasks for each row execute function troupe.bury();
create trigger sub_agents_bury after delete on troupe.sub_agents for each row execute function troupe.bury();

create function troupe.bury_messages() returns trigger language plpgsql as $$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
    select (p.place).collection, g.id, (p.place).project_id, (p.place).user_id, g.thread_id, (p.place).chat_id, g.xid, g.created_at
    from (select distinct x.thread_id from gone x) t cross join lateral (select troupe.place_of_thread(t.thread_id) as place offset 0) p
      join gone g on g.thread_id = t.thread_id
    where (p.place).collection is not null on conflict do nothing;
  return null;
end $$;
create trigger messages_bury after delete on troupe.messages referencing old table as gone for each statement execute function troupe.bury_messages();

create function troupe.bury_runs() returns trigger language plpgsql as $$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
    select 'runs', g.id, g.project_id, case when (p.place).collection = 'messages' then (p.place).user_id end, g.space_id, (p.place).chat_id, g.xid, g.created_at
    from gone g cross join lateral (select troupe.place_of_thread(g.thread_id) as place offset 0) p on conflict do nothing;
  return null;
end $$;
create trigger runs_bury after delete on troupe.runs referencing old table as gone for each statement execute function troupe.bury_runs();

-- Calls are deleted before their runs.
create function troupe.bury_tool_calls() returns trigger language plpgsql as $$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
    select 'sub_agent_tool_calls', troupe.call_document_id(g.run_id, g.call_id), (p.place).project_id, (p.place).user_id, r.thread_id, (p.place).chat_id, g.xid
    from gone g join troupe.runs r on r.id = g.run_id and r.task_id is not null cross join lateral (select troupe.place_of_thread(r.thread_id) as place offset 0) p
    where (p.place).sub_agent_id is not null on conflict do nothing;
  return null;
end $$;
create trigger tool_calls_bury after delete on troupe.tool_calls referencing old table as gone for each statement execute function troupe.bury_tool_calls();

-- The name of an entity stands in its memberships.
create function troupe.stamp_memberships() returns trigger language plpgsql as $$
begin
  update troupe.memberships m set xid = pg_current_xact_id()::text::bigint where m.entity_id = new.id;
  return null;
end $$;
create trigger entities_stamp after update of display_name, external_id on troupe.entities for each row
  when (old.display_name is distinct from new.display_name or old.external_id is distinct from new.external_id) execute function troupe.stamp_memberships();

-- ---- Which database it is
-- Another after a restore: transactions are counted anew, or again, and what readers know of their order is worth nothing.
create function troupe.sync_generation() returns text language plpgsql stable as $$
declare
  cluster text := '';
begin
  begin
    cluster := (select system_identifier from pg_control_system()) || ':' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when insufficient_privilege or object_not_in_prerequisite_state then
    null;
  end;
  return left(md5(cluster || ':' || (select d.oid from pg_database d where d.datname = current_database()) || ':' || 'troupe.tombstones'::regclass::oid), 12);
end $$;
