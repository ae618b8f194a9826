-- breaking: false
-- Tasks over child runs. A task begins with its run in one transaction of whoever gives it, and follows that run by triggers from then on.
-- What others have to be told of it (the chat, the call that waits, the agent that gave it) is left in `joins`, and written by a
-- transaction of its own: nobody locks two conversations at once.

alter table troupe.tasks
  -- The thread of the chat, whose readers are told. Null: there is none.
  add column chat_thread_id uuid,
  -- Its end starts no run: whoever ended it has ended everything.
  add column quiet boolean not null default false;

-- Beside children that have ended: `event` is for the thread of the chat, `question` and `end` for whoever gave the task, `cancel` for a
-- task of which nobody is left who could want its result, `delete` for one whose chat is gone.
alter table troupe.joins
  alter column run_id drop not null,
  alter column call_id drop not null,
  add column what text check (what in ('event', 'question', 'end', 'cancel', 'delete')),
  add column task_id uuid,
  add column thread_id uuid,
  add column told int,
  add column data jsonb;

create index runs_tasks_of_root on troupe.runs (root_run_id) where task_id is not null and parent_call_id is null;

-- The same id in every process that makes it: as `idFrom` in base/ids.ts, with the time of another id.
create function troupe.id_from(p_key text, p_near uuid) returns uuid language sql immutable as $$
  select (left(p_near::text, 13) || '-8' || substr(d, 14, 3) || '-a' || substr(d, 18, 3) || '-' || substr(d, 21, 12))::uuid
  from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as d) x
$$;

-- Where a run belongs: the chat in which its person talks, that person, the message that it came from, and the task within which it works.
-- `direct`: it talks there itself, so that it can be told of something later.
create function troupe.place_of(p_run uuid) returns jsonb language plpgsql stable as $$
declare
  r troupe.runs; t troupe.tasks; s troupe.sessions; space uuid; person uuid; direct boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run;
  for hops in 1 .. 100 loop
    if r.task_id is not null then
      select * into t from troupe.tasks x where x.id = r.task_id;
      if found then
        return jsonb_build_object('chat', t.chat_id, 'thread', t.chat_thread_id, 'user', t.user_id, 'message', t.trigger_message_id,
          'task', t.id, 'depth', t.depth, 'direct', false);
      end if;
    end if;
    select * into s from troupe.sessions x where x.thread_id = r.thread_id;
    if found then
      return jsonb_build_object('chat', s.id, 'thread', s.thread_id, 'user', s.entity_id, 'message', r.trigger_message_id, 'depth', 0, 'direct', direct);
    elsif r.door = 'space' then
      -- One that was started to be told of a task answers for where that was given, as long as that is there.
      select x.* into t from troupe.tasks x join troupe.threads h on h.id = x.chat_thread_id where x.id = (r.trigger->>'taskId')::uuid;
      if found then
        return jsonb_build_object('chat', t.chat_id, 'thread', t.chat_thread_id, 'user', t.user_id, 'message', t.trigger_message_id, 'depth', 0, 'direct', direct);
      end if;
      space := coalesce(r.active_space_id, r.space_id);
      select m.sender_id into person from troupe.messages m join troupe.entities e on e.id = m.sender_id and e.type = 'human'
        where m.id = coalesce(r.origin_id, (r.trigger->>'messageId')::uuid);
      return jsonb_build_object('chat', coalesce(space, r.id), 'thread', coalesce(space, r.thread_id), 'user', coalesce(person, r.entity_id),
        'message', r.trigger->'messageId', 'depth', 0, 'direct', direct);
    end if;
    exit when r.parent_call_id is null;
    direct := false;
    select * into r from troupe.runs x where x.id = r.parent_run_id;
  end loop;
  return jsonb_build_object('chat', r.id, 'thread', r.thread_id, 'user', r.owner_id, 'message', r.trigger_message_id, 'depth', 0, 'direct', false);
end $$;

-- From here on a call that its worker executes waits for a run.
create function troupe.wait_for_task(p_run troupe.runs, p_call troupe.tool_calls, p_deadline_ms bigint, p_child uuid) returns void language plpgsql as $$
begin
  update troupe.tool_calls x set status = 'requested', waits_for = 'task', deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where x.run_id = p_run.id and x.call_id = p_call.call_id;
  update troupe.runs x set open_calls = x.open_calls + 1, updated_at = now() where x.id = p_run.id;
  perform troupe.append(p_run.thread_id, p_run.id, null, jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', p_call.step,
    'data', jsonb_build_object('id', p_call.call_id, 'tool', p_call.tool, 'waitsFor', 'task', 'deadlineMs', p_deadline_ms, 'runId', p_child))));
