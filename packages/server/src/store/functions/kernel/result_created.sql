-- Returns the event that a tool result was created, for append. p_message is its index among the messages.
-- Locks: none.
-- Called by: troupe.close_calls, troupe.end_wait, troupe.expire, troupe.settle.
create or replace function troupe.result_created(p_message int, p_step int) returns jsonb language sql immutable as $$
  select jsonb_build_object('type', 'message.created', 'message', p_message, 'step', p_step,
    'data', jsonb_build_object('role', 'tool_result'))
$$;
