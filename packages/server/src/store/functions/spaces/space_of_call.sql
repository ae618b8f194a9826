-- Where a call of a run takes effect: the space entered last before it, else the one that the run began in. What an
-- enter_space of the same answer names counts whatever becomes of it: what was meant for one space must not be said in
-- another.
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