end $$;

-- The run that works on a task, begun by another one. In the caller's transaction, which has the parent.
create function troupe.start_task_run(p_parent troupe.runs, p_call text, p_item jsonb, p_task uuid, p_background boolean, p_most int) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  started jsonb; child uuid := (p_item->'run'->>'id')::uuid;
begin
  -- Two that begin the last one at the same time count one after the other. After calls, before threads, as everywhere.
  perform pg_advisory_xact_lock(27, hashtext(p_parent.root_run_id::text));
  if (select count(*) from troupe.runs x where x.root_run_id = p_parent.root_run_id and x.parent_call_id is not null)
    + (select count(*) from troupe.runs x where x.root_run_id = p_parent.root_run_id and x.task_id is not null and x.parent_call_id is null) >= p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many_runs', 'limit', p_most);
  end if;
  started := troupe.start(p_item || jsonb_build_object('run', (p_item->'run')
    || jsonb_build_object('parent', p_parent.id, 'root', p_parent.root_run_id, 'chainDepth', p_parent.chain_depth + 1, 'triggerType', 'task')
    || case when p_parent.budget_ids is null then '{}' else jsonb_build_object('budgets', to_jsonb(p_parent.budget_ids)) end));
  if not (started->>'ok')::boolean then
    raise exception 'the run of a task was not started: %', started->>'code';
  end if;
  update troupe.runs x set task_id = p_task, parent_call_id = case when not p_background then p_call end where x.id = child;
  return jsonb_build_object('ok', true);
end $$;

-- A call gives a task: task, sub-agent, its thread with what it is asked, and its run, as one; in the foreground the call waits from here on.
-- Only whoever has the parent may say so; said twice, it is still so.
create function troupe.begin_task(p_parent uuid, p_call text, p_epoch int, p_worker uuid, p_task jsonb, p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; place jsonb; started jsonb; child uuid := (p_item->'run'->>'id')::uuid; v_task uuid := (p_task->>'id')::uuid;
  v_sub uuid := (p_task->>'subAgent')::uuid; in_background boolean := (p_task->>'background')::boolean; done jsonb;
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
  done := jsonb_build_object('ok', true, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id, 'task', v_task, 'subAgent', v_sub);
  if exists (select from troupe.tasks x where x.id = v_task) then
    return done || '{"duplicate": true}';
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  place := troupe.place_of(p_parent);
  if in_background and not (place->>'direct')::boolean then
    return jsonb_build_object('ok', false, 'code', 'no_background');
  elsif (place->>'depth')::int >= (p_task->'most'->>'depth')::int then
    return jsonb_build_object('ok', false, 'code', 'task_depth', 'limit', p_task->'most'->'depth');
  end if;
  started := troupe.start_task_run(r, p_call, p_item, v_task, in_background, (p_task->'most'->>'runs')::int);
  if not (started->>'ok')::boolean then
    return started;
  end if;
  insert into troupe.tasks (id, project_id, user_id, chat_id, chat_thread_id, type, name, instruction, args, sub_agent_id, trigger_message_id, background, depth,
      parent_task_id, parent_run_id, parent_call_id, run_id)
    values (v_task, r.project_id, (place->>'user')::uuid, (place->>'chat')::uuid, (place->>'thread')::uuid, p_task->>'type', p_task->>'name',
      p_task->>'instruction', p_task->'args', v_sub, (place->>'message')::uuid, in_background, (place->>'depth')::int + 1, (place->>'task')::uuid,
      p_parent, p_call, child);
  if v_sub is not null then
    insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id)
      values (v_sub, r.project_id, (place->>'user')::uuid, (place->>'chat')::uuid, v_task, (p_item->'run'->>'agent')::uuid, p_task->>'role', (p_item->>'thread')::uuid);
  end if;
  if not in_background then
    perform troupe.wait_for_task(r, c, (p_task->>'deadlineMs')::bigint, child);
  end if;
  return done || '{"duplicate": false}';
end $$;

-- What a sub-agent that ended, or asked, is to a run: its task, where the run may speak to it: it is of the agent that gave it, in the same chat, or
-- within the same task. Null: there is none for it.
create function troupe.task_for(p_run troupe.runs, p_sub_agent uuid) returns troupe.tasks language plpgsql stable as $$
declare
  t troupe.tasks; place jsonb := troupe.place_of(p_run.id);
begin
  select x.* into t from troupe.tasks x join troupe.sub_agents s on s.task_id = x.id join troupe.runs g on g.id = x.parent_run_id
    where s.id = p_sub_agent and x.project_id = p_run.project_id and x.chat_id = (place->>'chat')::uuid
      and x.parent_task_id is not distinct from (place->>'task')::uuid and g.agent_id is not distinct from p_run.agent_id;
  return t;
