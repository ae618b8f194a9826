-- Deletes a file, or a directory if p_recursive is set.
-- Locks: as troupe.open_files.
-- Called by: store/queries/files.ts.
create or replace function troupe.delete_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid, p_path text,
  p_recursive boolean) returns jsonb language plpgsql as $$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker);
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  return troupe.remove_files(p_thread, p_path, p_recursive);
end $$;
