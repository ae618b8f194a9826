-- Captures changes of tool calls of sub-agents.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_tool_calls() returns trigger language plpgsql as $$
declare
  r troupe.tool_calls; place troupe.place;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if not exists (select from troupe.runs x join troupe.triggers t on t.project_id = x.project_id
      where x.id = r.run_id and x.task_id is not null and t.enabled
        and 'sub_agent_tool_calls' = any (t.collections)) then
    return null;
  end if;
  select p.* into place from troupe.runs x cross join lateral troupe.place_of_thread(x.thread_id) p
    where x.id = r.run_id and x.task_id is not null;
  if place.sub_agent_id is null or not troupe.is_captured(place.project_id, 'sub_agent_tool_calls') then
    return null;
  end if;
  perform troupe.capture('sub_agent_tool_calls', place.project_id, place.chat_id, troupe.tool_call_path(r),
    troupe.call_document_id(r.run_id, r.call_id), place.user_id,
    case when tg_op <> 'INSERT' then troupe.sub_agent_call_document(old, place) end,
    case when tg_op <> 'DELETE' then troupe.sub_agent_call_document(new, place) end,
    troupe.trigger_depth(r.run_id));
  return null;
end $$;

create trigger tool_calls_capture after insert or update or delete on troupe.tool_calls for each row
  execute function troupe.capture_tool_calls();
