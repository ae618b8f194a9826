-- Returns whether an enabled rule matches messages of a thread. True for a thread that the transaction deletes.
-- Locks: none.
-- Called by: troupe.capture_messages.
create or replace function troupe.is_thread_captured(p_thread uuid, p_collections text[]) returns boolean
  language plpgsql stable as $$
begin
  -- The second condition covers a thread that this transaction deletes.
  return exists (select from troupe.threads h join troupe.triggers t on t.project_id = h.project_id
    where h.id = p_thread and t.enabled and t.collections && p_collections)
    or not exists (select from troupe.threads h where h.id = p_thread);
end $$;
