-- Starts a child run for a call that a worker executes: message, thread, run and the waiting call are one commit. Only
-- the worker that holds the parent may do this; a repetition returns the existing child. p_most limits the nesting
-- depth and the number of runs per root.
-- Locks: table runs (row exclusive), the parent run, its head, the threads that watch it by id, the call, the
-- advisory lock of the root, the threads of parent and child.
-- Called by: store/queries/children.ts.
create or replace function troupe.begin_child(p_parent uuid, p_call text, p_epoch int, p_worker uuid,
  p_deadline_ms bigint, p_most jsonb, p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; child uuid := (p_item->'run'->>'id')::uuid; depth int; started jsonb;
begin
  -- Taken before the first row lock, like every start, so that keep_used cannot deadlock with it.
  lock table troupe.runs in row exclusive mode;
  select * into r from troupe.runs x where x.id = p_parent for no key update;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.watchers is not null then
    perform troupe.lock_watchers(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  if exists (select from troupe.runs x where x.id = child) then
    return jsonb_build_object('ok', true, 'duplicate', true, 'run', child, 'thread', p_item->'thread',
      'parentThread', r.thread_id);
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  with recursive line as (
    select r.parent_run_id as above, r.parent_call_id as call, 1 as deep
    union all
    select x.parent_run_id, x.parent_call_id, l.deep + 1 from line l join troupe.runs x on x.id = l.above
      where l.call is not null and l.deep < 1000)
  select max(l.deep) into depth from line l;
  if depth > (p_most->>'depth')::int then
    return jsonb_build_object('ok', false, 'code', 'task_depth', 'limit', p_most->'depth');
  end if;
  -- Serialises the count, so that concurrent starts cannot exceed the limit. Taken after calls and before threads.
  perform pg_advisory_xact_lock(27, hashtext(r.root_run_id::text));
  if (select count(*) from troupe.runs x where x.root_run_id = r.root_run_id
    and x.parent_call_id is not null) >= (p_most->>'runs')::int then
    return jsonb_build_object('ok', false, 'code', 'too_many_runs', 'limit', p_most->'runs');
  end if;
  started := troupe.start(jsonb_build_array(p_item || jsonb_build_object('run', (p_item->'run')
    || jsonb_build_object('parent', p_parent, 'root', r.root_run_id, 'chainDepth', r.chain_depth + 1,
      'triggerType', 'task')
    || case when r.budget_ids is null then '{}' else jsonb_build_object('budgets', to_jsonb(r.budget_ids)) end)))->0;
  if not (started->>'ok')::boolean then
    raise exception 'a child was not started: %', started->>'code';
  end if;
  update troupe.runs x set parent_call_id = p_call where x.id = child;
  perform troupe.hand_over_call(p_parent, p_call, 'task', p_deadline_ms);
  perform troupe.append(r.thread_id, p_parent, null,
    jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', c.step,
    'data', jsonb_build_object('id', p_call, 'tool', c.tool, 'waitsFor', 'task', 'deadlineMs', p_deadline_ms,
      'runId', child))));
  return jsonb_build_object('ok', true, 'duplicate', false, 'run', child, 'thread', p_item->'thread',
    'parentThread', r.thread_id);
end $$;
