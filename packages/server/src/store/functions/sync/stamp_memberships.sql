-- Stamps the memberships of an entity whose name changed, because their documents contain the name.
-- Locks: the memberships.
-- Called by: trigger.
create or replace function troupe.stamp_memberships() returns trigger language plpgsql as $$
begin
  update troupe.memberships m set xid = troupe.stamp() where m.entity_id = new.id;
  return null;
end $$;

create trigger entities_stamp after update of display_name, external_id on troupe.entities for each row
  when (old.display_name is distinct from new.display_name or old.external_id is distinct from new.external_id)
  execute function troupe.stamp_memberships();
