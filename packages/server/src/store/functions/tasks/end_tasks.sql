-- Cancels the tasks of a network run or fork that ended: nobody is left to receive their results.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.end_tasks() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id) select 'cancel', t.id from troupe.tasks t where t.chat_id = new.id
    and t.status in ('pending', 'running', 'waiting');
  return null;
end $$;

create trigger runs_end_tasks after update of status on troupe.runs for each row
  when ((new.network_id is not null or new.trigger_type = 'fork') and new.parent_call_id is null
    and new.status is distinct from old.status
    and new.status in ('completed', 'failed', 'canceled'))
  execute function troupe.end_tasks();
