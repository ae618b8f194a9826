-- Cuts a text after p_most characters and marks the cut with an ellipsis.
-- Locks: none.
-- Called by: troupe.follow_run, troupe.note_task, troupe.show_call.
create or replace function troupe.shortened(p_text text, p_most int) returns text language sql immutable as $$
  select case when length(p_text) > p_most then left(p_text, p_most) || '…' else p_text end
$$;
