-- Appends all queued task events of a thread, in order.
-- Locks: the thread.
-- Called by: troupe.join_task.
create or replace function troupe.tell_chat(p_thread uuid) returns jsonb language plpgsql as $$
declare
  told jsonb;
begin
  perform 1 from troupe.threads t where t.id = p_thread for no key update;
  with gone as (delete from troupe.joins j where j.what = 'event' and j.thread_id = p_thread returning j.id, j.data)
    select jsonb_agg(g.data order by g.id) into told from gone g;
  if told is null then
    return null;
  elsif exists (select from troupe.threads t where t.id = p_thread) then
    perform troupe.append(p_thread, null, null, told);
  end if;
  return jsonb_build_object('told', p_thread, 'queued', false);
end $$;
