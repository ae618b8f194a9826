-- Derives an id from a key, like `idFrom` in base/ids.ts. A message that a run sends has the id of the run and the call.
-- Locks: none.
-- Called by:
create or replace function troupe.id_from(p_key text) returns uuid language sql immutable strict as $$
  select (overlay(overlay(substr(x.hex, 1, 32) placing '8' from 13) placing 'a' from 17))::uuid
  from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as hex) x
$$;
