-- Cancels a run from outside its worker.
-- Locks: the head, the threads that watch the run by id, the thread, the calls. The caller holds the run.
-- Called by: troupe.absorb, troupe.cancel, troupe.expire, troupe.expire_unclaimed, troupe.post, troupe.stop_run.
create or replace function troupe.end_run(p_run uuid, p_reason text, p_by text, p_absorber uuid, p_event text)
  returns void language plpgsql as $$
declare
  thread uuid; is_serial boolean; is_watched boolean; of_door text; data jsonb; told text[] := array[p_event];
begin
  select r.thread_id, r.serial, r.watchers is not null, r.door into thread, is_serial, is_watched, of_door
    from troupe.runs r where r.id = p_run;
  -- Fences off everything that the worker still sends.
  update troupe.run_heads h set worker_id = null, epoch = h.epoch + 1, version = h.version + 1 where h.run_id = p_run;
  if is_watched then
    perform troupe.lock_watchers(array[p_run], null);
  end if;
  perform 1 from troupe.threads t where t.id = thread for no key update;
  perform troupe.close_calls(p_run, thread, 'canceled', 'canceled',
    'The run was canceled before this call ended; a call that was already running may have taken effect.', p_by);
  update troupe.runs r set status = 'canceled', cancel_reason = p_reason::troupe.cancel_reason, epoch = r.epoch + 1,
    worker_id = null, step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens),
    output_tokens = coalesce(h.output_tokens, r.output_tokens), cost = coalesce(h.cost, r.cost), open_calls = 0,
    wait_state = null, wait_deadline = null, absorbed_by = p_absorber, canceled_at = now(), updated_at = now()
    from (select p_run as id) x left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  data := jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'by', p_by, 'absorbedBy', p_absorber));
  -- The events of the door: not for a run that waited for its turn, nor for one that its successor replaces.
  if p_reason <> 'superseded' and (not is_serial or exists (select from troupe.threads t
      where t.id = thread and coalesce(t.active_run_id, p_run) = p_run)) then
    told := coalesce((select d.cancel_events from troupe.doors d where d.name = of_door), '{}') || told;
  end if;
  perform troupe.append(thread, p_run, null, (select jsonb_agg(jsonb_build_object('type', t, 'data', data) order by k)
    from unnest(told) with ordinality x(t, k)));
  if is_serial then
    perform troupe.promote(thread, p_run);
  end if;
end $$;
