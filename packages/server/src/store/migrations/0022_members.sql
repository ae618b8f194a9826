-- breaking: false
-- Who is in a space and what they have read, and the programs of people. Everything that writes into a space hangs on the lock of its thread:
-- members, messages and what is told of both have one order.

create table troupe.clients (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  entity_id uuid not null references troupe.entities on delete cascade,
  client_key text not null check (length(client_key) between 1 and 200),
  client_type text,
  display_name text,
  capabilities jsonb not null default '{}',
  last_seen_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (project_id, client_key)
);
create index clients_entity on troupe.clients (entity_id, id desc);

-- For whoever comes to read a space: who is at work there, however many runs it has had.
create index runs_space_live on troupe.runs (space_id) where space_id is not null and status in ('queued', 'running', 'waiting_tool', 'waiting_reply');
-- For whoever deletes a space.
create index run_shown_space on troupe.run_shown (space_id);
create index folded_messages_space on troupe.folded_messages (space_id);

-- Whom a new member names: { entityId } or { agentId } or { user }. A person who is not known yet is registered; null for anybody else.
create function troupe.member_entity(p_project uuid, p_member jsonb) returns uuid language plpgsql as $$
declare
  found_id uuid;
begin
  if p_member ? 'user' then
    insert into troupe.entities (id, project_id, type, external_id) values (troupe.new_id(), p_project, 'human', p_member->>'user')
      on conflict (project_id, external_id) where external_id is not null do nothing;
  end if;
  select e.id into found_id from troupe.entities e where e.project_id = p_project
    and case when p_member ? 'user' then e.external_id = p_member->>'user' when p_member ? 'agentId' then e.agent_id = (p_member->>'agentId')::uuid
      else e.id = (p_member->>'entityId')::uuid end
    for key share;
  return found_id;
end $$;

create function troupe.member_event(p_type text, p_entity uuid, p_role text) returns jsonb language sql stable as $$
  select jsonb_build_object('type', p_type, 'data', jsonb_build_object('entityId', e.id, 'name', coalesce(e.display_name, e.external_id), 'type', e.type, 'role', p_role))
  from troupe.entities e where e.id = p_entity
$$;

-- The space, its thread and its members, as one. item: { project, id, name, description, policy, chainDepth, agentRuns, metadata,
--   members: [{ entityId | agentId | user, role, ordering }] }. Who is named twice is a member as named last.
create function troupe.create_space(item jsonb) returns jsonb language plpgsql as $$
declare
  v_space uuid := (item->>'id')::uuid;
  v_project uuid := (item->>'project')::uuid;
  m jsonb; k bigint; e uuid; joined uuid[] := '{}';
begin
  -- Before anybody is registered: where one is missing, nothing is written.
  for m, k in select x.m, x.k from jsonb_array_elements(item->'members') with ordinality x(m, k) loop
    if not m ? 'user' and troupe.member_entity(v_project, m) is null then
      return jsonb_build_object('ok', false, 'code', case when m ? 'agentId' then 'agent_not_found' else 'entity_not_found' end, 'member', k - 1);
    end if;
  end loop;
  insert into troupe.threads (id, project_id, kind) values (v_space, v_project, 'space');
  insert into troupe.spaces (id, project_id, name, description, policy, chain_depth, agent_runs, metadata)
    values (v_space, v_project, item->>'name', item->>'description', item->>'policy', (item->>'chainDepth')::int, (item->>'agentRuns')::int, item->'metadata');
  for m in select x.m from jsonb_array_elements(item->'members') with ordinality x(m, k) order by x.k loop
    e := troupe.member_entity(v_project, m);
    -- By the clock, so that members come in the order in which they were named.
    insert into troupe.memberships (space_id, entity_id, role, ordering, joined_seq, last_processed_seq, joined_at)
      values (v_space, e, m->>'role', m->>'ordering', 0, 0, clock_timestamp())
      on conflict (space_id, entity_id) do update set role = excluded.role, ordering = excluded.ordering;
    if not e = any(joined) then
      joined := joined || e;
    end if;
  end loop;
  if cardinality(joined) > 0 then
    perform troupe.append(v_space, null, null, (select jsonb_agg(troupe.member_event('space.member.joined', s.entity_id, s.role) order by x.k)
      from unnest(joined) with ordinality x(entity, k) join troupe.memberships s on s.space_id = v_space and s.entity_id = x.entity));
  end if;
  return jsonb_build_object('ok', true);
