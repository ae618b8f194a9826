-- Settles the call that waits for a sub-agent with the question of the sub-agent. Returns null if no call waits.
-- Locks: the runs of child and parent by id, then as troupe.settle.
-- Called by: troupe.join_task.
create or replace function troupe.hand_up(j troupe.joins) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; child troupe.runs; answer jsonb;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  select * into child from troupe.runs x where x.id = t.run_id;
  if child.parent_call_id is null then
    return null;
  end if;
  perform 1 from troupe.runs x where x.id in (child.id, child.parent_run_id) order by x.id for no key update;
  if not exists (select from troupe.tasks x where x.id = t.id and x.status = 'waiting' and x.told = j.told)
    or not exists (select from troupe.runs x where x.id = child.id and x.parent_call_id = child.parent_call_id
      and x.parent_run_id = child.parent_run_id) then
    return '{}';
  end if;
  answer := troupe.settle(child.parent_run_id, child.parent_call_id,
    jsonb_build_object('status', 'completed', 'output', jsonb_build_object('status', 'waiting',
    'taskId', t.id, 'subAgentId', t.sub_agent_id, 'question', t.question)), 'run:' || child.id, troupe.new_id());
  -- The call has ended, and its own join cancels the child.
  if not (answer->>'ok')::boolean then
    return '{}';
  end if;
  update troupe.runs x set parent_call_id = null where x.id = child.id;
  return answer || jsonb_build_object('settled', child.parent_run_id, 'how', 'completed');
end $$;
