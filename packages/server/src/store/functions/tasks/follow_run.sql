-- Updates a task and its sub-agent when the status of its run changes, and queues the notices for the giver.
-- Locks: the task, the sub-agent. The caller holds the run.
-- Called by: trigger.
create or replace function troupe.follow_run() returns trigger language plpgsql as $$
declare
  t troupe.tasks; ended boolean := new.status in ('completed', 'failed', 'canceled'); asked text; now_is text;
  told jsonb;
begin
  select * into t from troupe.tasks x where x.id = new.task_id and x.run_id = new.id for no key update;
  if not found then
    return null;
  end if;
  if new.status in ('waiting_tool', 'waiting_reply') then
    select c.args->>'question' into asked from troupe.tool_calls c where c.run_id = new.id
      and c.waits_for::text = 'answer' order by c.step, c.position limit 1;
  end if;
  now_is := case when new.status = 'completed' then 'success' when ended then new.status::text when asked is not null
    then 'waiting'
    when new.status = 'queued' and new.started_at is null then 'pending' else 'running' end;
  if now_is = t.status and asked is not distinct from t.question then
    return null;
  end if;
  update troupe.tasks x set status = now_is, question = asked, told = x.told + (ended or asked is not null)::int,
    updated_at = now(),
    result = case when now_is = 'success' then coalesce(new.outcome->>'text', '') else x.result end,
    error = case when now_is = 'failed' then new.error
      when now_is = 'canceled' then jsonb_build_object('code', 'canceled',
        'message', format('It was canceled (%s).', new.cancel_reason)) end
    where x.id = t.id returning * into t;
  if t.sub_agent_id is not null then
    update troupe.sub_agents x set updated_at = now(),
      status = case now_is when 'success' then 'completed' when 'failed' then 'failed' when 'canceled' then 'failed'
        when 'waiting' then 'waiting_for_user' else 'active' end,
      iteration_count = case when ended
        then (select coalesce(sum(y.step), 0) from troupe.runs y where y.task_id = t.id
        and y.status in ('completed', 'failed', 'canceled'))
        else x.iteration_count end,
      summary = case when now_is = 'success'
        then troupe.shortened(regexp_replace(btrim(t.result), '\s+', ' ', 'g'), 200) else x.summary end
      where x.id = t.sub_agent_id;
  end if;
  -- A person retried the run after its end was delivered: no call waits for it any more.
  if old.status in ('failed', 'canceled') and not ended and not exists (
      select from troupe.tool_calls c where c.run_id = new.parent_run_id and c.call_id = new.parent_call_id
        and c.waits_for = 'task') then
    update troupe.runs x set parent_call_id = null where x.id = new.id and x.parent_call_id is not null;
    update troupe.tasks x set quiet = false where x.id = t.id and x.quiet;
  end if;
  told := jsonb_strip_nulls(jsonb_build_object('status', now_is, 'question', asked,
    'result', case when now_is = 'success' then t.result end, 'error', t.error));
  -- The creator of a task from outside follows its row.
  if t.parent_run_id is null then
    null;
  elsif asked is not null then
    insert into troupe.joins (what, task_id, told, data) values ('question', t.id, t.told, told);
  elsif ended and new.parent_call_id is null then
    insert into troupe.joins (what, task_id, told, data) values ('end', t.id, t.told, told);
  end if;
  -- Nobody is left to answer nested tasks or to use their results.
  if ended then
    insert into troupe.joins (what, task_id) select 'cancel', x.id from troupe.tasks x where x.parent_task_id = t.id
      and x.status in ('pending', 'running', 'waiting');
  end if;
  return null;
end $$;

create trigger runs_follow after update of status on troupe.runs for each row
  when (new.task_id is not null and new.status is distinct from old.status) execute function troupe.follow_run();