end $$;

-- A sub-agent that has ended is given more to do, in its own thread: its task runs again, and its last result stays until there is another.
create function troupe.reactivate_task(p_parent uuid, p_call text, p_epoch int, p_worker uuid, p_task jsonb, p_item jsonb) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; c troupe.tool_calls; t troupe.tasks; last uuid; place jsonb; started jsonb; child uuid := (p_item->'run'->>'id')::uuid;
  v_sub uuid := (p_task->>'subAgent')::uuid; in_background boolean := (p_task->>'background')::boolean; v_thread uuid := (p_item->>'thread')::uuid; done jsonb;
begin
  lock table troupe.runs in row exclusive mode;
  select x.run_id into last from troupe.tasks x where x.sub_agent_id = v_sub;
  perform 1 from troupe.runs x where x.id in (p_parent, last) order by x.id for no key update;
  select * into r from troupe.runs x where x.id = p_parent;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  t := troupe.task_for(r, v_sub);
  done := jsonb_build_object('ok', true, 'run', child, 'thread', v_thread, 'parentThread', r.thread_id, 'task', t.id, 'subAgent', v_sub);
  if exists (select from troupe.runs x where x.id = child) then
    return done || '{"duplicate": true}';
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  elsif t.id is null then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_not_found');
  elsif t.run_id is distinct from last then
    raise exception 'troupe.reactivate_task: somebody was faster' using errcode = 'serialization_failure';
  elsif t.status in ('pending', 'running', 'waiting') then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_busy', 'status', t.status);
  end if;
  place := troupe.place_of(p_parent);
  if in_background and not (place->>'direct')::boolean then
    return jsonb_build_object('ok', false, 'code', 'no_background');
  end if;
  perform 1 from troupe.threads x where x.id in (r.thread_id, v_thread) order by x.id for update;
  started := troupe.start_task_run(r, p_call, p_item, t.id, in_background, (p_task->'most'->>'runs')::int);
  if not (started->>'ok')::boolean then
    return started;
  end if;
  update troupe.tasks x set status = 'running', run_id = child, parent_run_id = p_parent, parent_call_id = p_call, background = in_background, error = null,
    quiet = false, updated_at = now() where x.id = t.id;
  update troupe.sub_agents x set status = 'active', updated_at = now() where x.id = v_sub;
  if not in_background then
    perform troupe.wait_for_task(r, c, (p_task->>'deadlineMs')::bigint, child);
  end if;
  return done || '{"duplicate": false}';
end $$;

-- A call of a sub-agent asks something: whoever gave the task answers. The time until then is not the sub-agent's.
create function troupe.ask(p_run uuid, p_call text, p_epoch int, p_worker uuid, p_deadline_ms bigint) returns boolean language plpgsql as $$
declare
  r troupe.runs; c troupe.tool_calls; most interval := make_interval(secs => p_deadline_ms::float8 / 1000);
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found or not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  update troupe.tool_calls x set status = 'requested', waits_for = 'answer', deadline = now() + most
    where x.run_id = p_run and x.call_id = p_call and x.status = 'running' returning * into c;
  -- Not found: it was asked before, and may be answered by now.
  if found then
    update troupe.runs x set open_calls = x.open_calls + 1, deadline_at = x.deadline_at + most, updated_at = now() where x.id = p_run;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', c.step,
      'data', jsonb_build_object('id', p_call, 'tool', c.tool, 'waitsFor', 'answer', 'deadlineMs', p_deadline_ms))));
  end if;
  return true;
end $$;

-- What a sub-agent asked is answered by a call of another run, which from then on waits for it as the call did that gave the task.
create function troupe.reply_to_task(p_parent uuid, p_call text, p_epoch int, p_worker uuid, p_sub_agent uuid, p_content text, p_deadline_ms bigint) returns jsonb
language plpgsql as $$
declare
  r troupe.runs; c troupe.tool_calls; child troupe.runs; t troupe.tasks; asked text; working uuid; by_call text := 'run:' || p_parent || ':' || p_call; done jsonb; answer jsonb;
