-- Ends the turn of a serial run in its thread and makes the next run ready. A successor whose row is locked is skipped:
-- the transaction that cancels or absorbs it waits for this thread and then promotes.
-- Locks: the next run (skipping locked ones). The caller holds the thread.
-- Called by: troupe.end_run, troupe.leave, troupe.pass.
create or replace function troupe.promote(thread uuid, ended uuid) returns boolean language plpgsql
set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  next uuid;
begin
  update troupe.threads t set active_run_id = null, failed_run_id = null where t.id = thread
    and (t.active_run_id = ended or t.active_run_id is null);
  if not found then
    return false;
  end if;
  select r.id into next from troupe.runs r
    where r.thread_id = thread and r.status = 'queued' and not r.ready
    order by r.trigger_seq, r.id limit 1 for no key update skip locked;
  if found then
    update troupe.threads t set active_run_id = next where t.id = thread;
    update troupe.runs r set ready = true, run_at = greatest(r.run_at, now()) where r.id = next;
    return true;
  end if;
  return false;
end $$;
