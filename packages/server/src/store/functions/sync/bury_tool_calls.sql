-- Writes the tombstones of deleted tool calls of sub-agents. Calls are deleted before their runs.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.bury_tool_calls() returns trigger language plpgsql as $$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
    select 'sub_agent_tool_calls', troupe.call_document_id(g.run_id, g.call_id), (p.place).project_id,
      (p.place).user_id, r.thread_id, (p.place).chat_id, g.xid
    from gone g join troupe.runs r on r.id = g.run_id and r.task_id is not null
      cross join lateral (select troupe.place_of_thread(r.thread_id) as place offset 0) p
    where (p.place).sub_agent_id is not null on conflict do nothing;
  return null;
end $$;

create trigger tool_calls_bury after delete on troupe.tool_calls referencing old table as gone for each statement
  execute function troupe.bury_tool_calls();