begin
  select x.run_id into working from troupe.tasks x where x.sub_agent_id = p_sub_agent;
  perform 1 from troupe.runs x where x.id in (p_parent, working) order by x.id for no key update;
  select * into r from troupe.runs x where x.id = p_parent;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  t := troupe.task_for(r, p_sub_agent);
  if t.id is null then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_not_found');
  elsif t.run_id is distinct from working then
    raise exception 'troupe.reply_to_task: somebody was faster' using errcode = 'serialization_failure';
  end if;
  select * into child from troupe.runs x where x.id = working;
  done := jsonb_build_object('ok', true, 'run', child.id, 'thread', child.thread_id, 'parentThread', r.thread_id, 'task', t.id, 'subAgent', p_sub_agent,
    'waits', not t.background);
  if exists (select from troupe.tool_calls x where x.run_id = working and x.settled_by = by_call) then
    return done || jsonb_build_object('duplicate', true, 'waits', c.waits_for is not null or c.status <> 'running');
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  select x.call_id into asked from troupe.tool_calls x where x.run_id = working and x.waits_for::text = 'answer' order by x.step, x.position limit 1;
  -- A call that still waits for it is told of the question first: it would wait for ever.
  if t.status <> 'waiting' or asked is null or child.parent_call_id is not null then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status);
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = working and x.call_id = asked for no key update;
  perform 1 from troupe.threads x where x.id in (r.thread_id, child.thread_id) order by x.id for no key update;
  answer := troupe.settle(working, asked, jsonb_build_object('status', 'completed', 'output', jsonb_build_object('answer', p_content)), by_call, troupe.new_id());
  if not (answer->>'ok')::boolean then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status);
  end if;
  if not t.background then
    update troupe.runs x set parent_run_id = p_parent, parent_call_id = p_call where x.id = working;
    update troupe.tasks x set parent_run_id = p_parent, parent_call_id = p_call where x.id = t.id;
    perform troupe.wait_for_task(r, c, p_deadline_ms, working);
  end if;
  return done || '{"duplicate": false}';
end $$;

-- As before (0011); a sub-agent that was given more to do since goes on from there: an earlier run of it stays as it ended.
create or replace function troupe.retry(p_run uuid, p_with jsonb default null) returns jsonb language plpgsql as $$
declare
  r troupe.runs; active uuid; is_ready boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status not in ('failed', 'canceled') or r.cancel_reason = 'absorbed' then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'run_not_retryable', 'status', r.status, 'reason', r.cancel_reason);
  elsif r.task_id is not null and not exists (select from troupe.tasks t where t.id = r.task_id and t.run_id = p_run) then
    return jsonb_build_object('ok', false, 'code', 'task_went_on', 'status', r.status);
  end if;
  select t.active_run_id into active from troupe.threads t where t.id = r.thread_id for no key update;
  is_ready := not r.serial or active is null;
  update troupe.runs x set status = 'queued', ready = is_ready, run_at = now(), attempt = 0, model_index = 0, takeovers = 0, error = null, outcome = null,
    cancel_reason = null, completed_at = null, canceled_at = null, deadline_at = null, updated_at = now(),
    snapshot_id = coalesce((p_with->>'snapshot')::uuid, x.snapshot_id), wall_ms = coalesce((p_with->>'wallMs')::bigint, x.wall_ms),
    history_limit = coalesce((p_with->>'historyLimit')::int, x.history_limit),
    metadata = x.metadata || case when p_with ? 'modelId' then jsonb_build_object('modelId', p_with->'modelId') else '{}' end
  where x.id = p_run;
  if r.serial and is_ready then
    update troupe.threads t set active_run_id = p_run, failed_run_id = null where t.id = r.thread_id;
  end if;
  perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('retry', true))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', r.thread_id, 'ready', is_ready);
end $$;

-- ---- how rows follow the run

-- Run before task, as everywhere.
create function troupe.follow_run() returns trigger language plpgsql as $$
declare
  t troupe.tasks; ended boolean := new.status in ('completed', 'failed', 'canceled'); asked text; now_is text; told jsonb;
