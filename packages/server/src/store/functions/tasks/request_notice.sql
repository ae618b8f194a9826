-- Queues the notice about the question ('question') or the end ('end') of a task that was created from outside, for the
-- agent of its session. Returns false if the task is not in that state, or if the notice was sent.
-- Locks: none.
-- Called by: store/queries/tasks.ts.
create or replace function troupe.request_notice(p_project uuid, p_task uuid, p_what text) returns boolean
language plpgsql as $$
declare
  t troupe.tasks; v_run uuid;
begin
  select x.* into t from troupe.tasks x join troupe.sessions s on s.thread_id = x.chat_thread_id
    where x.id = p_task and x.project_id = p_project and x.parent_run_id is null
      and x.status = any(case p_what when 'question' then array['waiting']
        else array['success', 'failed', 'canceled'] end);
  if not found then
    return false;
  end if;
  v_run := troupe.id_near(t.id || ':told:' || t.told, t.id);
  if exists (select from troupe.messages m where m.id = troupe.id_near(v_run || ':message', v_run))
    or exists (select from troupe.joins j where j.what = p_what and j.task_id = t.id and j.told = t.told) then
    return false;
  end if;
  insert into troupe.joins (what, task_id, told, data) values (p_what, t.id, t.told,
    jsonb_strip_nulls(jsonb_build_object('status', t.status, 'question', t.question,
      'result', case when t.status = 'success' then t.result end, 'error', t.error)));
  return true;
end $$;
