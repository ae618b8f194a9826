-- Queues an event for the chat when a call of a sub-agent waits for someone outside, because nobody follows the thread
-- of a sub-agent.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.note_waiting() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id, thread_id, data) select 'event', t.id, t.chat_thread_id,
    jsonb_build_object('type', 'task.waiting',
      'data', jsonb_strip_nulls(jsonb_build_object('id', t.id, 'subAgentId', t.sub_agent_id, 'runId', new.run_id,
        'callId', new.call_id, 'tool', new.tool, 'waitsFor', new.waits_for)))
    from troupe.runs r join troupe.tasks t on t.id = r.task_id where r.id = new.run_id and t.chat_thread_id is not null;
  return null;
end $$;

create trigger tool_calls_note_new after insert on troupe.tool_calls for each row
  when (new.waits_for in ('client', 'approval', 'person')) execute function troupe.note_waiting();

create trigger tool_calls_note after update of waits_for on troupe.tool_calls for each row
  when (new.waits_for in ('client', 'approval', 'person') and old.waits_for is distinct from new.waits_for)
  execute function troupe.note_waiting();
