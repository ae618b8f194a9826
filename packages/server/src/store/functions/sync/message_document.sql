-- The document of a message, or null if it is not synchronised.
-- Locks: none.
-- Called by: store/queries/sync-sources.ts, store/queries/sync.ts, store/queries/triggers.ts.
create or replace function troupe.message_document(m troupe.messages) returns jsonb language sql stable as $$
  select case (p).collection when 'messages' then troupe.chat_message_document(m, p) when 'sub_agent_messages'
    then troupe.sub_agent_message_document(m, p) end
  from (select troupe.place_of_thread(m.thread_id) as p offset 0) x
$$;
