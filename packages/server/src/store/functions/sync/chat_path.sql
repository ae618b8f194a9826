-- A collection path below a chat. The user is `-` in a network that a key invoked.
-- Locks: none.
-- Called by: troupe.capture_messages, troupe.message_path, troupe.sub_agent_path, troupe.task_path,
--   troupe.tool_call_path.
create or replace function troupe.chat_path(p_user uuid, p_chat uuid, p_rest text) returns text
  language sql immutable parallel safe as $$
  select 'users/' || coalesce(p_user::text, '-') || '/orch-chats/' || p_chat || '/' || p_rest
$$;
