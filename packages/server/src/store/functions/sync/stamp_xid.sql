-- Stamps a row with the current transaction, so that sync reads it again. Inserts are stamped by a column default,
-- except in tasks and sub_agents. The hot path writes the stamp itself, which is cheaper than a trigger for each row.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.stamp_xid() returns trigger language plpgsql as $$
begin
  new.xid := troupe.stamp();
  return new;
end $$;

create trigger tasks_stamp before insert or update on troupe.tasks for each row execute function troupe.stamp_xid();

create trigger sub_agents_stamp before insert or update on troupe.sub_agents for each row
  execute function troupe.stamp_xid();

create trigger messages_stamp before update on troupe.messages for each row execute function troupe.stamp_xid();

-- Only columns that are part of the document.
create trigger runs_stamp before update on troupe.runs for each row
  when (old.xid = new.xid and (old.status is distinct from new.status or old.step is distinct from new.step
    or old.active_space_id is distinct from new.active_space_id
    or old.absorbed_by is distinct from new.absorbed_by or old.cancel_reason is distinct from new.cancel_reason
    or old.cost is distinct from new.cost
    or old.input_tokens is distinct from new.input_tokens or old.output_tokens is distinct from new.output_tokens
    or old.completed_at is distinct from new.completed_at or old.task_id is distinct from new.task_id))
  execute function troupe.stamp_xid();

create trigger tool_calls_stamp before update of status, args on troupe.tool_calls for each row
  when (old.xid = new.xid) execute function troupe.stamp_xid();

create trigger sessions_stamp before update on troupe.sessions for each row execute function troupe.stamp_xid();

create trigger spaces_stamp before update on troupe.spaces for each row execute function troupe.stamp_xid();

create trigger memberships_stamp before update on troupe.memberships for each row
  when (old.role is distinct from new.role or old.ordering is distinct from new.ordering
    or old.last_seen_message_id is distinct from new.last_seen_message_id
    or old.last_processed_message_id is distinct from new.last_processed_message_id)
  execute function troupe.stamp_xid();
