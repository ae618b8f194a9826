-- The collection path of a tool call, or null if it does not belong to a sub-agent.
-- Locks: none.
-- Called by: troupe.capture_tool_calls, store/queries/triggers.ts.
create or replace function troupe.tool_call_path(c troupe.tool_calls) returns text language sql stable as $$
  select case when (p).sub_agent_id is not null
    then troupe.chat_path((p).user_id, (p).chat_id, 'sub-agents/' || (p).sub_agent_id || '/tool-calls') end
  from (select troupe.place_of_thread(r.thread_id) as p from troupe.runs r where r.id = c.run_id
    and r.task_id is not null offset 0) x
$$;