end $$;

-- Takes the lock of a space for whoever changes it. `p_by`: the person who asks, where it is one; null: a key. Null where they may.
create function troupe.lock_space(p_project uuid, p_space uuid, p_by uuid) returns text language plpgsql as $$
declare
  v_role text;
begin
  perform 1 from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for no key update;
  if not found then
    return 'space_not_found';
  end if;
  if p_by is null then
    return null;
  end if;
  select m.role into v_role from troupe.memberships m where m.space_id = p_space and m.entity_id = p_by;
  return case when v_role is null then 'space_not_found' when v_role <> 'admin' then 'not_an_admin' end;
end $$;

-- A new member, or another role and ordering for one.
create function troupe.add_member(p_project uuid, p_space uuid, p_by uuid, p_member jsonb) returns jsonb language plpgsql as $$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  e uuid; is_new boolean;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  e := troupe.member_entity(p_project, p_member);
  if e is null then
    return jsonb_build_object('ok', false, 'code', case when p_member ? 'agentId' then 'agent_not_found' else 'entity_not_found' end);
  end if;
  insert into troupe.memberships as m (space_id, entity_id, role, ordering, joined_seq, last_processed_seq, joined_at)
    select p_space, e, p_member->>'role', p_member->>'ordering', t.last_message_seq, t.last_message_seq, clock_timestamp() from troupe.threads t where t.id = p_space
    on conflict (space_id, entity_id) do update set role = excluded.role, ordering = excluded.ordering
    returning m.xmax = 0 into is_new;
  if is_new then
    perform troupe.append(p_space, null, null, jsonb_build_array(troupe.member_event('space.member.joined', e, p_member->>'role')));
  end if;
  return jsonb_build_object('ok', true, 'entity', e);
end $$;

-- Everybody may leave; others are removed by an admin.
create function troupe.remove_member(p_project uuid, p_space uuid, p_by uuid, p_entity uuid) returns jsonb language plpgsql as $$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  v_role text;
begin
  if refused is not null and not (refused = 'not_an_admin' and p_by = p_entity) then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  delete from troupe.memberships m where m.space_id = p_space and m.entity_id = p_entity returning m.role into v_role;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  perform troupe.append(p_space, null, null, jsonb_build_array(troupe.member_event('space.member.left', p_entity, v_role)));
  return jsonb_build_object('ok', true);
end $$;

-- What is not among the changes stays. What is as it was is not told.
create function troupe.update_space(p_project uuid, p_space uuid, p_by uuid, p_changes jsonb) returns jsonb language plpgsql as $$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  old troupe.spaces; new troupe.spaces; fields jsonb;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  select * into old from troupe.spaces s where s.id = p_space;
  new := jsonb_populate_record(old, p_changes);
  select coalesce(jsonb_agg(distinct case when key in ('chain_depth', 'agent_runs') then 'limits' else key end), '[]') into fields
    from jsonb_object_keys(p_changes) key where to_jsonb(new)->key is distinct from to_jsonb(old)->key;
  if fields <> '[]' then
    update troupe.spaces s set name = new.name, description = new.description, policy = new.policy, chain_depth = new.chain_depth, agent_runs = new.agent_runs,
      metadata = new.metadata, updated_at = now() where s.id = p_space;
    perform troupe.append(p_space, null, null, jsonb_build_array(jsonb_build_object('type', 'space.updated', 'data',
      jsonb_build_object('name', new.name, 'policy', new.policy, 'fields', fields))));
  end if;
  return jsonb_build_object('ok', true, 'changed', fields <> '[]');
end $$;

-- How far a person has read. Never back.
create function troupe.mark_read(p_project uuid, p_space uuid, p_entity uuid, p_message uuid) returns jsonb language plpgsql as $$
declare
  v_seq bigint; last_seq bigint; marker record; moved boolean;
