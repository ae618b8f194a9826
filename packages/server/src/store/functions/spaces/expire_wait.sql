-- Completes an expired send_message call with the replies that came: missing replies are not an error. If the wait was
-- deleted with its space, the call stays expired.
-- Locks: the wait. The caller holds the run and the call.
-- Called by: trigger.
create or replace function troupe.expire_wait() returns trigger language plpgsql as $$
declare
  w troupe.reply_waits;
begin
  delete from troupe.reply_waits x where x.run_id = new.run_id and x.call_id = new.call_id returning * into w;
  if found then
    new.status := 'completed'; new.error := null; new.settled_by := 'reply';
    new.output := troupe.wait_outcome(w, case when jsonb_array_length(w.replies) > 0 then 'partial_timeout'
      else 'timeout' end);
  end if;
  return new;
end $$;

create trigger tool_calls_expire_wait before update of status on troupe.tool_calls for each row
  when (old.waits_for = 'reply' and new.status = 'expired') execute function troupe.expire_wait();
