-- A question goes to the call that waits for the sub-agent: it is settled with it, and nobody waits for the sub-agent
-- any more. Null: nobody did.
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
  answer := troupe.settle(child.parent_run_id, child.parent_call_id, jsonb_build_object('status', 'completed',
    'output', jsonb_build_object('status', 'waiting',
    'taskId', t.id, 'subAgentId', t.sub_agent_id, 'question', t.question)), 'run:' || child.id, troupe.new_id());
  -- A call that is over has noted so itself, and its child is canceled.
  if not (answer->>'ok')::boolean then
    return '{}';
  end if;
  update troupe.runs x set parent_call_id = null where x.id = child.id;
  return answer || jsonb_build_object('settled', child.parent_run_id, 'how', 'completed');
end $$;
