-- Writes the state of a visible call to its space, in the statement that changes the call. Each call has one message,
-- the only kind of message that changes. It starts no run.
-- Locks: the message, the memberships and shown messages that it invalidates, the thread of the space. The caller holds
-- that thread by troupe.lock_watchers.
-- Called by: trigger.
create or replace function troupe.show_call() returns trigger language plpgsql as $$
declare
  v_space uuid := (new.shown->>'spaceId')::uuid; v_message uuid := (new.shown->>'messageId')::uuid;
  state text := troupe.shown_state(new.status, new.waits_for); before text; ended boolean; line text; told jsonb;
  about jsonb;
  v_seq bigint; event_base bigint; said int := 0;
begin
  if tg_op = 'UPDATE' then
    before := troupe.shown_state(old.status, old.waits_for);
    if before = state and old.args = new.args then
      return null;
    end if;
  end if;
  ended := state in ('complete', 'error');
  -- Only the result is visible: there is no message before it.
  if not ended and new.shown->>'when' = 'result' then
    return null;
  end if;
  line := new.tool || case when (new.shown->>'input')::boolean then '(' || troupe.shortened(new.args::text, 200) || ')'
    else '' end
    || case state when 'complete' then case when (new.shown->>'output')::boolean then ' → '
      || troupe.shortened(coalesce(new.output::text, 'null'), 500) else ' → done' end
      when 'error' then ' → failed: ' || troupe.shortened(coalesce(new.error->>'message', new.status::text), 500)
      when 'requires_action' then ' → waits for an answer' else ' …' end;
  told := jsonb_build_object('text', line, 'tool', jsonb_build_object('callId', new.call_id, 'name', new.tool,
    'status', state)
    || case when (new.shown->>'input')::boolean then jsonb_build_object('arguments', new.args) else '{}' end
    || case when state = 'complete' and (new.shown->>'output')::boolean then jsonb_build_object('result', new.output)
      else '{}' end
    || case when state = 'error' then jsonb_build_object('error',
      jsonb_build_object('code', coalesce(new.error->>'code', new.status::text),
      'message', coalesce(new.error->>'message', new.status::text))) else '{}' end
    || case when new.shown ? 'customUI' then jsonb_build_object('customUI', new.shown->'customUI') else '{}' end);
  update troupe.messages m set content = told where m.id = v_message and m.thread_id = v_space returning m.seq
    into v_seq;
  said := case when found then 0 else 1 end;
  -- Agents that saw the earlier state have not seen this one.
  if said = 0 then
    update troupe.memberships m set seen = m.seen - int8multirange(int8range(v_seq, v_seq, '[]'))
      where m.space_id = v_space and m.seen @> v_seq and m.entity_id <> (select r.entity_id from troupe.runs r
        where r.id = new.run_id);
    -- The same holds for live runs that were shown the earlier state.
    update troupe.run_shown x set seqs = x.seqs - int8multirange(int8range(v_seq, v_seq, '[]'))
      where x.space_id = v_space and x.seqs @> v_seq and x.run_id <> new.run_id and x.run_id in (
        select r.id from troupe.runs r where r.space_id = v_space and r.status in ('queued', 'running', 'waiting_tool',
          'waiting_reply')
        union select r.id from troupe.runs r where r.active_space_id = v_space
          and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply'));
  end if;
  -- The space id comes from the model: nothing is written if the agent is not a member or the space does not exist.
  if v_seq is null and not exists (select from troupe.memberships m join troupe.runs r on r.id = new.run_id
    and r.entity_id = m.entity_id where m.space_id = v_space) then
    return null;
  end if;
  update troupe.threads t set last_message_seq = t.last_message_seq + said, last_event_seq = t.last_event_seq + 1
    where t.id = v_space
    returning case when said = 1 then t.last_message_seq else v_seq end, t.last_event_seq into v_seq, event_base;
  if said = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step)
      select v_space, v_seq, v_message, 'tool_call', told, new.call_id, r.entity_id, new.run_id, new.step
        from troupe.runs r where r.id = new.run_id;
    perform troupe.note_shown(new.run_id, v_space, v_seq, v_seq);
  end if;
  about := jsonb_build_object('id', new.call_id, 'tool', new.tool)
    || case when state = 'requires_action' then jsonb_build_object('waitsFor', new.waits_for,
      'deadlineMs', round(extract(epoch from new.deadline - now()) * 1000)) else '{}' end
    || case when state = 'error' then jsonb_build_object('status', new.status,
      'code', coalesce(new.error->>'code', new.status::text)) else '{}' end;
  insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, entries)
    values (v_space, event_base, v_seq - 1, new.run_id, json_build_array(json_build_array(
      case state when 'complete' then 'tool.completed' when 'error' then 'tool.failed'
        when 'requires_action' then 'tool.waiting' else 'tool.started' end, about, 1, new.step)));
  return null;
end $$;

create trigger tool_calls_show_first after insert on troupe.tool_calls for each row when (new.shown is not null)
  execute function troupe.show_call();

create trigger tool_calls_show after update of status on troupe.tool_calls for each row when (new.shown is not null)
  execute function troupe.show_call();
