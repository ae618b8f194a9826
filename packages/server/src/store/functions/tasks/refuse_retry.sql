-- Refuses to queue an ended run of a task again if the task went on with another run.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.refuse_retry() returns trigger language plpgsql as $$
begin
  if not exists (select from troupe.tasks t where t.id = new.task_id and t.run_id = new.id) then
    raise exception 'task_went_on' using errcode = 'TR004';
  end if;
  return new;
end $$;

create trigger runs_refuse_retry before update of status on troupe.runs for each row
  when (new.task_id is not null and new.status = 'queued' and old.status in ('failed', 'canceled'))
  execute function troupe.refuse_retry();
