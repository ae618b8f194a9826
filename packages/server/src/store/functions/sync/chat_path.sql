-- Paths: of the collection that a document stands in. `-`: nobody's, as in a network that a key invoked.
create or replace function troupe.chat_path(p_user uuid, p_chat uuid, p_rest text) returns text
  language sql immutable parallel safe as $$
  select 'users/' || coalesce(p_user::text, '-') || '/orch-chats/' || p_chat || '/' || p_rest
$$;
