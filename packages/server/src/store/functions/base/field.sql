-- Returns an object with one field, or an empty object if the value is null. Nulls inside the value are kept.
-- Locks: none.
-- Called by: troupe.chat_message_document, troupe.run_document, troupe.sub_agent_message_document,
--   troupe.task_document.
create or replace function troupe.field(p_name text, p_value jsonb) returns jsonb
  language sql immutable parallel safe as $$
  select case when p_value is null or p_value = 'null' then '{}'::jsonb else jsonb_build_object(p_name, p_value) end
$$;
