-- Deletes one file, or all files below a path if p_recursive is set, and updates the totals.
-- Locks: the caller holds those of troupe.open_files.
-- Called by: troupe.change_files, troupe.delete_files.
create or replace function troupe.remove_files(p_thread uuid, p_path text, p_recursive boolean) returns jsonb
  language plpgsql as $$
declare
  gone int; freed bigint;
begin
  with gone as (delete from troupe.files f where f.thread_id = p_thread and f.path = p_path
    returning octet_length(f.content) as size)
    select count(*), coalesce(sum(size), 0) into gone, freed from gone;
  if gone = 0 and exists (select from troupe.files f where f.thread_id = p_thread
    and starts_with(f.path, rtrim(p_path, '/') || '/')) then
    if not p_recursive then
      return jsonb_build_object('ok', false, 'code', 'is_a_directory');
    end if;
    with gone as (delete from troupe.files f where f.thread_id = p_thread
      and starts_with(f.path, rtrim(p_path, '/') || '/') returning octet_length(f.content) as size)
      select count(*), coalesce(sum(size), 0) into gone, freed from gone;
  end if;
  if gone = 0 then
    return jsonb_build_object('ok', false, 'code', 'file_not_found');
  end if;
  update troupe.file_totals t set files = t.files - gone, bytes = t.bytes - freed where t.thread_id = p_thread;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $$;
