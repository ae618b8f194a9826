-- Makes a send_message call wait for replies.
-- Locks: the call. The caller holds the run and the thread of the space.
-- Called by: troupe.post_to_space.
create or replace function troupe.begin_wait(p_run uuid, p_call text, p_space uuid, p_message uuid, p_seq bigint,
  p_wait jsonb) returns void language plpgsql as $$
declare
  v_timeout bigint := (p_wait->>'timeoutMs')::bigint; c troupe.tool_calls;
begin
  c := troupe.hand_over_call(p_run, p_call, 'reply', v_timeout);
  if c.call_id is null then
    raise exception 'troupe.begin_wait: call % of run % is not running', p_call, p_run;
  end if;
  insert into troupe.reply_waits (run_id, call_id, space_id, entity_id, message_id, message_seq, waiting_for, any_reply,
    timeout_ms)
    select p_run, p_call, p_space, r.entity_id, p_message, p_seq,
      (select coalesce(jsonb_agg(jsonb_build_object('entityId', e.id,
        'entityName', coalesce(e.display_name, e.external_id), 'entityType', e.type, 'responded', false)), '[]')
        from troupe.entities e where case when jsonb_typeof(p_wait->'for') = 'array' then p_wait->'for' ? e.id::text
          else false end),
      coalesce(jsonb_typeof(p_wait->'for'), 'null') <> 'array', v_timeout
    from troupe.runs r where r.id = p_run;
end $$;
