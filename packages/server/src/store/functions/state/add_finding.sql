-- Adds a finding of a run to a thread, within the limit. A repetition of the same call adds nothing.
-- Locks: the advisory lock of the thread's findings, the head of the run.
-- Called by: store/queries/findings.ts.
create or replace function troupe.add_finding(p_project uuid, p_thread uuid, p_run uuid, p_call text, p_finding jsonb,
  p_most int, p_epoch int, p_worker uuid)
returns jsonb language plpgsql as $$
declare
  held int;
  known boolean;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.findings:' || p_thread, 0));
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select count(*), coalesce(bool_or(f.run_id = p_run and f.call_id = p_call), false) into held, known
    from troupe.findings f where f.thread_id = p_thread;
  if known then
    return jsonb_build_object('ok', true, 'count', held);
  elsif held >= p_most then
    return jsonb_build_object('ok', false, 'code', 'full');
  end if;
  insert into troupe.findings (project_id, thread_id, run_id, call_id, question, claim, source, quote, confidence)
    values (p_project, p_thread, p_run, p_call, p_finding->>'question', p_finding->>'claim', p_finding->>'source',
      p_finding->>'quote', p_finding->>'confidence');
  return jsonb_build_object('ok', true, 'count', held + 1);
end $$;
