-- What others do to a run: settle a call, let time run out, cancel, absorb, steer, retry, fork. None of it needs the
-- worker: the row decides, and the worker's fence tells it afterwards. Whoever locked a run that waits its turn in a
-- serial thread, and leaves it as it is, ends with this: promote passes over locked rows, so its turn may have come
-- meanwhile.
create or replace function troupe.pass(r troupe.runs) returns void language plpgsql as $$
begin
  if r.status = 'queued' and not r.ready then
    perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
    perform troupe.promote(r.thread_id, null);
  end if;
end $$;
