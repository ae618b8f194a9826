-- Processes a row of joins. An ended child settles the call that waits for it; a child that no call waits for is
-- canceled, which in turn writes joins for its own children. Both sides write a join when they end, so the later one is
-- always seen: each side is read without a lock and checked again under its own. Returns null if another process has
-- the row. The lock timeout keeps one blocked join from delaying the others.
-- Locks: the join, then as troupe.settle or troupe.cancel. Never both conversations.
-- Called by: store/queries/children.ts.
create or replace function troupe.join_child(p_join bigint, p_current jsonb default null) returns jsonb
  language plpgsql set lock_timeout to '250ms' as $$
declare
  j troupe.joins; child troupe.runs; open boolean; most bigint := 262144; outcome jsonb; answer jsonb;
begin
  if exists (select from troupe.joins x where x.id = p_join and x.what is not null) then
    return troupe.join_task(p_join, p_current);
  end if;
  delete from troupe.joins x where x.id = (select y.id from troupe.joins y where y.id = p_join for update skip locked)
    returning * into j;
  if not found then
    return null;
  end if;
  select * into child from troupe.runs x where x.parent_run_id = j.run_id and x.parent_call_id = j.call_id;
  if not found then
    return '{}';
  end if;
  open := exists (select from troupe.tool_calls x where x.run_id = j.run_id and x.call_id = j.call_id
    and x.waits_for = 'task');
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
    return case when (answer->>'ok')::boolean then answer
      || jsonb_build_object('settled', j.run_id, 'how', outcome->'status') else '{}' end;
  elsif not open then
    answer := troupe.cancel(child.id, 'parent', null);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', child.id, 'thread', answer->'thread')
      else '{}' end;
  end if;
  return '{}';
end $$;