begin
  select * into t from troupe.tasks x where x.id = new.task_id and x.run_id = new.id for no key update;
  if not found then
    return null;
  end if;
  if new.status in ('waiting_tool', 'waiting_reply') then
    select c.args->>'question' into asked from troupe.tool_calls c where c.run_id = new.id and c.waits_for::text = 'answer' order by c.step, c.position limit 1;
  end if;
  now_is := case when new.status = 'completed' then 'success' when ended then new.status::text when asked is not null then 'waiting'
    when new.status = 'queued' and new.started_at is null then 'pending' else 'running' end;
  if now_is = t.status and asked is not distinct from t.question then
    return null;
  end if;
  update troupe.tasks x set status = now_is, question = asked, told = x.told + (ended or asked is not null)::int, updated_at = now(),
    result = case when now_is = 'success' then coalesce(new.outcome->>'text', '') else x.result end,
    error = case when now_is = 'failed' then new.error
      when now_is = 'canceled' then jsonb_build_object('code', 'canceled', 'message', format('It was canceled (%s).', new.cancel_reason)) end
    where x.id = t.id returning * into t;
  if t.sub_agent_id is not null then
    update troupe.sub_agents x set updated_at = now(),
      status = case now_is when 'success' then 'completed' when 'failed' then 'failed' when 'canceled' then 'failed' when 'waiting' then 'waiting_for_user' else 'active' end,
      iteration_count = case when ended then (select coalesce(sum(y.step), 0) from troupe.runs y where y.task_id = t.id and y.status in ('completed', 'failed', 'canceled'))
        else x.iteration_count end,
      summary = case when now_is = 'success' then troupe.shortened(regexp_replace(btrim(t.result), '\s+', ' ', 'g'), 200) else x.summary end
      where x.id = t.sub_agent_id;
  end if;
  -- Taken up again by hand, after whoever waited for it was told of its end: from here on nobody's call does.
  if old.status in ('failed', 'canceled') and not ended and not exists (
      select from troupe.tool_calls c where c.run_id = new.parent_run_id and c.call_id = new.parent_call_id and c.waits_for = 'task') then
    update troupe.runs x set parent_call_id = null where x.id = new.id and x.parent_call_id is not null;
    update troupe.tasks x set quiet = false where x.id = t.id and x.quiet;
  end if;
  told := jsonb_strip_nulls(jsonb_build_object('status', now_is, 'question', asked, 'result', case when now_is = 'success' then t.result end, 'error', t.error));
  if asked is not null then
    insert into troupe.joins (what, task_id, told, data) values ('question', t.id, t.told, told);
  elsif ended and new.parent_call_id is null then
    insert into troupe.joins (what, task_id, told, data) values ('end', t.id, t.told, told);
  end if;
  -- Nobody is left who could answer them, or want what they find.
  if ended then
    insert into troupe.joins (what, task_id) select 'cancel', x.id from troupe.tasks x where x.parent_task_id = t.id and x.status in ('pending', 'running', 'waiting');
  end if;
  return null;
end $$;
create trigger runs_follow after update of status on troupe.runs for each row
  when (new.task_id is not null and new.status is distinct from old.status) execute function troupe.follow_run();

-- An answer came, or none did in time, and the run may still wait for something else. What was left of the time for it is taken back.
create function troupe.note_answer() returns trigger language plpgsql as $$
begin
  update troupe.runs r set deadline_at = r.deadline_at - greatest(old.deadline - now(), '0') where r.id = new.run_id;
  if new.status <> 'canceled' then
    update troupe.tasks t set status = 'running', question = null, updated_at = now() where t.run_id = new.run_id and t.status = 'waiting';
    update troupe.sub_agents s set status = 'active', updated_at = now() from troupe.tasks t where t.run_id = new.run_id and s.id = t.sub_agent_id and s.status = 'waiting_for_user';
  end if;
  return null;
end $$;
create trigger tool_calls_answer after update of waits_for on troupe.tool_calls for each row
  when (old.waits_for::text = 'answer' and new.waits_for is null) execute function troupe.note_answer();

-- The chat is told of what becomes of its tasks.
create function troupe.note_task() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id, thread_id, data) values ('event', new.id, new.chat_thread_id, jsonb_build_object(
    'type', case tg_op when 'INSERT' then 'task.created' else 'task.updated' end,
    'data', jsonb_strip_nulls(jsonb_build_object('id', new.id, 'type', new.type, 'name', new.name, 'status', new.status, 'subAgentId', new.sub_agent_id,
      'parentTaskId', new.parent_task_id, 'triggerMessageId', new.trigger_message_id, 'background', new.background, 'runId', new.run_id,
      'question', troupe.shortened(new.question, 2000), 'result', case when new.status = 'success' then troupe.shortened(new.result, 2000) end,
      'code', new.error->'code', 'error', troupe.shortened(new.error->>'message', 2000)))));
  return null;
end $$;
create trigger tasks_note after insert on troupe.tasks for each row when (new.chat_thread_id is not null) execute function troupe.note_task();
create trigger tasks_note_change after update of status, question on troupe.tasks for each row
  when (new.chat_thread_id is not null and (new.status, new.question) is distinct from (old.status, old.question)) execute function troupe.note_task();

-- And of calls of sub-agents for which somebody outside has to act: they stand in threads that nobody follows.
create function troupe.note_waiting() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id, thread_id, data) select 'event', t.id, t.chat_thread_id, jsonb_build_object('type', 'task.waiting',
      'data', jsonb_strip_nulls(jsonb_build_object('id', t.id, 'subAgentId', t.sub_agent_id, 'runId', new.run_id, 'callId', new.call_id, 'tool', new.tool, 'waitsFor', new.waits_for)))
    from troupe.runs r join troupe.tasks t on t.id = r.task_id where r.id = new.run_id and t.chat_thread_id is not null;
  return null;
