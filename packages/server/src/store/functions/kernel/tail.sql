-- Returns the messages of a thread that a run needs, in order: at most p_limit before its trigger, none that starts a
-- run which waits for its turn. Messages that the newest summary covers are left out; its metadata names the last one
-- and earlier ones that it does not cover (metadata of other roles is not trusted). Messages of other runs are left
-- out, oldest first, if all take more than 24 MB.
-- Locks: none.
-- Called by: troupe.start, troupe.take.
create or replace function troupe.tail(p_thread uuid, p_run uuid, p_trigger bigint, p_limit int) returns jsonb
  language plpgsql stable as $$
declare
  summary jsonb; up_to bigint; wanted int8multirange; first bigint; last bigint; top bigint := 9223372036854775807;
  waiting int8range[]; m troupe.messages; own boolean; one jsonb; kept jsonb[] := '{}'; bytes int := 0;
begin
  select x.metadata->'troupe:summary' into summary from troupe.messages x
    where x.thread_id = p_thread and x.role = 'system' and jsonb_typeof(x.metadata->'troupe:summary'->'upTo') = 'number'
    order by x.seq desc limit 1;
  up_to := coalesce((summary->>'upTo')::bigint, 0);
  wanted := int8multirange(int8range(greatest(p_trigger - p_limit, up_to) + 1, null),
    int8range(p_trigger, p_trigger, '[]'));
  wanted := wanted + (select coalesce(range_agg(int8range((r->>0)::bigint, (r->>-1)::bigint, '[]')), '{}')
    from (select jsonb_build_array(k) as r from jsonb_array_elements(summary->'kept') k
      union all select jsonb_array_elements(summary->'later')) x);
  -- A waiting run knows where the row of waiting triggers begins that it ends: one lookup for each row.
  first := (select min(b.trigger_seq) from troupe.runs b
    where b.thread_id = p_thread and b.status = 'queued' and not b.ready and b.trigger_seq > p_trigger);
  while first < top loop
    select greatest(coalesce(b.queued_from, b.trigger_seq), first), b.trigger_seq into top, last from troupe.runs b
      where b.thread_id = p_thread and b.status = 'queued' and not b.ready and b.trigger_seq < top
      order by b.trigger_seq desc limit 1;
    waiting := waiting || int8range(top, last, '[]');
  end loop;
  wanted := wanted - coalesce((select range_agg(w) from unnest(waiting) w), '{}');
  -- Lateral and in order, so that each range is one range of the index, not a filter over the whole thread.
  for m in select x.* from unnest(wanted) w(r) cross join lateral (
      select y.* from troupe.messages y where y.thread_id = p_thread and y.seq >= lower(w.r)
        and y.seq < coalesce(upper(w.r), 9223372036854775807) order by y.seq offset 0) x order by x.seq desc loop
    own := m.seq = p_trigger or coalesce(m.run_id = p_run, false);
    continue when not own and (bytes > 25165824 or cardinality(kept) > 2 * p_limit);
    one := troupe.message_json(m);
    bytes := bytes + pg_column_size(one);
    continue when not own and bytes > 25165824;
    kept := kept || one;
  end loop;
  return (select coalesce(jsonb_agg(k.v order by k.o desc), '[]') from unnest(kept) with ordinality k(v, o));
end $$;
