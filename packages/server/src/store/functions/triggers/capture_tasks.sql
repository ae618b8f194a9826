-- Captures changes of tasks.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_tasks() returns trigger language plpgsql as $$
declare
  r troupe.tasks;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'tasks') then
    perform troupe.capture('tasks', r.project_id, r.chat_id, troupe.task_path(r), r.id::text, r.user_id,
      case when tg_op <> 'INSERT' then troupe.task_document(old) end,
      case when tg_op <> 'DELETE' then troupe.task_document(new) end, troupe.trigger_depth(r.parent_run_id));
  end if;
  return null;
end $$;

create trigger tasks_capture after insert or update or delete on troupe.tasks for each row
  execute function troupe.capture_tasks();
