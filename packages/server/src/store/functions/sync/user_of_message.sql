-- The user of a message in a space: its sender; for an agent, the person whose message began the chain in this space,
-- else the agent.
-- Locks: none.
-- Called by: troupe.chat_message_document, troupe.message_path.
create or replace function troupe.user_of_message(m troupe.messages) returns uuid language sql stable as $$
  select coalesce((select o.sender_id from troupe.runs r join troupe.messages o on o.id = r.origin_id
    and o.thread_id = m.thread_id where r.id = m.run_id), m.sender_id,
    (select r.entity_id from troupe.runs r where r.id = m.run_id))
$$;
