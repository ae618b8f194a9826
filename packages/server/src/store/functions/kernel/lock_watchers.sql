-- Locks the threads that watch these runs, and others that a commit will write to, before the first of them is written:
-- two transactions that write to several take them in one order.
-- Locks: threads by id. After runs, heads and tool calls, before the threads of runs.
create or replace function troupe.lock_watchers(p_runs uuid[], p_places uuid[]) returns void language plpgsql as $$
begin
  perform 1 from troupe.threads t where t.id in (
    select unnest(r.watchers) from troupe.runs r where r.id = any(p_runs) union select unnest(p_places))
    order by t.id for no key update;
end $$;
