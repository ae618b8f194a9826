-- Writes the tombstones of deleted runs.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.bury_runs() returns trigger language plpgsql as $$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
    select 'runs', g.id, g.project_id, case when (p.place).collection = 'messages' then (p.place).user_id end,
      g.space_id, (p.place).chat_id, g.xid, g.created_at
    from gone g cross join lateral (select troupe.place_of_thread(g.thread_id) as place offset 0) p
      on conflict do nothing;
  return null;
end $$;

create trigger runs_bury after delete on troupe.runs referencing old table as gone for each statement
  execute function troupe.bury_runs();
