-- Processes a row of joins that a task wrote. Returns null if another process has the row.
-- Locks: table runs (row exclusive) if a run may start, the join, then as the function that it calls.
-- Called by: troupe.join_child.
create or replace function troupe.join_task(p_join bigint, p_current jsonb) returns jsonb language plpgsql as $$
declare
  j troupe.joins; answer jsonb; v_run uuid;
begin
  select * into j from troupe.joins x where x.id = p_join;
  if j.what = 'event' then
    return troupe.tell_chat(j.thread_id);
  elsif j.what in ('question', 'end') then
    -- Taken before the first row lock, like every start, so that keep_used cannot deadlock with it.
    lock table troupe.runs in row exclusive mode;
  end if;
  delete from troupe.joins x where x.id = (select y.id from troupe.joins y where y.id = p_join for update skip locked)
    returning * into j;
  if not found then
    return null;
  elsif j.what = 'cancel' then
    select t.run_id into v_run from troupe.tasks t where t.id = j.task_id;
    answer := troupe.cancel(v_run, 'parent', null);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', v_run, 'thread', answer->'thread')
      else '{}' end;
  elsif j.what = 'delete' then
    return troupe.delete_task(j.task_id);
  elsif j.what = 'answered' then
    return troupe.tell_answer(j);
  elsif j.what = 'question' then
    answer := troupe.hand_up(j);
  end if;
  return coalesce(answer, troupe.tell_giver(j, p_current));
end $$;
