-- The collection path of a membership.
-- Locks: none.
-- Called by: troupe.capture_memberships, store/queries/triggers.ts.
create or replace function troupe.membership_path(m troupe.memberships) returns text
  language sql stable as $$ select 'spaces/' || m.space_id || '/memberships' $$;
