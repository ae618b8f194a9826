-- breaking: false
-- Child runs: a call begins a run, and the end of that run settles the call. Either side tells of its end in `joins`; nobody locks both.

-- The call of `parent_run_id` that waits for this run. Null: nobody's call does.
alter table troupe.runs add column parent_call_id text;
create unique index runs_children on troupe.runs (parent_run_id, parent_call_id) where parent_call_id is not null;
create index runs_of_root on troupe.runs (root_run_id) where parent_call_id is not null;

-- The call that waited for it is settled or gone.
alter type troupe.cancel_reason add value 'parent';

-- Who of a network may give tasks to others.
alter table troupe.network_agents add column allow_task_group boolean not null default false;

-- A child has ended, or nobody waits for it any more: somebody has to look at both. Rows live for milliseconds.
create table troupe.joins (
  id bigint generated always as identity primary key,
  run_id uuid not null,
  call_id text not null
);

create function troupe.note_join() returns trigger language plpgsql as $$
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
  when (new.parent_call_id is not null and new.status is distinct from old.status and new.status in ('completed', 'failed', 'canceled'))
  execute function troupe.note_join();
-- What the child itself settled needs no second look. Another run may have closed the call too, by stopping the one that it is of.
create trigger tool_calls_join after update of waits_for on troupe.tool_calls for each row
  when (old.waits_for = 'task' and new.waits_for is null
    and not (new.status in ('completed', 'failed') and coalesce(new.settled_by like 'run:%', false)))
  execute function troupe.note_join();
create trigger tool_calls_join_gone after delete on troupe.tool_calls for each row when (old.waits_for = 'task') execute function troupe.note_join();

-- A call that a worker executes becomes one that waits for a run, which begins here: message, thread, run and the call in one commit.
-- Only whoever has the parent may say so; said twice, it is still so. `p_most`: how deep children may be nested, and how many one
-- root may have begun.
create function troupe.begin_child(p_parent uuid, p_call text, p_epoch int, p_worker uuid, p_deadline_ms bigint, p_most jsonb, p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; child uuid := (p_item->'run'->>'id')::uuid; depth int; started jsonb;
begin
  -- As `start` does; before the first row, so that it waits for nobody with a row in its hands.
  lock table troupe.runs in row exclusive mode;
  select * into r from troupe.runs x where x.id = p_parent for no key update;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  if exists (select from troupe.runs x where x.id = child) then
    return jsonb_build_object('ok', true, 'duplicate', true, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id);
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  with recursive line as (
    select r.parent_run_id as above, r.parent_call_id as call, 1 as deep
    union all
    select x.parent_run_id, x.parent_call_id, l.deep + 1 from line l join troupe.runs x on x.id = l.above where l.call is not null and l.deep < 1000)
  select max(l.deep) into depth from line l;
  if depth > (p_most->>'depth')::int then
    return jsonb_build_object('ok', false, 'code', 'task_depth', 'limit', p_most->'depth');
  end if;
  -- Two that begin the last one at the same time count one after the other. After calls, before threads, as everywhere.
  perform pg_advisory_xact_lock(27, hashtext(r.root_run_id::text));
  if (select count(*) from troupe.runs x where x.root_run_id = r.root_run_id and x.parent_call_id is not null) >= (p_most->>'runs')::int then
    return jsonb_build_object('ok', false, 'code', 'too_many_runs', 'limit', p_most->'runs');
  end if;
  started := troupe.start_networks(jsonb_build_array(p_item || jsonb_build_object('run', (p_item->'run')
    || jsonb_build_object('parent', p_parent, 'root', r.root_run_id, 'chainDepth', r.chain_depth + 1, 'triggerType', 'task')
    || case when r.budget_ids is null then '{}' else jsonb_build_object('budgets', to_jsonb(r.budget_ids)) end)))->0;
  if not (started->>'ok')::boolean then
    raise exception 'a child was not started: %', started->>'code';
  end if;
  update troupe.runs x set parent_call_id = p_call where x.id = child;
  update troupe.tool_calls x set status = 'requested', waits_for = 'task', deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where x.run_id = p_parent and x.call_id = p_call;
  update troupe.runs x set open_calls = x.open_calls + 1, updated_at = now() where x.id = p_parent;
  perform troupe.append(r.thread_id, p_parent, null, jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', c.step,
    'data', jsonb_build_object('id', p_call, 'tool', c.tool, 'waitsFor', 'task', 'deadlineMs', p_deadline_ms, 'runId', child))));
  return jsonb_build_object('ok', true, 'duplicate', false, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id);
