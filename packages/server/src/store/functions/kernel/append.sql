-- Appends messages and events to a thread. Returns the sequence number before the first message.
-- messages: [{id?, role, content, callId?, sender?, run?, step?, metadata?}], events: [{type, data?, message?, step?}],
-- where message is the index of one of these messages.
-- Locks: the thread; most callers already hold it.
-- Called by: troupe.add_member, troupe.ask, troupe.begin_child, troupe.book_spending, troupe.close_calls,
--   troupe.create_space, troupe.end_run, troupe.end_wait, troupe.enter_space, troupe.expire, troupe.fork,
--   troupe.mark_read, troupe.post, troupe.raise_budget, troupe.remove_member, troupe.retry, troupe.settle,
--   troupe.tell_answer, troupe.tell_chat, troupe.tell_giver, troupe.tell_spaces, troupe.tell_unsaid,
--   troupe.update_space, troupe.wait_for_task.
create or replace function troupe.append(thread uuid, run uuid, messages jsonb, events jsonb) returns bigint
  language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  message_count int := coalesce(jsonb_array_length(messages), 0);
  event_count int := coalesce(jsonb_array_length(events), 0);
  message_base bigint; event_last bigint;
begin
  update troupe.threads t set last_message_seq = t.last_message_seq + message_count,
    last_event_seq = t.last_event_seq + event_count
    where t.id = thread returning t.last_message_seq - message_count, t.last_event_seq into message_base, event_last;
  if message_count > 0 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
    select thread, message_base + k, coalesce((m->>'id')::uuid, troupe.new_id()), (m->>'role')::troupe.message_role,
      m->'content', m->>'callId', (m->>'sender')::uuid, case when m ? 'run' then (m->>'run')::uuid else run end,
      (m->>'step')::int, m->'metadata'
    from jsonb_array_elements(messages) with ordinality x(m, k);
  end if;
  if event_count > 0 then
    insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
    -- A reader parses a whole row for each page, so that a long list is several rows.
    select thread, event_last - event_count + max(k), message_base, run,
      json_agg(json_build_array(e->'type', e->'data', (e->>'message')::int + 1, e->'step') order by k)
    from jsonb_array_elements(events) with ordinality x(e, k) group by (k - 1) / 64;
  end if;
  return message_base;
end $$;
