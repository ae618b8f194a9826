-- The number of trigger actions that led to a run: stored in its metadata, in its trigger message or in one of its
-- ancestors.
-- Locks: none.
-- Called by: troupe.capture_memberships, troupe.capture_messages, troupe.capture_runs, troupe.capture_sub_agents,
--   troupe.capture_tasks, troupe.capture_tool_calls.
create or replace function troupe.trigger_depth(p_run uuid) returns int language plpgsql stable as $$
declare
  r troupe.runs; m troupe.messages; above uuid := p_run; depth int;
begin
  for i in 1..50 loop
    exit when above is null;
    select * into r from troupe.runs x where x.id = above;
    if not found then
      return 0;
    end if;
    m := null;
    if r.trigger_message_id is not null then
      select * into m from troupe.messages x where x.id = r.trigger_message_id;
    end if;
    depth := coalesce(troupe.noted_depth(r.metadata), troupe.noted_depth(m.metadata));
    if depth is not null then
      return depth;
    end if;
    above := coalesce(m.run_id, r.parent_run_id, nullif(r.root_run_id, r.id));
  end loop;
  return 0;
end $$;
