-- The document id of a tool call. The id that a model gives is only unique within a run.
-- Locks: none.
-- Called by: troupe.bury_tool_calls, troupe.capture_tool_calls, troupe.sub_agent_call_document,
--   troupe.sub_agent_message_document, store/queries/sync-sources.ts.
create or replace function troupe.call_document_id(p_run uuid, p_call text) returns text
  language sql immutable parallel safe as $$
  select troupe.id_from(p_run || ':' || p_call)::text
$$;
