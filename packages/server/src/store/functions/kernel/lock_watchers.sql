-- Locks the threads that watch these runs, and others that a commit will write to, before the first write to any of
-- them. Transactions that write to several threads take them in one order.
-- Locks: threads by id; after runs and heads, before tool calls and the threads of runs.
-- Called by: troupe.begin_child, troupe.begin_task, troupe.claim, troupe.commit, troupe.end_run, troupe.expire,
--   troupe.expire_unclaimed, troupe.reactivate_task, troupe.reply_to_task, troupe.settle, troupe.settle_all.
create or replace function troupe.lock_watchers(p_runs uuid[], p_places uuid[]) returns void language plpgsql as $$
begin
  perform 1 from troupe.threads t where t.id in (
    select unnest(r.watchers) from troupe.runs r where r.id = any(p_runs) union select unnest(p_places))
    order by t.id for no key update;
end $$;
