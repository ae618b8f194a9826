-- The collection path of a message, or null if it is not synchronised.
-- Locks: none.
-- Called by: store/queries/triggers.ts.
create or replace function troupe.message_path(m troupe.messages) returns text language sql stable as $$
  select case (p).collection when 'messages'
    then troupe.chat_path(coalesce((p).user_id, troupe.user_of_message(m)), (p).chat_id, 'messages')
    when 'sub_agent_messages' then troupe.chat_path((p).user_id, (p).chat_id, 'sub-agents/' || (p).sub_agent_id
      || '/messages') end
  from (select troupe.place_of_thread(m.thread_id) as p offset 0) x
$$;
