-- Writing files of a thread: within its limits, exactly, however many write at once. Locks what a write needs: the head
-- of the run that writes, where a tool does, then the thread, then the totals. Null, or why not. A worker that lost the
-- run finds another epoch and writes nothing; one that is about to lose it keeps it until this is committed.
create or replace function troupe.open_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid) returns text
  language plpgsql as $$
begin
  if p_run is not null then
    perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
    if not found then
      return 'run_lost';
    end if;
  end if;
  -- So that who deletes the thread comes before or after, and never leaves a file behind.
  perform 1 from troupe.threads t where t.id = p_thread for key share;
  if not found then
    return 'thread_not_found';
  end if;
  insert into troupe.file_totals (thread_id) values (p_thread) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_thread for update;
  return null;
end $$;
