-- Applies several file changes atomically. A null content deletes the file; deletions come first.
-- Locks: as troupe.open_files.
-- Called by: store/queries/files.ts.
create or replace function troupe.change_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid, p_paths text[],
  p_contents bytea[], p_types text[],
  p_most_files int, p_most_bytes bigint) returns jsonb language plpgsql as $$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker); answer jsonb;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  for i in 1 .. coalesce(cardinality(p_paths), 0) loop
    if p_contents[i] is null then
      -- Deleting a missing file is not an error.
      answer := troupe.remove_files(p_thread, p_paths[i], false);
    end if;
  end loop;
  for i in 1 .. coalesce(cardinality(p_paths), 0) loop
    if p_contents[i] is not null then
      answer := troupe.put_file(p_thread, p_paths[i], p_contents[i], p_types[i], p_most_files, p_most_bytes);
      if not (answer->>'ok')::boolean then
        raise exception sqlstate 'TF001';
      end if;
    end if;
  end loop;
  return jsonb_build_object('ok', true);
exception when sqlstate 'TF001' then
  return answer;
end $$;
