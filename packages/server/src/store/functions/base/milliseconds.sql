-- Converts a timestamp to milliseconds since the epoch, the unit of times in documents.
-- Locks: none.
-- Called by: troupe.chat_message_document, troupe.membership_document, troupe.run_document, troupe.session_document,
--   troupe.space_document, troupe.sub_agent_call_document, troupe.sub_agent_document,
--   troupe.sub_agent_message_document, troupe.task_document.
create or replace function troupe.milliseconds(p_time timestamptz) returns bigint
  language sql immutable parallel safe as $$
  select floor(extract(epoch from p_time) * 1000)::bigint
$$;
