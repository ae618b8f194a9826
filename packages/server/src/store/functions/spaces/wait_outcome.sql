-- The result of a send_message call that waited for replies.
-- Locks: none.
-- Called by: troupe.end_wait, troupe.expire_wait.
create or replace function troupe.wait_outcome(w troupe.reply_waits, p_how text) returns jsonb language sql stable as $$
  select jsonb_build_object('success', true, 'messageId', w.message_id, 'status', p_how, 'replies', w.replies,
    'waitingFor', w.waiting_for, 'waitDuration', round(extract(epoch from now() - w.started_at) * 1000))
$$;
