-- Deletes a person who has no messages, sessions, memberships or owned runs. Returns null, or the code of the refusal.
-- The lock on the entity blocks new memberships and sessions, and without a membership nobody posts to a space.
-- Locks: the entity.
-- Called by: store/queries/entities.ts, store/queries/erasures.ts.
create or replace function troupe.delete_person(p_project uuid, p_entity uuid) returns text language plpgsql as $$
declare
  v_type text;
begin
  select e.type into v_type from troupe.entities e where e.id = p_entity and e.project_id = p_project for update;
  if not found then
    return 'not_found';
  elsif v_type <> 'human' then
    return 'entity_of_agent';
  elsif exists (select from troupe.memberships m where m.entity_id = p_entity)
    or exists (select from troupe.sessions s where s.entity_id = p_entity)
      or exists (select from troupe.runs r where r.project_id = p_project and r.owner_id = p_entity)
      or exists (select from troupe.threads t join troupe.messages m on m.thread_id = t.id
        where t.project_id = p_project and m.sender_id = p_entity) then
    return 'entity_in_use';
  end if;
  delete from troupe.entities e where e.id = p_entity;
  return null;
exception when foreign_key_violation then
  return 'entity_in_use';
end $$;
