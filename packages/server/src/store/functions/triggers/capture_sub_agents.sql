-- Captures changes of sub-agents.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.capture_sub_agents() returns trigger language plpgsql as $$
declare
  r troupe.sub_agents;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'sub_agents') then
    perform troupe.capture('sub_agents', r.project_id, r.chat_id, troupe.sub_agent_path(r), r.id::text, r.user_id,
      case when tg_op <> 'INSERT' then troupe.sub_agent_document(old) end,
      case when tg_op <> 'DELETE' then troupe.sub_agent_document(new) end,
      troupe.trigger_depth((select t.parent_run_id from troupe.tasks t where t.id = r.task_id)));
  end if;
  return null;
end $$;

create trigger sub_agents_capture after insert or update or delete on troupe.sub_agents for each row
  execute function troupe.capture_sub_agents();
