-- Deletes the documents of changes whose last delivery was deleted.
-- Locks: the documents.
-- Called by: trigger.
create or replace function troupe.drop_change_documents() returns trigger language plpgsql as $$
begin
  delete from troupe.change_documents c using (select distinct g.change_id from gone g) x
    where c.change_id = x.change_id
      and not exists (select from troupe.trigger_deliveries d where d.change_id = c.change_id);
  return null;
end $$;

create trigger trigger_deliveries_gone after delete on troupe.trigger_deliveries referencing old table as gone
  for each statement execute function troupe.drop_change_documents();
