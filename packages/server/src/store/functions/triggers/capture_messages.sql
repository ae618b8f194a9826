-- Captures changes of messages. The trigger is deferred: the rows of an answer are written one by one and are one
-- document within a sub-agent.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_messages() returns trigger language plpgsql as $$
declare
  r troupe.messages; place troupe.place; before jsonb; after jsonb; whose uuid; at text;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  -- The second condition covers a thread that this transaction deletes.
  if not exists (select from troupe.threads h join troupe.triggers t on t.project_id = h.project_id
      where h.id = r.thread_id and t.enabled and t.collections && '{messages,sub_agent_messages}')
    and exists (select from troupe.threads h where h.id = r.thread_id) then
    return null;
  end if;
  place := troupe.place_of_thread(r.thread_id);
  if place.collection is null or not troupe.is_captured(place.project_id, place.collection) then
    return null;
  end if;
  if place.collection = 'messages' then
    before := case when tg_op <> 'INSERT' then troupe.chat_message_document(old, place) end;
    after := case when tg_op <> 'DELETE' then troupe.chat_message_document(new, place) end;
    whose := coalesce(place.user_id, nullif(coalesce(after, before)->>'userId', '')::uuid); at := 'messages';
  else
    before := case when tg_op <> 'INSERT' then troupe.sub_agent_message_document(old, place) end;
    after := case when tg_op <> 'DELETE' then troupe.sub_agent_message_document(new, place) end;
    whose := place.user_id; at := 'sub-agents/' || place.sub_agent_id || '/messages';
  end if;
  perform troupe.capture(place.collection, place.project_id, place.chat_id, troupe.chat_path(whose, place.chat_id, at),
    r.id::text, whose, before, after,
    coalesce(troupe.noted_depth(r.metadata), troupe.trigger_depth(r.run_id)));
  return null;
end $$;

create constraint trigger messages_capture after insert or update or delete on troupe.messages
  deferrable initially deferred for each row
  execute function troupe.capture_messages();
