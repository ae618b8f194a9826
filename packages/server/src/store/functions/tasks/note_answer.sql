-- Continues a task whose question was answered or expired, and takes the unused waiting time off the deadline of its
-- run.
-- Locks: the task, the sub-agent. The caller holds the run and the call.
-- Called by: trigger.
create or replace function troupe.note_answer() returns trigger language plpgsql as $$
begin
  update troupe.runs r set deadline_at = r.deadline_at - greatest(old.deadline - now(), '0') where r.id = new.run_id;
  if new.status <> 'canceled' then
    update troupe.tasks t set status = 'running', question = null, updated_at = now() where t.run_id = new.run_id
      and t.status = 'waiting';
    update troupe.sub_agents s set status = 'active', updated_at = now() from troupe.tasks t where t.run_id = new.run_id
      and s.id = t.sub_agent_id and s.status = 'waiting_for_user';
  end if;
  return null;
end $$;

create trigger tool_calls_answer after update of waits_for on troupe.tool_calls for each row
  when (old.waits_for::text = 'answer' and new.waits_for is null) execute function troupe.note_answer();
