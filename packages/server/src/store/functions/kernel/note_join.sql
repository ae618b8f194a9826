-- Records that a child run ended, or that a call no longer waits for one, for troupe.join_child.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.note_join() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'runs' then
    insert into troupe.joins (run_id, call_id) values (new.parent_run_id, new.parent_call_id);
  elsif tg_op = 'DELETE' then
    insert into troupe.joins (run_id, call_id) values (old.run_id, old.call_id);
  else
    insert into troupe.joins (run_id, call_id) values (new.run_id, new.call_id);
  end if;
  return null;
end $$;

create trigger runs_join after update of status on troupe.runs for each row
  when (new.parent_call_id is not null and new.status is distinct from old.status
    and new.status in ('completed', 'failed', 'canceled'))
  execute function troupe.note_join();

-- A call that its own child settled needs no join. Another run may also have closed it, by canceling its run.
create trigger tool_calls_join after update of waits_for on troupe.tool_calls for each row
  when (old.waits_for = 'task' and new.waits_for is null
    and not (new.status in ('completed', 'failed') and coalesce(new.settled_by like 'run:%', false)))
  execute function troupe.note_join();

create trigger tool_calls_join_gone after delete on troupe.tool_calls for each row when (old.waits_for = 'task')
  execute function troupe.note_join();
