-- Deletes a task whose chat is gone, with its runs and their threads. A waiting call is settled first, and nested tasks
-- are deleted by joins of their own. Returns null if it must be repeated later.
-- Locks: the runs of the task by id, the task, its threads by id.
-- Called by: troupe.join_task.
create or replace function troupe.delete_task(p_task uuid) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; v_runs uuid[]; v_threads uuid[]; answer jsonb;
begin
  perform 1 from troupe.runs x where x.task_id = p_task order by x.id for update;
  select * into t from troupe.tasks x where x.id = p_task for update;
  if not found then
    return '{}';
  end if;
  answer := troupe.cancel(t.run_id, 'parent', null);
  insert into troupe.joins (what, task_id) select 'delete', x.id from troupe.tasks x where x.parent_task_id = p_task;
  if (answer->>'ok')::boolean or exists (select from troupe.runs x
    join troupe.tool_calls c on c.run_id = x.parent_run_id and c.call_id = x.parent_call_id
      where x.id = t.run_id and c.waits_for = 'task') then
    insert into troupe.joins (what, task_id) values ('delete', p_task);
    return case when (answer->>'ok')::boolean
      then jsonb_build_object('canceled', t.run_id, 'thread', answer->'thread') end;
  end if;
  select array_agg(x.id), array_agg(distinct x.thread_id) into v_runs, v_threads from troupe.runs x
    where x.task_id = p_task;
  perform 1 from troupe.threads x where x.id = any(v_threads) order by x.id for update;
  delete from troupe.run_heads x where x.run_id = any(v_runs);
  delete from troupe.run_steps x where x.run_id = any(v_runs);
  delete from troupe.tool_calls x where x.run_id = any(v_runs);
  delete from troupe.tasks x where x.id = p_task;
  delete from troupe.runs x where x.id = any(v_runs);
  delete from troupe.messages x where x.thread_id = any(v_threads);
  delete from troupe.event_batches x where x.thread_id = any(v_threads);
  delete from troupe.files x where x.thread_id = any(v_threads);
  delete from troupe.file_totals x where x.thread_id = any(v_threads);
  delete from troupe.todo_lists x where x.thread_id = any(v_threads);
  delete from troupe.findings x where x.thread_id = any(v_threads);
  delete from troupe.threads x where x.id = any(v_threads);
  return '{}';
end $$;
