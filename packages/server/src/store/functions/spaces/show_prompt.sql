-- Records which messages of a space the prompt of a run shows. The end of the history is fixed by the first call, so
-- that a takeover builds the same prompt.
-- Locks: the head of the run, the row of run_shown.
-- Called by: troupe.keep_prompt.
create or replace function troupe.show_prompt(p_run uuid, p_epoch int, p_worker uuid, p_space uuid, p_from bigint,
  p_upto bigint) returns boolean language plpgsql as $$
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  insert into troupe.run_shown as x (run_id, space_id, seqs, prompt_upto)
    values (p_run, p_space, int8multirange(int8range(p_from, p_upto, '[]')), p_upto)
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs,
    prompt_upto = coalesce(x.prompt_upto, excluded.prompt_upto);
  -- The triggering message is in the prompt however old it is.
  perform troupe.note_shown(p_run, p_space, (r.trigger->>'sequence')::bigint, (r.trigger->>'sequence')::bigint)
    from troupe.runs r where r.id = p_run and r.space_id = p_space and r.trigger ? 'sequence';
  return true;
end $$;
