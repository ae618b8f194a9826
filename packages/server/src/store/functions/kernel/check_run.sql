-- Enforces that owner, deadline, end and error of a run match its status. A trigger on those columns instead of a check
-- constraint: every update parses check constraints (60 µs of 90, measured), and most updates only count a step.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.check_run() returns trigger language plpgsql as $$
begin
  if not (case new.status
    when 'running' then new.worker_id is not null and new.wait_deadline is null and new.completed_at is null
    and new.cancel_reason is null
    when 'completed' then new.worker_id is null and new.completed_at is not null and new.cancel_reason is null
    and new.open_calls = 0
    when 'failed' then new.worker_id is null and new.completed_at is not null and new.error is not null
    and new.open_calls = 0
    when 'canceled' then new.worker_id is null and new.cancel_reason is not null and new.completed_at is null
    and new.open_calls = 0
    when 'queued' then new.worker_id is null and new.wait_deadline is null and new.completed_at is null
    else new.worker_id is null and new.wait_deadline is not null end)
    or (new.lane is null) <> (new.lane_limit is null) or new.open_calls < 0
  then
    raise exception 'run % cannot be % like this', new.id, new.status using errcode = 'check_violation';
  end if;
  return new;
end $$;

create trigger runs_check before insert or update of status, worker_id, wait_deadline, completed_at, cancel_reason,
  error, open_calls
  on troupe.runs for each row execute function troupe.check_run();
