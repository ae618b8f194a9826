-- Takes the locks of a file write and checks the fence. Returns null, or the code of the refusal. The lock on the head
-- keeps the run with its worker until the transaction ends. The lock on the thread orders the write before or after its
-- deletion.
-- Locks: the head of the writing run (if a tool writes), the thread, the file totals of the thread.
-- Called by: troupe.change_files, troupe.delete_files, troupe.write_file.
create or replace function troupe.open_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid) returns text
  language plpgsql as $$
begin
  if p_run is not null then
    perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
    if not found then
      return 'run_lost';
    end if;
  end if;
  -- Orders this write before or after a deletion of the thread.
  perform 1 from troupe.threads t where t.id = p_thread for key share;
  if not found then
    return 'thread_not_found';
  end if;
  insert into troupe.file_totals (thread_id) values (p_thread) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_thread for update;
  return null;
end $$;
