create or replace function troupe.is_thread_captured(p_thread uuid, p_collections text[]) returns boolean
  language plpgsql stable as $$
begin
  -- A thread that this transaction deletes is looked at all the same.
  return exists (select from troupe.threads h join troupe.triggers t on t.project_id = h.project_id
    where h.id = p_thread and t.enabled and t.collections && p_collections)
    or not exists (select from troupe.threads h where h.id = p_thread);
end $$;
