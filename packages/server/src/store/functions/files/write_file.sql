-- Creates or replaces a file.
-- Locks: as troupe.open_files.
-- Called by: store/queries/files.ts.
create or replace function troupe.write_file(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid, p_path text,
  p_content bytea, p_type text,
  p_most_files int, p_most_bytes bigint) returns jsonb language plpgsql as $$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker);
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  return troupe.put_file(p_thread, p_path, p_content, p_type, p_most_files, p_most_bytes);
end $$;
