-- Finds the entity of { entityId }, { agentId } or { user }; an unknown user is registered. Null if there is none.
-- Locks: the entity (key share).
-- Called by: troupe.add_member, troupe.create_space.
create or replace function troupe.member_entity(p_project uuid, p_member jsonb) returns uuid language plpgsql as $$
declare
  found_id uuid;
begin
  if p_member ? 'user' then
    insert into troupe.entities (id, project_id, type, external_id)
      values (troupe.new_id(), p_project, 'human', p_member->>'user')
      on conflict (project_id, external_id) where external_id is not null do nothing;
  end if;
  select e.id into found_id from troupe.entities e where e.project_id = p_project
    and case when p_member ? 'user' then e.external_id = p_member->>'user' when p_member ? 'agentId'
      then e.agent_id = (p_member->>'agentId')::uuid
      else e.id = (p_member->>'entityId')::uuid end
    for key share;
  return found_id;
end $$;
