-- The document of a tool call, or null if it does not belong to a sub-agent.
-- Locks: none.
-- Called by: store/queries/sync-sources.ts, store/queries/triggers.ts.
create or replace function troupe.tool_call_document(c troupe.tool_calls) returns jsonb language sql stable as $$
  select case when (p).sub_agent_id is not null then troupe.sub_agent_call_document(c, p) end
  from (select troupe.place_of_thread(r.thread_id) as p from troupe.runs r where r.id = c.run_id
    and r.task_id is not null offset 0) x
$$;
