-- A person who has said nothing and owns nothing. Their row first: nobody becomes a member or opens a session while it
-- is held, and without being a member nobody says anything in a space.
create or replace function troupe.delete_person(p_project uuid, p_entity uuid) returns text language plpgsql as $$
declare
  v_type text;
begin
  select e.type into v_type from troupe.entities e where e.id = p_entity and e.project_id = p_project for update;
  if not found then
    return 'not_found';
  elsif v_type <> 'human' then
    return 'entity_of_agent';
  elsif exists (select from troupe.memberships m where m.entity_id = p_entity) or exists (select from troupe.sessions s
    where s.entity_id = p_entity)
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
