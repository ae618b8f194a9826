-- Records that a run was shown, or sent, a range of messages of a space.
-- Locks: the row of run_shown.
-- Called by: troupe.post_to_space, troupe.show_call, troupe.show_prompt.
create or replace function troupe.note_shown(p_run uuid, p_space uuid, p_from bigint, p_to bigint) returns void
  language sql as $$
  insert into troupe.run_shown as x (run_id, space_id, seqs)
    values (p_run, p_space, int8multirange(int8range(p_from, p_to, '[]')))
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs
$$;
