-- breaking: false
-- Writing files of a thread: within its limits, exactly, however many write at once.

-- Locks what a write needs: the head of the run that writes, where a tool does, then the thread, then the totals. Null, or why not.
-- A worker that lost the run finds another epoch and writes nothing; one that is about to lose it keeps it until this is committed.
create function troupe.open_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid) returns text language plpgsql as $$
begin
  if p_run is not null then
    perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
    if not found then
      return 'run_lost';
    end if;
  end if;
  -- So that who deletes the thread comes before or after, and never leaves a file behind.
  perform 1 from troupe.threads t where t.id = p_thread for key share;
  if not found then
    return 'thread_not_found';
  end if;
  insert into troupe.file_totals (thread_id) values (p_thread) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_thread for update;
  return null;
end $$;

-- A directory is a beginning that paths share; it exists while a file is in it. After open_files only.
create function troupe.put_file(p_thread uuid, p_path text, p_content bytea, p_type text, p_most_files int, p_most_bytes bigint) returns jsonb language plpgsql as $$
declare
  before bigint; has troupe.file_totals; size bigint := octet_length(p_content); since timestamptz; changed timestamptz;
begin
  select octet_length(f.content) into before from troupe.files f where f.thread_id = p_thread and f.path = p_path;
  if before is null then
    if exists (select from troupe.files f where f.thread_id = p_thread and starts_with(f.path, p_path || '/')) then
      return jsonb_build_object('ok', false, 'code', 'is_a_directory');
    elsif exists (select from troupe.files f where f.thread_id = p_thread and starts_with(p_path, f.path || '/')) then
      return jsonb_build_object('ok', false, 'code', 'not_a_directory');
    end if;
  end if;
  select * into has from troupe.file_totals t where t.thread_id = p_thread;
  if before is null and has.files >= p_most_files then
    return jsonb_build_object('ok', false, 'code', 'too_many_files');
  elsif has.bytes - coalesce(before, 0) + size > p_most_bytes and size > coalesce(before, 0) then
    return jsonb_build_object('ok', false, 'code', 'files_full');
  end if;
  insert into troupe.files (thread_id, path, content, type) values (p_thread, p_path, p_content, p_type)
    on conflict (thread_id, path) do update set content = excluded.content, type = excluded.type, updated_at = now()
    returning created_at, updated_at into since, changed;
  update troupe.file_totals t set files = t.files + case when before is null then 1 else 0 end, bytes = t.bytes - coalesce(before, 0) + size
    where t.thread_id = p_thread;
  return jsonb_build_object('ok', true, 'created', before is null, 'createdAt', since, 'updatedAt', changed);
end $$;

create function troupe.remove_files(p_thread uuid, p_path text, p_recursive boolean) returns jsonb language plpgsql as $$
declare
  gone int; freed bigint;
begin
  with gone as (delete from troupe.files f where f.thread_id = p_thread and f.path = p_path returning octet_length(f.content) as size)
    select count(*), coalesce(sum(size), 0) into gone, freed from gone;
  if gone = 0 and exists (select from troupe.files f where f.thread_id = p_thread and starts_with(f.path, rtrim(p_path, '/') || '/')) then
    if not p_recursive then
      return jsonb_build_object('ok', false, 'code', 'is_a_directory');
    end if;
    with gone as (delete from troupe.files f where f.thread_id = p_thread and starts_with(f.path, rtrim(p_path, '/') || '/') returning octet_length(f.content) as size)
      select count(*), coalesce(sum(size), 0) into gone, freed from gone;
  end if;
  if gone = 0 then
    return jsonb_build_object('ok', false, 'code', 'file_not_found');
  end if;
  update troupe.file_totals t set files = t.files - gone, bytes = t.bytes - freed where t.thread_id = p_thread;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $$;

create function troupe.write_file(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid, p_path text, p_content bytea, p_type text,
  p_most_files int, p_most_bytes bigint) returns jsonb language plpgsql as $$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker);
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  return troupe.put_file(p_thread, p_path, p_content, p_type, p_most_files, p_most_bytes);
end $$;

create function troupe.delete_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid, p_path text, p_recursive boolean) returns jsonb language plpgsql as $$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker);
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  return troupe.remove_files(p_thread, p_path, p_recursive);
end $$;

