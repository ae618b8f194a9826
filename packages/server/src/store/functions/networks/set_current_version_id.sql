-- Sets the id of the current version of a network from its number, so that the two always agree.
-- Locks: none. The statement that it belongs to holds the lock of the network.
-- Called by: trigger.
create or replace function troupe.set_current_version_id() returns trigger language plpgsql as $$
begin
  new.current_version_id := (select v.id from troupe.network_versions v
    where v.network_id = new.id and v.version = new.current_version);
  return new;
end $$;

create trigger networks_current_version before insert or update of current_version on troupe.networks
  for each row execute function troupe.set_current_version_id();
