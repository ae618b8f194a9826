-- Returns the messages of a thread that a run needs, in order: at most p_limit before the one that started it, without
-- messages that the newest summary covers. The metadata of a summary names the last message that it covers and earlier
-- messages that it does not cover. Metadata of other roles is not trusted. Messages before the trigger take at most
-- 24 MB as stored.
-- Locks: none.
-- Called by: troupe.claim, troupe.start.
create or replace function troupe.tail(p_thread uuid, p_trigger bigint, p_limit int) returns jsonb
  language sql stable as $$
  with summary as (
    select (m.metadata->'troupe:summary'->>'upTo')::bigint as up_to, m.metadata->'troupe:summary'->'kept' as kept
    from troupe.messages m
    where m.thread_id = p_thread and m.role = 'system' and jsonb_typeof(m.metadata->'troupe:summary'->'upTo') = 'number'
    order by m.seq desc limit 1),
  needed as (
    select m from troupe.messages m
    where m.thread_id = p_thread
      and m.seq > greatest(p_trigger - p_limit, coalesce((select s.up_to from summary s), 0))
    union all
    select m from troupe.messages m
    where m.thread_id = p_thread and m.seq <= (select s.up_to from summary s) and m.seq = any(
      array(select k::bigint from summary s, jsonb_array_elements_text(s.kept) k) || p_trigger)),
  sized as (
    select n.m, sum(pg_column_size((n.m).content)) over (order by (n.m).seq desc) as bytes from needed n)
  select coalesce(jsonb_agg(troupe.message_json(x.m) order by (x.m).seq), '[]') from sized x
    where x.bytes <= 25165824 or (x.m).seq >= p_trigger
$$;
