-- Creates a space with its thread and members. item is { project, id, name, description, policy, chainDepth, agentRuns,
-- metadata, members: [{ entityId | agentId | user, role, ordering }] }. The last of two entries for one entity counts.
-- Locks: the entities of the members.
-- Called by: store/queries/spaces.ts.
create or replace function troupe.create_space(item jsonb) returns jsonb language plpgsql as $$
declare
  v_space uuid := (item->>'id')::uuid;
  v_project uuid := (item->>'project')::uuid;
  m jsonb; k bigint; e uuid; joined uuid[] := '{}';
begin
  -- Checked before the first write: if a member is missing, nothing is written.
  for m, k in select x.m, x.k from jsonb_array_elements(item->'members') with ordinality x(m, k) loop
    if not m ? 'user' and troupe.member_entity(v_project, m) is null then
      return jsonb_build_object('ok', false,
        'code', case when m ? 'agentId' then 'agent_not_found' else 'entity_not_found' end, 'member', k - 1);
    end if;
  end loop;
  insert into troupe.threads (id, project_id, kind) values (v_space, v_project, 'space');
  insert into troupe.spaces (id, project_id, name, description, policy, chain_depth, agent_runs, metadata)
    values (v_space, v_project, item->>'name', item->>'description', item->>'policy', (item->>'chainDepth')::int,
      (item->>'agentRuns')::int, item->'metadata');
  for m in select x.m from jsonb_array_elements(item->'members') with ordinality x(m, k) order by x.k loop
    e := troupe.member_entity(v_project, m);
    -- The clock, not now(), so that members are listed in the given order.
    insert into troupe.memberships (space_id, entity_id, role, ordering, joined_seq, last_processed_seq, joined_at)
      values (v_space, e, m->>'role', m->>'ordering', 0, 0, clock_timestamp())
      on conflict (space_id, entity_id) do update set role = excluded.role, ordering = excluded.ordering;
    if not e = any(joined) then
      joined := joined || e;
    end if;
  end loop;
  if cardinality(joined) > 0 then
    perform troupe.append(v_space, null, null,
      (select jsonb_agg(troupe.member_event('space.member.joined', s.entity_id, s.role) order by x.k)
      from unnest(joined) with ordinality x(entity, k) join troupe.memberships s on s.space_id = v_space
        and s.entity_id = x.entity));
  end if;
  return jsonb_build_object('ok', true);
end $$;
