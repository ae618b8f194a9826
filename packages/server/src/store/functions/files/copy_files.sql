-- Copies the files, the to-do list and the findings of a thread to a new thread.
-- Locks: the file totals of the source, shared. The row is created first, so that a first write waits as well.
-- Called by: troupe.fork.
create or replace function troupe.copy_files(p_from uuid, p_to uuid) returns void language plpgsql as $$
begin
  insert into troupe.file_totals (thread_id) values (p_from) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_from for share;
  insert into troupe.files (thread_id, path, content, type, created_at, updated_at)
    select p_to, f.path, f.content, f.type, f.created_at, f.updated_at from troupe.files f where f.thread_id = p_from;
  insert into troupe.file_totals (thread_id, files, bytes) select p_to, t.files, t.bytes from troupe.file_totals t
    where t.thread_id = p_from;
  insert into troupe.todo_lists (thread_id, items, updated_at) select p_to, l.items, l.updated_at
    from troupe.todo_lists l where l.thread_id = p_from;
  insert into troupe.findings (thread_id, project_id, run_id, call_id, question, claim, source, quote, confidence,
    created_at)
    select p_to, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at
      from troupe.findings f where f.thread_id = p_from order by f.seq;
end $$;
