-- Whether this worker still has the run. Until the transaction ends nobody can take it away.
create or replace function troupe.has_run(p_run uuid, p_epoch int, p_worker uuid) returns boolean language plpgsql as $$
begin
  perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
  return found;
end $$;
