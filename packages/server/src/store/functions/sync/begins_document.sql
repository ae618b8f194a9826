-- Returns whether a message of a sub-agent is a document. Of a model's answer, only the first row is, with all calls of
-- the step.
-- Locks: none.
-- Called by: troupe.sub_agent_message_document, store/queries/sync-sources.ts, store/queries/triggers.ts.
create or replace function troupe.begins_document(m troupe.messages) returns boolean language sql stable as $$
  select m.role not in ('assistant', 'tool_call') or not exists (select from troupe.messages b
    where b.thread_id = m.thread_id and b.seq = m.seq - 1 and b.run_id = m.run_id and b.step = m.step
      and b.role in ('assistant', 'tool_call'))
$$;
