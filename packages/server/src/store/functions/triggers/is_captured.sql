-- Whether any rule of the project wants to know of a collection at all: asked before documents are made. In PL/pgSQL,
-- which keeps its plans: functions in SQL are planned anew in every transaction, and this is what commits of projects
-- without rules pay.
create or replace function troupe.is_captured(p_project uuid, p_collection text) returns boolean language plpgsql stable
  as $$
begin
  return exists (select from troupe.triggers t where t.project_id = p_project and t.enabled
    and p_collection = any (t.collections));
end $$;
