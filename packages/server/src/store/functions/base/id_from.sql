-- Derives an id from a key, like `idFrom` in base/ids.ts. The key of a message that a run sends is its run and call.
-- Locks: none.
-- Called by: troupe.call_document_id, troupe.tell_unsaid, store/queries/in-spaces.ts, store/queries/task-records.ts.
create or replace function troupe.id_from(p_key text) returns uuid language sql immutable strict as $$
  select (overlay(overlay(substr(x.hex, 1, 32) placing '8' from 13) placing 'a' from 17))::uuid
  from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as hex) x
$$;
