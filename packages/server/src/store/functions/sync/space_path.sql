-- The collection path of a space.
-- Locks: none.
-- Called by: troupe.capture_spaces, store/queries/triggers.ts.
create or replace function troupe.space_path(s troupe.spaces) returns text language sql stable as $$ select 'spaces' $$;
