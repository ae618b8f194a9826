-- The space in which a call takes effect: the last one entered before it, else the space of the run. An enter_space in
-- the same answer counts even if it fails, so that no message goes to another space than intended.
-- Locks: none.
-- Called by: troupe.tell_unsaid, store/queries/in-spaces.ts.
create or replace function troupe.space_of_call(p_run uuid, p_call text) returns uuid language sql stable as $$
  select coalesce((
    select case when e.args->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (e.args->>'spaceId')::uuid
      else '00000000-0000-0000-0000-000000000000' end
    from troupe.tool_calls c join troupe.tool_calls e on e.run_id = c.run_id and e.tool = 'enter_space'
      and (e.step, e.position) < (c.step, c.position)
    where c.run_id = p_run and c.call_id = p_call and (e.step = c.step or e.status = 'completed'
      and e.output @> '{"success": true}')
    order by e.step desc, e.position desc limit 1),
    (select r.space_id from troupe.runs r where r.id = p_run))
$$;
