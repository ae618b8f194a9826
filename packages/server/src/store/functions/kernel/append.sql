-- Puts messages and events at the end of a thread whose lock the caller holds. Returns the seq before the first
-- message.
create or replace function troupe.append(thread uuid, run uuid, messages jsonb, events jsonb) returns bigint
  language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  message_count int := coalesce(jsonb_array_length(messages), 0);
  event_count int := coalesce(jsonb_array_length(events), 0);
  message_base bigint; event_base bigint;
begin
  update troupe.threads t set last_message_seq = t.last_message_seq + message_count,
    last_event_seq = t.last_event_seq + event_count
    where t.id = thread returning t.last_message_seq - message_count, t.last_event_seq - event_count
      into message_base, event_base;
  if message_count > 0 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
    select thread, message_base + k, coalesce((m->>'id')::uuid, troupe.new_id()), (m->>'role')::troupe.message_role,
      m->'content', m->>'callId',
      (m->>'sender')::uuid, case when m ? 'run' then (m->>'run')::uuid else run end, (m->>'step')::int, m->'metadata'
    from jsonb_array_elements(messages) with ordinality x(m, k);
  end if;
  if event_count > 0 then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
    select thread, event_base + k, e->>'type', e->'data', message_base + 1 + (e->>'message')::int, run,
      (e->>'step')::int
    from jsonb_array_elements(events) with ordinality x(e, k);
  end if;
  return message_base;
end $$;