end $$;
create trigger tool_calls_note_new after insert on troupe.tool_calls for each row
  when (new.waits_for in ('client', 'approval', 'person')) execute function troupe.note_waiting();
create trigger tool_calls_note after update of waits_for on troupe.tool_calls for each row
  when (new.waits_for in ('client', 'approval', 'person') and old.waits_for is distinct from new.waits_for) execute function troupe.note_waiting();

-- Where a network ends, or a copy of a run, nobody talks any more who could be told.
create function troupe.end_tasks() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id) select 'cancel', t.id from troupe.tasks t where t.chat_id = new.id and t.status in ('pending', 'running', 'waiting');
  return null;
end $$;
create trigger runs_end_tasks after update of status on troupe.runs for each row
  when ((new.network_id is not null or new.trigger_type = 'fork') and new.parent_call_id is null and new.status is distinct from old.status
    and new.status in ('completed', 'failed', 'canceled'))
  execute function troupe.end_tasks();

-- What was given in a space goes with it, each with its own thread.
create function troupe.end_tasks_of_space() returns trigger language plpgsql as $$
begin
  insert into troupe.joins (what, task_id) select 'delete', t.id from troupe.tasks t where t.chat_id = old.id;
  return null;
end $$;
create trigger spaces_end_tasks after delete on troupe.spaces for each row execute function troupe.end_tasks_of_space();

-- ---- how others are told

-- All that is to be told to a thread, in its order: whoever has the thread takes everything.
create function troupe.tell_chat(p_thread uuid) returns jsonb language plpgsql as $$
declare
  told jsonb;
begin
  perform 1 from troupe.threads t where t.id = p_thread for no key update;
  with gone as (delete from troupe.joins j where j.what = 'event' and j.thread_id = p_thread returning j.id, j.data)
    select jsonb_agg(g.data order by g.id) into told from gone g;
  if told is null then
    return null;
  elsif exists (select from troupe.threads t where t.id = p_thread) then
    perform troupe.append(p_thread, null, null, told);
  end if;
  return jsonb_build_object('told', p_thread, 'queued', false);
end $$;

-- A question goes to the call that waits for the sub-agent: it is settled with it, and nobody waits for the sub-agent any more.
-- Null: nobody did.
create function troupe.hand_up(j troupe.joins) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; child troupe.runs; answer jsonb;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  select * into child from troupe.runs x where x.id = t.run_id;
  if child.parent_call_id is null then
    return null;
  end if;
  perform 1 from troupe.runs x where x.id in (child.id, child.parent_run_id) order by x.id for no key update;
  if not exists (select from troupe.tasks x where x.id = t.id and x.status = 'waiting' and x.told = j.told)
    or not exists (select from troupe.runs x where x.id = child.id and x.parent_call_id = child.parent_call_id and x.parent_run_id = child.parent_run_id) then
    return '{}';
  end if;
  answer := troupe.settle(child.parent_run_id, child.parent_call_id, jsonb_build_object('status', 'completed', 'output', jsonb_build_object('status', 'waiting',
    'taskId', t.id, 'subAgentId', t.sub_agent_id, 'question', t.question)), 'run:' || child.id, troupe.new_id());
  -- A call that is over has noted so itself, and its child is canceled.
  if not (answer->>'ok')::boolean then
    return '{}';
  end if;
  update troupe.runs x set parent_call_id = null where x.id = child.id;
  return answer || jsonb_build_object('settled', child.parent_run_id, 'how', 'completed');
end $$;

-- What an agent is told of a task that it no longer waits for.
create function troupe.task_news(t troupe.tasks, p_data jsonb) returns text language sql immutable as $$
  select format('Task %s (%s%s) ', t.id, t.name, case when t.sub_agent_id is null then '' else ', sub-agent ' || t.sub_agent_id end)
    || case p_data->>'status'
      when 'waiting' then format(E'waits for an answer. The sub-agent asks:\n\n%s', p_data->>'question')
      when 'success' then format(E'is done. Its result:\n\n%s', p_data->>'result')
      when 'failed' then format('failed: %s (%s)', p_data->'error'->>'message', p_data->'error'->>'code')
      else format('was canceled. %s', p_data->'error'->>'message') end
$$;

