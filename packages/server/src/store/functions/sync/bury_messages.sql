-- Writes the tombstones of deleted messages.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.bury_messages() returns trigger language plpgsql as $$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
    select (p.place).collection, g.id, (p.place).project_id, (p.place).user_id, g.thread_id, (p.place).chat_id, g.xid,
      g.created_at
    from (select distinct x.thread_id from gone x) t
      cross join lateral (select troupe.place_of_thread(t.thread_id) as place offset 0) p
      join gone g on g.thread_id = t.thread_id
    where (p.place).collection is not null on conflict do nothing;
  return null;
end $$;

create trigger messages_bury after delete on troupe.messages referencing old table as gone for each statement
  execute function troupe.bury_messages();
