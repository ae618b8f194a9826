-- The place of a thread. It is also found while the transaction deletes it, from its tombstone.
-- Locks: none.
-- Called by: troupe.bury_messages, troupe.bury_runs, troupe.bury_tool_calls, troupe.capture_messages,
--   troupe.capture_runs, troupe.capture_tool_calls, troupe.message_document, troupe.message_path,
--   troupe.tool_call_document, troupe.tool_call_path, store/queries/message-documents.ts, store/queries/sync.ts.
create or replace function troupe.place_of_thread(p_thread uuid) returns troupe.place language sql stable as $$
  select x.* from (
    select 'messages', s.project_id, s.entity_id, s.id, null::uuid from troupe.sessions s where s.thread_id = p_thread
    union all select 'messages', s.project_id, null, s.id, null from troupe.spaces s where s.id = p_thread
    union all select 'sub_agent_messages', a.project_id, a.user_id, a.chat_id, a.id from troupe.sub_agents a
    where a.thread_id = p_thread
    union all select case when x.collection = 'sub_agents' then 'sub_agent_messages' else 'messages' end, x.project_id,
    x.entity_id, x.chat_id,
        case when x.collection = 'sub_agents' then x.id::uuid end
      from troupe.tombstones x where x.place_id = p_thread and x.collection in ('sessions', 'spaces', 'sub_agents')) x
  limit 1
$$;
