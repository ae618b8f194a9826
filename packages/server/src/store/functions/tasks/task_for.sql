-- The task of a sub-agent that a run may address: given by the same agent or from outside, in the same chat or within
-- the same task.
-- Locks: none.
-- Called by: troupe.reactivate_task, troupe.reply_to_task.
create or replace function troupe.task_for(p_run troupe.runs, p_sub_agent uuid) returns troupe.tasks
  language plpgsql stable as $$
declare
  t troupe.tasks; place jsonb := troupe.place_of(p_run.id);
begin
  select x.* into t from troupe.tasks x join troupe.sub_agents s on s.task_id = x.id
    left join troupe.runs g on g.id = x.parent_run_id
    where s.id = p_sub_agent and x.project_id = p_run.project_id and x.chat_id = (place->>'chat')::uuid
      and x.parent_task_id is not distinct from (place->>'task')::uuid
      and (x.parent_run_id is null or g.agent_id is not distinct from p_run.agent_id);
  return t;
end $$;