end $$;

-- As before (0021); for who sees a call in a space, one that waits for a run is at work: nobody has to act.
create or replace function troupe.shown_state(p_status troupe.call_status, p_waits_for troupe.waits_for) returns text language sql immutable as $$
  select case when p_status = 'completed' then 'complete' when p_waits_for is not null and p_waits_for <> 'task' then 'requires_action'
    when p_status in ('requested', 'running') then 'running' else 'error' end
$$;

-- What a call gets of the run that it waited for.
create function troupe.task_outcome(child troupe.runs, p_most bigint) returns jsonb language plpgsql stable as $$
declare
  given jsonb;
begin
  case child.status
    when 'completed' then
      given := case when child.outcome ? 'response' then child.outcome->'response' when child.outcome ? 'output' then child.outcome->'output'
        else child.outcome->'text' end;
      if octet_length(given::text) > p_most then
        return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'output_too_large',
          'message', format('The task ended with %s bytes; at most %s are taken. Ask for less.', octet_length(given::text), p_most)));
      end if;
      return jsonb_build_object('status', 'completed', 'output', coalesce(given, 'null'));
    when 'failed' then
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', coalesce(child.error->>'code', 'task_failed'),
        'message', 'The task failed: ' || coalesce(child.error->>'message', 'it did not say why.')));
    else
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'task_canceled',
        'message', format('The task was canceled (%s) before it ended.', child.cancel_reason)));
  end case;
end $$;

-- Looks at both sides of a join. A child that has ended settles the call that waits for it; a child that nobody waits for any more is
-- canceled, and so are its own children, by what that notes. Each side is read without a lock and looked at again under its own: a row
-- is written by whichever ends, so whoever ends later is seen by the second look. Null: somebody else has the row, or did it. Nobody waits
-- for long: the rows behind this one are of others.
create function troupe.join_child(p_join bigint) returns jsonb language plpgsql set lock_timeout to '250ms' as $$
declare
  j troupe.joins; child troupe.runs; open boolean; most bigint := 262144; outcome jsonb; answer jsonb;
begin
  delete from troupe.joins x where x.id = (select y.id from troupe.joins y where y.id = p_join for update skip locked) returning * into j;
  if not found then
    return null;
  end if;
  select * into child from troupe.runs x where x.parent_run_id = j.run_id and x.parent_call_id = j.call_id;
  if not found then
    return '{}';
  end if;
  open := exists (select from troupe.tool_calls x where x.run_id = j.run_id and x.call_id = j.call_id and x.waits_for = 'task');
  if child.status in ('completed', 'failed', 'canceled') then
    if not open then
      return '{}';
    end if;
    if octet_length(child.outcome::text) > 1000 then
      select coalesce((s.compiled->'limits'->>'toolOutputBytes')::bigint, most) into most
        from troupe.runs p join troupe.compiled_snapshots s on s.id = p.snapshot_id where p.id = j.run_id;
    end if;
    outcome := troupe.task_outcome(child, most);
    answer := troupe.settle(j.run_id, j.call_id, outcome, 'run:' || child.id, troupe.new_id());
    return case when (answer->>'ok')::boolean then answer || jsonb_build_object('settled', j.run_id, 'how', outcome->'status') else '{}' end;
  elsif not open then
    answer := troupe.cancel(child.id, 'parent', null);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', child.id, 'thread', answer->'thread') else '{}' end;
  end if;
  return '{}';
end $$;
