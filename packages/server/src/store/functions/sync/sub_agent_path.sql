-- The collection path of a sub-agent.
-- Locks: none.
-- Called by: troupe.capture_sub_agents, store/queries/triggers.ts.
create or replace function troupe.sub_agent_path(a troupe.sub_agents) returns text
  language sql stable as $$ select troupe.chat_path(a.user_id, a.chat_id, 'sub-agents') $$;
