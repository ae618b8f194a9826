-- Deletes the tasks of a deleted space.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.end_tasks_of_space() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id) select 'delete', t.id from troupe.tasks t where t.chat_id = old.id;
  return null;
end $$;

create trigger spaces_end_tasks after delete on troupe.spaces for each row execute function troupe.end_tasks_of_space();
