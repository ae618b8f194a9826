create or replace function troupe.message_collection(m troupe.messages) returns text language sql stable as $$
  select (troupe.place_of_thread(m.thread_id)).collection
$$;
