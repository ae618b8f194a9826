-- The owner of the memories that a run writes: the person of the session that the run, or the run it was forked from or
-- started by, belongs to; else the agent's own entity. Null if the chain of runs is broken, so that private facts are
-- never stored for everyone by mistake.
-- Locks: none.
-- Called by: troupe.fork, store/queries/memories.ts.
create or replace function troupe.owner_of(p_run uuid, p_entity uuid) returns uuid language sql stable as $$
  with recursive line as (
    select r.id, r.thread_id, r.owner_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id) as origin,
      0 as back from troupe.runs r where r.id = p_run
    union all
    select r.id, r.thread_id, r.owner_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id), l.back + 1
      from line l join troupe.runs r on r.id = l.origin
      where l.owner_id is null)
  select case
    when known.back is not null then coalesce(known.owner, p_entity)
    when exists (select from line l where l.origin is null) then p_entity end
  from (select 1) one left join lateral (
    select l.back, coalesce(l.owner_id, s.entity_id) as owner from line l
      left join troupe.sessions s on s.thread_id = l.thread_id
    where l.owner_id is not null or s.id is not null order by l.back limit 1) known on true
$$;
