-- Copies a thread up to and including a step of a run, and starts a run that continues from there. p_edits is [{ seq,
-- content }] and replaces messages of the copy.
-- Locks: table runs (row exclusive), the thread of the source, its file totals (shared).
-- Called by: store/queries/outside.ts.
create or replace function troupe.fork(p_source uuid, p_step int, p_thread uuid, p_run uuid, p_snapshot uuid,
  p_edits jsonb) returns jsonb language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
  set plan_cache_mode to force_generic_plan as $$
declare
  r troupe.runs; upto bigint; edited bigint := (select min((e.v->>'seq')::bigint)
    from jsonb_array_elements(p_edits) e(v));
begin
  lock table troupe.runs in row exclusive mode;
  -- Steps with settled calls never change, so the run is not locked. The lock on the thread orders two forks with the
  -- same ids.
  select * into r from troupe.runs x where x.id = p_source;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.step > 0 and not exists (select from troupe.run_steps s where s.run_id = p_source)
    and exists (select from troupe.threads t where t.id = r.thread_id and t.kind = 'run') then
    return jsonb_build_object('ok', false, 'code', 'run_purged');
  end if;
  if exists (select from troupe.runs x where x.id = p_run) then
    return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'duplicate', true);
  end if;
  if troupe.missing_for(r.project_id, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id),
    null) is not null then
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
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata,
    created_at)
  select p_thread, m.seq, troupe.new_id(), m.role, coalesce(e.v->'content', m.content), m.tool_call_id, m.sender_id,
    case when m.run_id = p_source then p_run else m.run_id end, m.step,
    -- Reasoning from an edited message on is dropped: it refers to the original text.
    -- So does a summary of an edited message.
    case when m.role = 'system' and jsonb_typeof(m.metadata->'troupe:summary'->'upTo') = 'number'
        and (m.metadata->'troupe:summary'->>'upTo')::bigint >= edited
      then m.metadata - 'troupe:summary' || '{"troupe:void": true}'
      when m.seq >= edited then m.metadata - 'troupe:reasoning' else m.metadata end, m.created_at
  from troupe.messages m left join jsonb_array_elements(p_edits) e(v) on (e.v->>'seq')::bigint = m.seq
  where m.thread_id = r.thread_id and m.seq <= upto;
  -- The row is created first, so that a first write waits as well.
  insert into troupe.file_totals (thread_id) values (r.thread_id) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = r.thread_id for share;
  insert into troupe.files (thread_id, path, content, type, created_at, updated_at) select p_thread, f.path, f.content,
    f.type, f.created_at, f.updated_at from troupe.files f where f.thread_id = r.thread_id;
  insert into troupe.file_totals (thread_id, files, bytes)
    select p_thread, t.files, t.bytes from troupe.file_totals t where t.thread_id = r.thread_id;
  insert into troupe.todo_lists (thread_id, items, updated_at)
    select p_thread, l.items, l.updated_at from troupe.todo_lists l where l.thread_id = r.thread_id;
  insert into troupe.findings (thread_id, project_id, run_id, call_id, question, claim, source, quote, confidence,
    created_at) select p_thread, f.project_id, f.run_id, f.call_id, f.question, f.claim, f.source, f.quote,
    f.confidence, f.created_at from troupe.findings f where f.thread_id = r.thread_id order by f.seq;
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id,
    root_run_id, trigger_type, trigger_seq, trigger,
    chain_depth, step, wall_ms, history_limit, budget_ids, metadata, owner_id, code_tools)
  values (p_run, r.project_id, r.door, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), p_thread, null,
    p_run, 'fork', r.trigger_seq,
    r.trigger || jsonb_build_object('forkedFrom', p_source, 'forkedAtStep', p_step), r.chain_depth, p_step, r.wall_ms,
      r.history_limit, r.budget_ids,
    r.metadata || jsonb_build_object('forkedFrom', p_source), troupe.owner_of(p_source, r.entity_id),
    (select s.code_tools from troupe.compiled_snapshots s where s.id = coalesce(p_snapshot, r.snapshot_id)));
  perform troupe.append(p_thread, p_run, null,
    jsonb_build_array(jsonb_build_object('type', 'run.queued',
      'data', jsonb_build_object('forkedFrom', p_source, 'step', p_step))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'messages', upto);
end $$;
