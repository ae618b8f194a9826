-- Returns whether an enabled rule of the project matches a collection; checked before a document is built. PL/pgSQL
-- keeps its plan, while an SQL function is planned in every transaction, and commits of projects without rules pay for
-- this check.
-- Locks: none.
-- Called by: troupe.capture_memberships, troupe.capture_messages, troupe.capture_runs, troupe.capture_sessions,
--   troupe.capture_spaces, troupe.capture_sub_agents, troupe.capture_tasks, troupe.capture_tool_calls.
create or replace function troupe.is_captured(p_project uuid, p_collection text) returns boolean
  language plpgsql stable as $$
begin
  return exists (select from troupe.triggers t where t.project_id = p_project and t.enabled
    and p_collection = any (t.collections));
end $$;
