-- Queues the event of a new or changed task for the thread of its chat.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.note_task() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id, thread_id, data)
    values ('event', new.id, new.chat_thread_id, jsonb_build_object(
    'type', case tg_op when 'INSERT' then 'task.created' else 'task.updated' end,
    'data', jsonb_strip_nulls(jsonb_build_object('id', new.id, 'type', new.type, 'name', new.name, 'status', new.status,
      'subAgentId', case when new.status <> 'pending' then new.sub_agent_id end,
      'parentTaskId', new.parent_task_id, 'triggerMessageId', new.trigger_message_id, 'background', new.background,
      'runId', new.run_id,
      'question', troupe.shortened(new.question, 2000),
      'result', case when new.status = 'success' then troupe.shortened(new.result, 2000) end,
      'code', new.error->'code', 'error', troupe.shortened(new.error->>'message', 2000)))));
  return null;
end $$;

create trigger tasks_note after insert on troupe.tasks for each row when (new.chat_thread_id is not null)
  execute function troupe.note_task();

create trigger tasks_note_change after update of status, question on troupe.tasks for each row
  when (new.chat_thread_id is not null and (new.status, new.question) is distinct from (old.status, old.question))
  execute function troupe.note_task();
