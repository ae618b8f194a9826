-- Settles several calls of one run, all or none. p_items is [{ call, waitsFor, outcome, message }], with the outcome of
-- troupe.settle. A call that the same settler settled with the same outcome counts as settled.
-- Locks: the run, the threads that watch it by id, the calls by id, then as troupe.settle.
-- Called by: store/queries/inbox.ts.
create or replace function troupe.settle_all(p_run uuid, p_items jsonb, p_by text) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; item jsonb; refused jsonb := '[]'; repeated int := 0; answer jsonb; told jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if r.watchers is not null then
    perform troupe.lock_watchers(array[p_run], null);
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = p_run and x.call_id in (select i->>'call'
    from jsonb_array_elements(p_items) i)
    order by x.call_id for no key update;
  for item in select i from jsonb_array_elements(p_items) i loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    told := jsonb_build_object('call', item->'call', 'status', c.status, 'waitsFor', c.waits_for,
      'settledBy', c.settled_by, 'run', r.status);
    if c.call_id is null then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_found'));
    elsif c.waits_for is null and c.settled_by = p_by and c.status::text = item->'outcome'->>'status'
      and c.output is not distinct from item->'outcome'->'output'
        and c.error is not distinct from item->'outcome'->'error' then
      repeated := repeated + 1;
    elsif c.waits_for is null or c.waits_for = 'reply' or r.status not in ('running', 'waiting_tool', 'waiting_reply',
      'queued') then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open'));
    elsif c.deadline <= now() then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open', 'status', 'expired',
        'waitsFor', null));
    elsif c.waits_for::text <> item->>'waitsFor' then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'wrong_settlement'));
    end if;
  end loop;
  if jsonb_array_length(refused) > 0 then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'refused', 'refused', refused);
  end if;
  answer := jsonb_build_object('ok', true, 'queued', false, 'thread', r.thread_id);
  for item in select i from jsonb_array_elements(p_items) i order by i->>'call' loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    continue when c.waits_for is null;
    answer := troupe.settle(p_run, item->>'call', item->'outcome', p_by, (item->>'message')::uuid);
  end loop;
  return answer || jsonb_build_object('repeated', repeated);
end $$;
