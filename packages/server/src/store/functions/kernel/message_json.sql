-- The JSON form of a message for a worker.
-- Locks: none.
-- Called by: troupe.commit, troupe.tail, store/queries/claim.ts.
create or replace function troupe.message_json(m troupe.messages) returns jsonb language sql stable as $$
  select jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
    'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata)
$$;
