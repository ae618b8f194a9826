-- The collection path of a task.
-- Locks: none.
-- Called by: troupe.capture_tasks, store/queries/triggers.ts.
create or replace function troupe.task_path(t troupe.tasks) returns text
  language sql stable as $$ select troupe.chat_path(t.user_id, t.chat_id, 'tasks') $$;