begin
  select t.last_message_seq into last_seq from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  select e.type, m.last_seen_seq, m.last_seen_message_id, m.joined_seq into marker from troupe.memberships m join troupe.entities e on e.id = m.entity_id
    where m.space_id = p_space and m.entity_id = p_entity;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  elsif marker.type <> 'human' then
    return jsonb_build_object('ok', false, 'code', 'not_a_person');
  end if;
  select m.seq into v_seq from troupe.messages m where m.id = p_message and m.thread_id = p_space;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'message_not_found');
  end if;
  moved := v_seq > marker.last_seen_seq;
  if moved then
    update troupe.memberships m set last_seen_seq = v_seq, last_seen_message_id = p_message where m.space_id = p_space and m.entity_id = p_entity;
    perform troupe.append(p_space, null, null, jsonb_build_array(jsonb_build_object('type', 'space.read', 'data',
      jsonb_build_object('entityId', p_entity, 'messageId', p_message, 'sequence', v_seq))));
  end if;
  return jsonb_build_object('ok', true, 'moved', moved, 'lastSeenMessageId', case when moved then p_message else marker.last_seen_message_id end,
    'unread', last_seq - greatest(v_seq, marker.last_seen_seq, marker.joined_seq));
end $$;

-- The space with all that was said in it. Runs come first, as everywhere: what becomes of one is told in its spaces, and must not find the space
-- between being there and being gone. One that has not ended is named, and nothing is deleted: the caller stops it and comes again.
create function troupe.delete_space(p_project uuid, p_space uuid, p_actor_kind text, p_actor text) returns jsonb language plpgsql as $$
declare
  held uuid[]; known uuid[]; live uuid[];
begin
  held := array(select r.id from troupe.runs r where r.space_id = p_space or (r.active_space_id = p_space
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')) order by r.id for update);
  perform 1 from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  known := array(select r.id from troupe.runs r where r.space_id = p_space or (r.active_space_id = p_space
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')));
  live := array(select r.id from troupe.runs r where (r.space_id = p_space or r.active_space_id = p_space)
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') order by r.id);
  if cardinality(live) > 0 then
    return jsonb_build_object('ok', false, 'code', 'runs_live', 'runs', to_jsonb(live));
  elsif not known <@ held then
    raise exception 'troupe.delete_space: a run came in between' using errcode = 'serialization_failure';
  end if;
  insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data)
    select s.project_id, p_actor_kind, p_actor, 'space.deleted', s.id::text, jsonb_build_object('name', s.name, 'members', (select count(*) from troupe.memberships m where m.space_id = s.id))
    from troupe.spaces s where s.id = p_space;
  delete from troupe.run_shown x where x.space_id = p_space;
  delete from troupe.messages m where m.thread_id = p_space;
  delete from troupe.events e where e.thread_id = p_space;
  delete from troupe.spaces s where s.id = p_space;
  delete from troupe.threads t where t.id = p_space;
  return jsonb_build_object('ok', true);
end $$;

-- A person who has said nothing and owns nothing. Their row first: nobody becomes a member or opens a session while it is held, and without
-- being a member nobody says anything in a space.
create function troupe.delete_person(p_project uuid, p_entity uuid) returns text language plpgsql as $$
declare
  v_type text;
begin
  select e.type into v_type from troupe.entities e where e.id = p_entity and e.project_id = p_project for update;
  if not found then
    return 'not_found';
  elsif v_type <> 'human' then
    return 'entity_of_agent';
  elsif exists (select from troupe.memberships m where m.entity_id = p_entity) or exists (select from troupe.sessions s where s.entity_id = p_entity)
      or exists (select from troupe.runs r where r.project_id = p_project and r.owner_id = p_entity)
      or exists (select from troupe.threads t join troupe.messages m on m.thread_id = t.id where t.project_id = p_project and m.sender_id = p_entity) then
    return 'entity_in_use';
  end if;
  delete from troupe.entities e where e.id = p_entity;
  return null;
exception when foreign_key_violation then
  return 'entity_in_use';
end $$;
