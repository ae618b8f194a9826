-- Records that a run was shown messages of a space.
-- Locks: the row of run_shown.
-- Called by: troupe.enter_space, troupe.read_space.
create or replace function troupe.note_history(p_run uuid, p_space uuid, p_history jsonb) returns void
  language sql as $$
  insert into troupe.run_shown as x (run_id, space_id, seqs)
    select p_run, p_space, range_agg(int8range((m->>'seq')::bigint, (m->>'seq')::bigint, '[]'))
      from jsonb_array_elements(p_history) m having count(*) > 0
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs;
  select troupe.watch(p_run, p_space)
$$;
