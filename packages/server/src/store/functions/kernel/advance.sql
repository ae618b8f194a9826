-- One call carries the commits of many runs, all of one worker, as one typed array per column: the same as JSON cost
-- several times as much to take apart. Items come in the order of their runs' ids; p_order lists them in the order of
-- their threads' ids. Many small statements, not few large ones: setting up a statement over unnested arrays took
-- longer (80 µs) than eight plain inserts. p_row: the item may change the row of the run itself (it ends, waits, is let
-- go, or calls begin to wait outside); what just goes on touches only the head *_upto: number of the last row that
-- belongs to the item event_when: go|parked|ended, where it is written only then Answers one verdict per item, in
-- order: { ok: true, mode: go|parked|ended|released, seq, version, openCalls?, steers?, foreign?, ready? } absent = as
-- before { ok: false, status, epoch, version, step, worker } somebody else has the run, or this very commit was done
-- before
create or replace function troupe.advance(
  p_worker uuid, p_order int[], p_run uuid[], p_thread uuid[], p_epoch int[], p_version int[], p_known bigint[],
    p_step int[],
  p_input bigint[], p_output bigint[], p_cost bigint[],
  p_row boolean[], p_steers int[], p_park boolean[], p_attempt int[], p_model int[], p_outside int[], p_target text[],
    p_extra jsonb[],
  message_upto int[], message_id uuid[], message_role troupe.message_role[], message_content jsonb[],
    message_call text[], message_step int[], message_extra jsonb[],
  event_upto int[], event_when text[], event_type text[], event_data jsonb[], event_message int[], event_step int[],
  call_upto int[], call_id text[], call_tool text[], call_args jsonb[], call_effect troupe.tool_effect[],
    call_status troupe.call_status[], call_extra jsonb[],
  change_upto int[], change_id text[], change_status troupe.call_status[], change_output jsonb[], change_error jsonb[],
    change_extra jsonb[],
  step_provider text[], step_model text[], step_attempt int[], step_started float8[], step_first float8[],
    step_finished float8[],
  step_finish text[], step_extra jsonb[]
) returns jsonb
language plpgsql set enable_seqscan to off set plan_cache_mode to force_generic_plan as $$
declare
  n constant int := cardinality(p_run);
  modes text[] := array_fill('go'::text, array[n]); verdicts jsonb[] := array_fill(null::jsonb, array[n]);
  rows_locked boolean := p_row is not null;
  i int; k int; o int; from_row int; to_row int; kept int; written int;
  v_run uuid; v_thread uuid; v_epoch int; v_version int; v_step int; v_now int; v_input bigint; v_output bigint;
  v_cost bigint; v_leaver uuid;
  v_mode text; v_when text; v_extra jsonb; v_id uuid; v_role troupe.message_role; v_json jsonb; v_error jsonb;
  v_text text; v_tool text;
  v_effect troupe.tool_effect; v_status troupe.call_status; v_number int; v_seq bigint; v_first float8; v_last float8;
  v_begin float8;
  message_base bigint; event_base bigint; verdict jsonb; opened int[]; steered int[]; replies boolean;
  told uuid[] := '{}'; places uuid[] := '{}'; entered uuid[];
  r record;
