-- Returns the first message of a thread that a run needs: at most p_limit messages before the one that started it, and
-- nothing that the newest summary replaces. A summary names that message in its metadata; metadata of
-- other messages is not trusted.
-- Locks: none.
-- Called by: troupe.claim, troupe.start.
create or replace function troupe.tail_from(p_thread uuid, p_trigger bigint, p_limit int) returns bigint
  language sql stable as $$
  select greatest(p_trigger - p_limit + 1, least(p_trigger, coalesce((
    select (m.metadata->>'troupe:from')::bigint from troupe.messages m
    where m.thread_id = p_thread and m.role = 'system' and jsonb_typeof(m.metadata->'troupe:from') = 'number'
    order by m.seq desc limit 1), 0)))
$$;