-- The agent that talks in the chat is told, by a message that starts a run of it (a session), or by a run alone (a space). Once for each time
-- that the task ended or asked: the ids say which.
-- `p_current`: what a message to that agent would run with now. Null: nobody found out, and it is what the run had that gave the task.
create function troupe.tell_giver(j troupe.joins, p_current jsonb) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; giver troupe.runs; v_run uuid; about jsonb; failed uuid; message jsonb; started jsonb; chain int; silent boolean; v_how jsonb;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  -- Within sub-agents nothing is told: whoever gave it is at work, and sees how it stands.
  if not found or t.depth > 1 or (j.what = 'question' and (t.status <> 'waiting' or t.told <> j.told)) then
    return '{}';
  end if;
  select top.* into giver from troupe.runs g join troupe.runs top on top.id = g.root_run_id where g.id = t.parent_run_id;
  select x.chain_depth + 1 into chain from troupe.runs x where x.id = t.parent_run_id;
  -- Whoever ended everything wants no answer, and an agent that is told of tasks, gives more and is told of those must come to an end without a person.
  silent := t.quiet or not exists (select from troupe.agents x where x.id = giver.agent_id and x.status = 'active')
    or chain > (select coalesce((s.compiled->'limits'->>'chainDepth')::int, 8) from troupe.compiled_snapshots s where s.id = giver.snapshot_id);
  v_run := troupe.id_from(t.id || ':told:' || j.told, t.id);
  about := jsonb_strip_nulls(jsonb_build_object('taskId', t.id, 'name', t.name, 'subAgentId', t.sub_agent_id, 'told', j.told)) || (j.data - 'result');
  v_how := jsonb_build_object('id', v_run, 'door', giver.door, 'agent', giver.agent_id, 'entity', giver.entity_id, 'chainDepth', chain,
    'snapshot', coalesce(p_current->'snapshot', to_jsonb(giver.snapshot_id)), 'wallMs', coalesce(p_current->'wallMs', to_jsonb(giver.wall_ms)),
    'historyLimit', case when giver.door = 'session' then coalesce(p_current->'historyLimit', to_jsonb(giver.history_limit)) else to_jsonb(giver.history_limit) end);
  if giver.door = 'space' then
    if silent or not exists (select from troupe.threads x where x.id = t.chat_thread_id) then
      return '{}';
    end if;
    started := troupe.start(jsonb_build_object('project', t.project_id, 'thread', troupe.id_from(v_run || ':thread', v_run), 'createThread', 'run',
      'run', v_how || jsonb_build_object('triggerType', 'service', 'trigger', jsonb_build_object('serviceName', 'task', 'taskId', t.id,
          'payload', jsonb_build_object('spaceId', t.chat_id, 'text', troupe.task_news(t, j.data)) || about))));
    return jsonb_build_object('told', started->'thread', 'queued', true);
  end if;
  perform 1 from troupe.sessions s where s.thread_id = t.chat_thread_id;
  if not found then
    return '{}';
  end if;
  select x.failed_run_id into failed from troupe.threads x where x.id = t.chat_thread_id for update;
  message := jsonb_build_object('id', troupe.id_from(v_run || ':message', v_run), 'role', 'system', 'content', jsonb_build_object('text', troupe.task_news(t, j.data)),
    'metadata', jsonb_build_object('task', about));
  -- A session that failed waits for a person.
  if silent or failed is not null then
    if not exists (select from troupe.messages m where m.id = (message->>'id')::uuid) then
      perform troupe.append(t.chat_thread_id, null, jsonb_build_array(message), jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0,
        'data', jsonb_build_object('id', message->'id', 'role', 'system'))));
    end if;
    return jsonb_build_object('told', t.chat_thread_id, 'queued', false);
  end if;
  started := troupe.start(jsonb_build_object('project', t.project_id, 'thread', t.chat_thread_id, 'message', message || jsonb_build_object('run', v_run),
    'run', v_how || jsonb_build_object('triggerType', 'message', 'serial', true, 'trigger', jsonb_build_object('task', about))));
  return jsonb_build_object('told', t.chat_thread_id, 'queued', coalesce((started->>'ready')::boolean, false));
end $$;

-- A task whose chat is gone, with its runs and their threads. Whoever waits for it is told first, and what was given within it goes as well.
-- Null: not yet.
create function troupe.delete_task(p_task uuid) returns jsonb language plpgsql as $$
declare
  t troupe.tasks; v_runs uuid[]; v_threads uuid[]; answer jsonb;
