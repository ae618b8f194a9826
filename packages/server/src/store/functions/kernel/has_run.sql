-- Returns whether a worker still holds a run, and keeps it until the transaction ends.
-- Locks: the head of the run, shared.
-- Called by: troupe.add_finding, troupe.ask, troupe.begin_child, troupe.begin_task, troupe.delete_goals,
--   troupe.delete_memories, troupe.delete_plans, troupe.enter_space, troupe.keep_prompt, troupe.reactivate_task,
--   troupe.read_space, troupe.reply_to_task, troupe.set_goals, troupe.set_memories, troupe.set_plans,
--   troupe.show_prompt, troupe.stop_run.
create or replace function troupe.has_run(p_run uuid, p_epoch int, p_worker uuid) returns boolean language plpgsql as $$
begin
  perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
  return found;
end $$;
