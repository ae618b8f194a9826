-- Writes one file within the limits of the thread. A directory is a common prefix of paths and exists while it has a
-- file.
-- Locks: the caller holds those of troupe.open_files.
-- Called by: troupe.change_files, troupe.write_file.
create or replace function troupe.put_file(p_thread uuid, p_path text, p_content bytea, p_type text, p_most_files int,
  p_most_bytes bigint) returns jsonb language plpgsql as $$
declare
  before bigint; has troupe.file_totals; size bigint := octet_length(p_content); since timestamptz; changed timestamptz;
begin
  select octet_length(f.content) into before from troupe.files f where f.thread_id = p_thread and f.path = p_path;
  if before is null then
    if exists (select from troupe.files f where f.thread_id = p_thread and starts_with(f.path, p_path || '/')) then
      return jsonb_build_object('ok', false, 'code', 'is_a_directory');
    elsif exists (select from troupe.files f where f.thread_id = p_thread and starts_with(p_path, f.path || '/')) then
      return jsonb_build_object('ok', false, 'code', 'not_a_directory');
    end if;
  end if;
  select * into has from troupe.file_totals t where t.thread_id = p_thread;
  if before is null and has.files >= p_most_files then
    return jsonb_build_object('ok', false, 'code', 'too_many_files');
  elsif has.bytes - coalesce(before, 0) + size > p_most_bytes and size > coalesce(before, 0) then
    return jsonb_build_object('ok', false, 'code', 'files_full');
  end if;
  insert into troupe.files (thread_id, path, content, type) values (p_thread, p_path, p_content, p_type)
    on conflict (thread_id, path) do update set content = excluded.content, type = excluded.type, updated_at = now()
    returning created_at, updated_at into since, changed;
  update troupe.file_totals t set files = t.files + case when before is null then 1 else 0 end,
    bytes = t.bytes - coalesce(before, 0) + size
    where t.thread_id = p_thread;
  return jsonb_build_object('ok', true, 'created', before is null, 'createdAt', since, 'updatedAt', changed);
end $$;
