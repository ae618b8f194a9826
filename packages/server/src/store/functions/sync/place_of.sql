-- The place of a run: the chat, the person, the triggering message and the enclosing task. `direct` is true if the run
-- talks in the chat itself, so that it can receive notices later.
-- Locks: none.
-- Called by: troupe.begin_task, troupe.reactivate_task, troupe.task_for, store/queries/tasks.ts.
create or replace function troupe.place_of(p_run uuid) returns jsonb language plpgsql stable as $$
declare
  r troupe.runs; t troupe.tasks; s troupe.sessions; space uuid; person uuid; direct boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run;
  for hops in 1 .. 100 loop
    if r.task_id is not null then
      select * into t from troupe.tasks x where x.id = r.task_id;
      if found then
        return jsonb_build_object('chat', t.chat_id, 'thread', t.chat_thread_id, 'user', t.user_id,
          'message', t.trigger_message_id,
          'task', t.id, 'depth', t.depth, 'direct', false);
      end if;
    end if;
    select * into s from troupe.sessions x where x.thread_id = r.thread_id;
    if found then
      return jsonb_build_object('chat', s.id, 'thread', s.thread_id, 'user', s.entity_id,
        'message', r.trigger_message_id, 'depth', 0, 'direct', direct);
    elsif r.door = 'space' then
      -- A run that was started by a notice of a task belongs to the chat of the task, while that exists.
      select x.* into t from troupe.tasks x join troupe.threads h on h.id = x.chat_thread_id
        where x.id = (r.trigger->>'taskId')::uuid;
      if found then
        return jsonb_build_object('chat', t.chat_id, 'thread', t.chat_thread_id, 'user', t.user_id,
          'message', t.trigger_message_id, 'depth', 0, 'direct', direct);
      end if;
      space := coalesce(r.active_space_id, r.space_id);
      select m.sender_id into person from troupe.messages m join troupe.entities e on e.id = m.sender_id
        and e.type = 'human'
        where m.id = coalesce(r.origin_id, (r.trigger->>'messageId')::uuid);
      return jsonb_build_object('chat', coalesce(space, r.id), 'thread', coalesce(space, r.thread_id),
        'user', coalesce(person, r.entity_id),
        'message', r.trigger->'messageId', 'depth', 0, 'direct', direct);
    end if;
    exit when r.parent_call_id is null;
    direct := false;
    select * into r from troupe.runs x where x.id = r.parent_run_id;
  end loop;
  return jsonb_build_object('chat', r.id, 'thread', r.thread_id, 'user', r.owner_id, 'message', r.trigger_message_id,
    'depth', 0, 'direct', false);
end $$;
