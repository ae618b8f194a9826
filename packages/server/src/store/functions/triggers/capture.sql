-- Writes a change if an enabled rule matches it. p_path is the path of the collection; rules may name its user by the
-- external id.
-- Locks: none.
-- Called by: troupe.capture_memberships, troupe.capture_messages, troupe.capture_runs, troupe.capture_sessions,
--   troupe.capture_spaces, troupe.capture_sub_agents, troupe.capture_tasks, troupe.capture_tool_calls.
create or replace function troupe.capture(p_collection text, p_project uuid, p_chat uuid, p_path text, p_document text,
  p_user uuid, p_before jsonb, p_after jsonb, p_depth int)
returns void language plpgsql as $$
declare
  what text := case when p_before is null then 'create' when p_after is null then 'delete' else 'update' end;
  wanted jsonb;
begin
  if p_before is not distinct from p_after then
    return;
  end if;
  select jsonb_agg(jsonb_build_object('id', t.id, 'version', t.version)) into wanted from troupe.triggers t
    where t.project_id = p_project and t.enabled and p_collection = any (t.collections) and what = any (t.events)
      and (p_path ~ t.pattern or coalesce(troupe.path_alias(p_path) ~ t.pattern, false));
  if wanted is not null then
    insert into troupe.changes (project_id, collection, path, document_id, user_id, chat_id, event, before, after,
      depth, rules)
      values (p_project, p_collection, p_path || '/' || p_document, p_document, p_user, p_chat, what, p_before, p_after,
        p_depth, wanted);
  end if;
end $$;
