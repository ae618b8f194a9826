-- The spaces that are told what becomes of these runs and of their calls, in the order of their ids: before the first
-- of them is written, so that two who write to several cannot wait for each other. After runs, heads and tool calls,
-- before threads of runs.
create or replace function troupe.lock_spaces(p_runs uuid[], p_spaces uuid[]) returns void language plpgsql as $$
begin
  perform 1 from troupe.threads t where t.id in (
    select r.space_id from troupe.runs r where r.id = any(p_runs)
    union select r.active_space_id from troupe.runs r where r.id = any(p_runs)
    union select (c.shown->>'spaceId')::uuid from troupe.tool_calls c where c.run_id = any(p_runs)
      and c.shown is not null and c.status in ('requested', 'running', 'in_doubt')
    union select troupe.space_of_call(c.run_id, c.call_id) from troupe.tool_calls c where c.run_id = any(p_runs)
      and c.tool = 'send_message' and c.status in ('requested', 'running', 'in_doubt')
    union select x.space_id from troupe.run_shown x where x.run_id = any(p_runs)
    union select unnest(p_spaces)) order by t.id for no key update;
end $$;