begin
  perform 1 from troupe.runs x where x.task_id = p_task order by x.id for update;
  select * into t from troupe.tasks x where x.id = p_task for update;
  if not found then
    return '{}';
  end if;
  answer := troupe.cancel(t.run_id, 'parent', null);
  insert into troupe.joins (what, task_id) select 'delete', x.id from troupe.tasks x where x.parent_task_id = p_task;
  if (answer->>'ok')::boolean or exists (select from troupe.runs x join troupe.tool_calls c on c.run_id = x.parent_run_id and c.call_id = x.parent_call_id
      where x.id = t.run_id and c.waits_for = 'task') then
    insert into troupe.joins (what, task_id) values ('delete', p_task);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', t.run_id, 'thread', answer->'thread') end;
  end if;
  select array_agg(x.id), array_agg(distinct x.thread_id) into v_runs, v_threads from troupe.runs x where x.task_id = p_task;
  perform 1 from troupe.threads x where x.id = any(v_threads) order by x.id for update;
  delete from troupe.run_heads x where x.run_id = any(v_runs);
  delete from troupe.run_steps x where x.run_id = any(v_runs);
  delete from troupe.tool_calls x where x.run_id = any(v_runs);
  delete from troupe.tasks x where x.id = p_task;
  delete from troupe.runs x where x.id = any(v_runs);
  delete from troupe.messages x where x.thread_id = any(v_threads);
  delete from troupe.events x where x.thread_id = any(v_threads);
  delete from troupe.files x where x.thread_id = any(v_threads);
  delete from troupe.file_totals x where x.thread_id = any(v_threads);
  delete from troupe.todo_lists x where x.thread_id = any(v_threads);
  delete from troupe.findings x where x.thread_id = any(v_threads);
  delete from troupe.threads x where x.id = any(v_threads);
  return '{}';
end $$;

create function troupe.join_task(p_join bigint, p_current jsonb) returns jsonb language plpgsql as $$
declare
  j troupe.joins; answer jsonb; v_run uuid;
begin
  select * into j from troupe.joins x where x.id = p_join;
  if j.what = 'event' then
    return troupe.tell_chat(j.thread_id);
  elsif j.what in ('question', 'end') then
    -- As `start` does, before the first row.
    lock table troupe.runs in row exclusive mode;
  end if;
  delete from troupe.joins x where x.id = (select y.id from troupe.joins y where y.id = p_join for update skip locked) returning * into j;
  if not found then
    return null;
  elsif j.what = 'cancel' then
    select t.run_id into v_run from troupe.tasks t where t.id = j.task_id;
    answer := troupe.cancel(v_run, 'parent', null);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', v_run, 'thread', answer->'thread') else '{}' end;
  elsif j.what = 'delete' then
    return troupe.delete_task(j.task_id);
  elsif j.what = 'question' then
    answer := troupe.hand_up(j);
  end if;
  return coalesce(answer, troupe.tell_giver(j, p_current));
end $$;

-- As before (0027); what a task leaves is told in ways of its own.
drop function troupe.join_child(bigint);
create function troupe.join_child(p_join bigint, p_current jsonb default null) returns jsonb language plpgsql set lock_timeout to '250ms' as $$
declare
  j troupe.joins; child troupe.runs; open boolean; most bigint := 262144; outcome jsonb; answer jsonb;
begin
  if exists (select from troupe.joins x where x.id = p_join and x.what is not null) then
    return troupe.join_task(p_join, p_current);
  end if;
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

-- As before (0027); of a task, with what it takes to speak to the sub-agent again.
create or replace function troupe.task_outcome(child troupe.runs, p_most bigint) returns jsonb language plpgsql stable as $$
declare
  given jsonb; sub uuid; who text := '';
begin
  if child.task_id is not null then
    select t.sub_agent_id into sub from troupe.tasks t where t.id = child.task_id;
    who := format(' (sub-agent %s)', sub);
  end if;
  case child.status
    when 'completed' then
      given := case when child.task_id is not null then jsonb_build_object('status', 'success', 'taskId', child.task_id, 'subAgentId', sub, 'result', child.outcome->'text')
        when child.outcome ? 'response' then child.outcome->'response' when child.outcome ? 'output' then child.outcome->'output'
        else child.outcome->'text' end;
      if octet_length(given::text) > p_most then
        return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'output_too_large',
          'message', format('The task%s ended with %s bytes; at most %s are taken. Ask for less.', who, octet_length(given::text), p_most)));
      end if;
      return jsonb_build_object('status', 'completed', 'output', coalesce(given, 'null'));
    when 'failed' then
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', coalesce(child.error->>'code', 'task_failed'),
        'message', format('The task%s failed: ', who) || coalesce(child.error->>'message', 'it did not say why.')));
    else
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'task_canceled',
        'message', format('The task%s was canceled (%s) before it ended.', who, child.cancel_reason)));
  end case;
end $$;
