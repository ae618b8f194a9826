-- Updates the batch item of a run in the statement that changes the status of the run, so that neither can be lost.
-- Locks: the item. Items are locked after runs; a transaction that holds an item locks no run.
-- Called by: trigger.
create or replace function troupe.tell_batch() returns trigger language plpgsql as $$
begin
  update troupe.network_batch_items i set
    status = case when new.status in ('waiting_tool', 'waiting_reply') then 'running' else new.status::text end,
    input_tokens = new.input_tokens, output_tokens = new.output_tokens, cost = new.cost,
    canceling = i.canceling and new.status not in ('completed', 'failed', 'canceled'),
    started_at = coalesce(new.started_at, i.started_at),
    ended_at = case when new.status in ('completed', 'failed', 'canceled') then now() end
  where i.run_id = new.id;
  return null;
end $$;

create trigger runs_tell_batch after update of status on troupe.runs for each row
  when (new.lane like 'batch:%' and new.status is distinct from old.status) execute function troupe.tell_batch();