begin
  -- 1. Rows of runs that may change, in the order of their ids; what they show decides what becomes of the item.
  if rows_locked then
    opened := array_fill(null::int, array[n]); steered := array_fill(null::int, array[n]);
    for i in 1 .. n loop
      continue when not p_row[i];
      select x.open_calls, x.steers, x.door into r from troupe.runs x where x.id = p_run[i] for no key update;
      modes[i] := case p_target[i] when 'completed' then case when r.steers > p_steers[i] then 'go' else 'ended' end
        when 'queued' then 'released' when 'waiting_tool' then 'parked' when 'failed' then 'ended' when 'canceled'
          then 'ended'
        else case when p_park[i] and r.open_calls + p_outside[i] > 0 then 'parked' else 'go' end end;
      opened[i] := case when modes[i] = 'ended' then 0 else r.open_calls + p_outside[i] end;
      steered[i] := r.steers;
      if r.door = 'space' then
        told := told || p_run[i];
      end if;
    end loop;
  end if;

  -- 2. Heads: the fence.
  for i in 1 .. n loop
    v_run := p_run[i]; v_epoch := p_epoch[i]; v_version := p_version[i]; v_step := p_step[i]; v_leaver := p_worker;
    if modes[i] <> 'go' then
      v_leaver := null;
    end if;
    if v_step is null then
      update troupe.run_heads h set version = h.version + 1, worker_id = v_leaver
        where h.run_id = v_run and h.version = v_version and h.epoch = v_epoch and h.worker_id = p_worker;
    else
      v_input := p_input[i]; v_output := p_output[i]; v_cost := p_cost[i];
      update troupe.run_heads h set version = h.version + 1, worker_id = v_leaver, step = v_step,
        input_tokens = h.input_tokens + v_input, output_tokens = h.output_tokens + v_output, cost = h.cost + v_cost
        where h.run_id = v_run and h.version = v_version and h.epoch = v_epoch and h.worker_id = p_worker;
    end if;
    if not found then
      select x.status, x.epoch, h.version, h.step, x.worker_id into r
        from troupe.runs x left join troupe.run_heads h on h.run_id = x.id where x.id = v_run;
      modes[i] := 'refused';
      verdicts[i] := jsonb_build_object('ok', false, 'status', coalesce(r.status::text, 'missing'),
        'epoch', r.epoch, 'version', r.version, 'step', r.step, 'worker', r.worker_id);
    end if;
  end loop;

  -- Spaces that are told of runs or of calls, before anything fires what tells them.
  for i in 1 .. n loop
    for k in coalesce(change_upto[i - 1], 0) + 1 .. change_upto[i] loop
      if change_extra[k] ? 'shown' or change_status[k] in ('failed', 'canceled', 'expired', 'in_doubt')
        or change_output[k] @> '{"success": false}' then
        told := told || p_run[i];
      end if;
    end loop;
    entered := '{}';
    for k in coalesce(call_upto[i - 1], 0) + 1 .. call_upto[i] loop
      if call_extra[k] ? 'shown' then
        places := places || (call_extra[k]->'shown'->>'spaceId')::uuid;
      end if;
      -- What will not be said is told where it would have been: see space_of_call.
      if call_tool[k] = 'enter_space' and call_args[k]->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        entered := entered || (call_args[k]->>'spaceId')::uuid;
      elsif call_tool[k] = 'send_message' and call_status[k] = 'failed' then
        told := told || p_run[i]; places := places || entered;
      end if;
    end loop;
  end loop;
  if cardinality(told) + cardinality(places) > 0 then
    perform troupe.lock_spaces(told, places);
  end if;

  -- 3. Calls that end, calls that begin (again). One that was handed over meanwhile is not the worker's to end.
  if cardinality(change_id) > 0 then
    from_row := 1;
    for i in 1 .. n loop
      to_row := change_upto[i];
      if to_row >= from_row and modes[i] <> 'refused' then
        v_run := p_run[i];
        for k in from_row .. to_row loop
          v_text := change_id[k]; v_status := change_status[k]; v_json := change_output[k]; v_error := change_error[k];
          v_extra := change_extra[k];
          if v_extra is null or v_extra ? 'ends' then
            update troupe.tool_calls c set status = v_status, output = v_json, error = v_error, settled_at = now()
              where c.run_id = v_run and c.call_id = v_text and c.status = 'running';
          else
            update troupe.tool_calls c set status = v_status, output = coalesce(v_json, c.output),
              error = coalesce(v_error, c.error), epoch = p_epoch[i],
              attempt = c.attempt + coalesce((v_extra->>'again')::int, 0),
              waits_for = (v_extra->>'waitsFor')::troupe.waits_for, deadline = now() + make_interval(secs
                => (v_extra->>'deadlineMs')::float8 / 1000),
              settled_at = case when v_status not in ('requested', 'running') and v_extra->>'waitsFor' is null
                then now() end
              where c.run_id = v_run and c.call_id = v_text and c.status in ('requested', 'running', 'in_doubt');
          end if;
          if not found then
            raise exception 'troupe.advance: call % of run % is not open', v_text, v_run using errcode = case
              when v_extra is null or v_extra ? 'ends' then 'TR003' else 'P0001' end;
          end if;
        end loop;
      end if;
      from_row := to_row + 1;
    end loop;
  end if;

  -- 4. Threads, in the order of their ids: place messages and events behind what is there, then everything that hangs
  -- on them.
  foreach i in array p_order loop
    v_mode := modes[i];
    if v_mode = 'refused' then
      if rows_locked and p_row[i] then
        perform troupe.pass(x) from troupe.runs x where x.id = p_run[i];
      end if;
      continue;
    end if;
    v_run := p_run[i]; v_thread := p_thread[i]; v_step := p_step[i];
    from_row := coalesce(event_upto[i - 1], 0) + 1; to_row := event_upto[i]; kept := to_row - from_row + 1;
    if rows_locked then
      if v_mode = 'ended' and p_extra[i] @> '{"close": true}' then
        perform 1 from troupe.threads t where t.id = v_thread for no key update;
        perform troupe.close_calls(v_run, v_thread, 'canceled', 'canceled',
          'The run ended before this call did; a call that was already running may have taken effect.', null);
      end if;
      v_when := case v_mode when 'released' then 'ended' else v_mode end;
      select count(*) into kept from generate_series(from_row, to_row) x where event_when[x] is null
        or event_when[x] = v_when;
    end if;
    -- Whatever this commit itself leaves open waits for somebody else than for a reply.
    replies := v_mode = 'parked' and p_target[i] is null and p_outside[i] = 0 and not exists (
      select from troupe.tool_calls c where c.run_id = v_run and c.waits_for is not null and c.waits_for <> 'reply');
    o := coalesce(message_upto[i - 1], 0);
    written := message_upto[i] - o;
    update troupe.threads t set last_message_seq = t.last_message_seq + written,
      last_event_seq = t.last_event_seq + kept
      where t.id = v_thread returning t.last_message_seq - written, t.last_event_seq - kept
        into message_base, event_base;
    v_seq := message_base;
    for k in o + 1 .. o + written loop
      v_seq := v_seq + 1; v_id := message_id[k]; v_role := message_role[k]; v_json := message_content[k];
      v_text := message_call[k];
      v_now := message_step[k]; v_extra := message_extra[k];
      insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step, sender_id, metadata)
        values (v_thread, v_seq, v_id, v_role, v_json, v_text, v_run, v_now, (v_extra->>'sender')::uuid,
          v_extra->'metadata');
    end loop;
    v_seq := event_base;
    for k in from_row .. to_row loop
      continue when rows_locked and event_when[k] <> v_when;
      v_seq := v_seq + 1; v_text := case when replies and event_type[k] = 'run.waiting_tool' then 'run.waiting_reply'
        else event_type[k] end; v_json := event_data[k]; v_number := event_message[k]; v_now := event_step[k];
      insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
        values (v_thread, v_seq, v_text, v_json, message_base + v_number, v_run, v_now);
    end loop;
    if v_step is not null then
      v_epoch := p_epoch[i];
      o := coalesce(call_upto[i - 1], 0);
      for k in o + 1 .. call_upto[i] loop
        v_number := k - o; v_text := call_id[k]; v_tool := call_tool[k]; v_json := call_args[k];
        v_effect := call_effect[k]; v_status := call_status[k];
        v_extra := call_extra[k];
        if v_extra is null then
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch);
        else
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch, waits_for,
            deadline, error, settled_at, shown)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch,
              (v_extra->>'waitsFor')::troupe.waits_for,
              now() + make_interval(secs => (v_extra->>'deadlineMs')::float8 / 1000), v_extra->'error', case
                when v_status = 'failed' then now() end, v_extra->'shown');
        end if;
      end loop;
      v_text := step_provider[i]; v_tool := step_model[i]; v_number := step_attempt[i];
      v_begin := step_started[i] / 1000; v_first := step_first[i] / 1000;
      v_last := step_finished[i] / 1000; v_extra := step_extra[i]; v_input := p_input[i]; v_output := p_output[i];
      v_cost := p_cost[i]; v_when := step_finish[i];
      insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at,
        first_token_at, finished_at,
        input_tokens, output_tokens, cost, finish_reason, agent_key, decision, budgeted)
        values (v_run, v_step, v_text, v_tool, p_worker, v_epoch, v_number, to_timestamp(v_begin),
          to_timestamp(v_first),
          to_timestamp(v_last), v_input, v_output, v_cost, v_when, v_extra->>'agentKey', v_extra->'decision',
          coalesce((v_extra->>'budgeted')::boolean, false));
    end if;
    verdict := jsonb_build_object('ok', true, 'mode', v_mode, 'seq', message_base, 'version', p_version[i] + 1);
    if rows_locked and p_row[i] then
      verdict := verdict || jsonb_build_object('openCalls', opened[i], 'steers', steered[i],
        'promoted', troupe.leave(v_run, v_thread, v_mode, p_attempt[i], p_model[i], p_outside[i], p_target[i],
          p_extra[i]));
      if p_park[i] and v_mode = 'go' then
        verdict := verdict || jsonb_build_object('ready', (
          select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
          where c.run_id = v_run and c.status = 'requested' and c.waits_for is null));
      end if;
    end if;
    -- Seldom: what others put into the thread meanwhile. The count of steering messages is read under the thread's
    -- lock,
    -- so that it fits the messages.
    if message_base > p_known[i] then
      verdict := verdict || jsonb_build_object('foreign', (
          select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = v_thread and m.seq > p_known[i] and m.seq <= message_base),
        'steers', (select x.steers from troupe.runs x where x.id = v_run), 'openCalls', (select x.open_calls
          from troupe.runs x where x.id = v_run));
    end if;
    verdicts[i] := verdict;
  end loop;
  return to_jsonb(verdicts);
end $$;
