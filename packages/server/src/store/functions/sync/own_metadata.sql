-- Metadata without the keys that the program writes.
-- Locks: none.
-- Called by: troupe.chat_message_document.
create or replace function troupe.own_metadata(p_metadata jsonb) returns jsonb
  language sql immutable parallel safe as $$
  select case when p_metadata is null or p_metadata = '{}' then '{}'::jsonb else
    (select coalesce(jsonb_object_agg(x.key, x.value), '{}') from jsonb_each(p_metadata) x
      where x.key not like 'troupe:%' and x.key <> 'runContext') end
$$;
