-- Returns the first thing that a new run names and that does not exist in the project, or null.
-- Locks: none.
-- Called by: troupe.fork, troupe.start.
create or replace function troupe.missing_for(p_project uuid, p_agent uuid, p_entity uuid, p_snapshot uuid,
  p_parent uuid) returns text language sql stable as $$
  select case
    when not exists (select from troupe.projects p where p.id = p_project) then 'project'
    when not exists (select from troupe.compiled_snapshots s where s.id = p_snapshot and s.project_id = p_project)
    then 'snapshot'
    when p_agent is not null and not exists (select from troupe.agents a where a.id = p_agent
      and a.project_id = p_project) then 'agent'
    when p_entity is not null and not exists (select from troupe.entities e where e.id = p_entity
      and e.project_id = p_project) then 'entity'
    when p_parent is not null and not exists (select from troupe.runs r where r.id = p_parent
      and r.project_id = p_project) then 'parent run'
  end
$$;