-- Several changes as one: all of them or none. Where the content is null, the file is deleted, which comes first.
create function troupe.change_files(p_thread uuid, p_run uuid, p_epoch int, p_worker uuid, p_paths text[], p_contents bytea[], p_types text[],
  p_most_files int, p_most_bytes bigint) returns jsonb language plpgsql as $$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker); answer jsonb;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  for i in 1 .. coalesce(cardinality(p_paths), 0) loop
    if p_contents[i] is null then
      -- One that is gone already is as it should be.
      answer := troupe.remove_files(p_thread, p_paths[i], false);
    end if;
  end loop;
  for i in 1 .. coalesce(cardinality(p_paths), 0) loop
    if p_contents[i] is not null then
      answer := troupe.put_file(p_thread, p_paths[i], p_contents[i], p_types[i], p_most_files, p_most_bytes);
      if not (answer->>'ok')::boolean then
        raise exception sqlstate 'TF001';
      end if;
    end if;
  end loop;
  return jsonb_build_object('ok', true);
exception when sqlstate 'TF001' then
  return answer;
end $$;

-- What a thread begins with that is copied from another: the files, the list and the findings as they are at this moment.
create function troupe.copy_files(p_from uuid, p_to uuid) returns void language plpgsql as $$
begin
  perform 1 from troupe.file_totals t where t.thread_id = p_from for share;
  insert into troupe.files (thread_id, path, content, type, created_at, updated_at)
    select p_to, f.path, f.content, f.type, f.created_at, f.updated_at from troupe.files f where f.thread_id = p_from;
  insert into troupe.file_totals (thread_id, files, bytes) select p_to, t.files, t.bytes from troupe.file_totals t where t.thread_id = p_from;
  insert into troupe.todo_lists (thread_id, items, updated_at) select p_to, l.items, l.updated_at from troupe.todo_lists l where l.thread_id = p_from;
  insert into troupe.findings (thread_id, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at)
    select p_to, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at from troupe.findings f where f.thread_id = p_from order by f.seq;
end $$;

-- As before, and the fork begins with the files of the run's thread.
create or replace function troupe.fork(p_source uuid, p_step int, p_thread uuid, p_run uuid, p_snapshot uuid, p_edits jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; upto bigint; edited bigint := (select min((e.v->>'seq')::bigint) from jsonb_array_elements(p_edits) e(v));
begin
  lock table troupe.runs in row exclusive mode;
  -- Steps whose calls are settled never change again: nothing of the run has to be locked. The thread's lock is for two forks with the same ids.
  select * into r from troupe.runs x where x.id = p_source;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if exists (select from troupe.runs x where x.id = p_run) then
    return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'duplicate', true);
  end if;
  if troupe.missing_for(r.project_id, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), null) is not null then
    return jsonb_build_object('ok', false, 'code', 'snapshot_not_found');
  end if;
  r.step := coalesce((select h.step from troupe.run_heads h where h.run_id = p_source), r.step);
  if p_step < 0 or p_step > r.step then
    return jsonb_build_object('ok', false, 'code', 'step_not_found', 'step', r.step);
  elsif exists (select from troupe.tool_calls c where c.run_id = p_source and c.step <= p_step
      and (c.status in ('requested', 'running') or c.waits_for is not null)) then
    return jsonb_build_object('ok', false, 'code', 'step_not_settled', 'step', p_step);
  end if;
  -- Everything up to the step's last message; without a step, up to the trigger.
  select greatest(max(m.seq), coalesce(r.trigger_seq, 0)) into upto from troupe.messages m
    where m.thread_id = r.thread_id and m.run_id = p_source and m.step <= p_step;
  upto := coalesce(upto, r.trigger_seq, 0);
  insert into troupe.threads (id, project_id, kind, last_message_seq) values (p_thread, r.project_id, 'run', upto);
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata, created_at)
  select p_thread, m.seq, troupe.new_id(), m.role, coalesce(e.v->'content', m.content), m.tool_call_id, m.sender_id,
    case when m.run_id = p_source then p_run else m.run_id end, m.step,
    -- What a model thought of what stands otherwise now is not its thought any more.
    case when m.seq >= edited then m.metadata - 'troupe:reasoning' else m.metadata end, m.created_at
  from troupe.messages m left join jsonb_array_elements(p_edits) e(v) on (e.v->>'seq')::bigint = m.seq
  where m.thread_id = r.thread_id and m.seq <= upto;
  perform troupe.copy_files(r.thread_id, p_thread);
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id, trigger_type, trigger_seq, trigger,
    chain_depth, step, wall_ms, history_limit, budget_ids, metadata)
  values (p_run, r.project_id, r.door, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), p_thread, null, p_run, 'fork', r.trigger_seq,
    r.trigger || jsonb_build_object('forkedFrom', p_source, 'forkedAtStep', p_step), r.chain_depth, p_step, r.wall_ms, r.history_limit, r.budget_ids,
    r.metadata || jsonb_build_object('forkedFrom', p_source));
  perform troupe.append(p_thread, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('forkedFrom', p_source, 'step', p_step))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'messages', upto);
end $$;
