-- Ends an action that locked a run which waits for its turn, and left it unchanged. troupe.promote skips locked rows,
-- so the turn of the run may have come while it was locked.
-- Locks: the thread. The caller holds the run.
-- Called by: troupe.absorb, troupe.leave, troupe.retry, troupe.settle, troupe.settle_all.
create or replace function troupe.pass(r troupe.runs) returns void language plpgsql as $$
begin
  if r.status = 'queued' and not r.ready then
    perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
    perform troupe.promote(r.thread_id, null);
  end if;
end $$;
