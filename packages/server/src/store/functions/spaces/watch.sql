-- Adds a space to the threads that watch a run.
-- Locks: the run, if the space is new to it. A caller that holds the thread of the space must know that it is not.
-- Called by: troupe.note_history, troupe.tell_spaces.
create or replace function troupe.watch(p_run uuid, p_space uuid) returns void language sql as $$
  update troupe.runs r set watchers = coalesce(r.watchers, '{}') || p_space
    where r.id = p_run and not coalesce(r.watchers @> array[p_space], false)
$$;
