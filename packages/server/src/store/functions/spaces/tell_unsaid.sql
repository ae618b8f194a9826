-- Writes that a message whose text was already streamed will not be posted.
-- Locks: the thread of the space. The caller holds it by troupe.lock_watchers.
-- Called by: trigger.
create or replace function troupe.tell_unsaid() returns trigger language plpgsql as $$
declare
  r troupe.runs; v_space uuid; v_message uuid := troupe.id_from(new.run_id || ':' || new.call_id);
begin
  select * into r from troupe.runs x where x.id = new.run_id;
  if r.watchers is null or exists (select from troupe.messages m where m.id = v_message) then
    return null;
  end if;
  v_space := troupe.space_of_call(new.run_id, new.call_id);
  if exists (select from troupe.memberships m where m.space_id = v_space and m.entity_id = r.entity_id) then
    perform troupe.append(v_space, new.run_id, null, jsonb_build_array(jsonb_build_object('type', 'message.failed',
      'step', new.step, 'data', jsonb_build_object(
      'streamId', v_message, 'entityId', r.entity_id, 'code', coalesce(new.error->>'code', new.output->>'code',
        new.status::text),
      'message', coalesce(new.error->>'message', new.output->>'error', new.status::text)))));
  end if;
  return null;
end $$;

create trigger tool_calls_unsaid_first after insert on troupe.tool_calls for each row
  when (new.tool = 'send_message' and new.status = 'failed') execute function troupe.tell_unsaid();

create trigger tool_calls_unsaid after update of status on troupe.tool_calls for each row
  when (new.tool = 'send_message' and new.status <> old.status
    and (new.status in ('failed', 'canceled', 'expired', 'in_doubt') or new.output @> '{"success": false}'))
  execute function troupe.tell_unsaid();
