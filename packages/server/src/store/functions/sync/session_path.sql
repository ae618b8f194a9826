-- The collection path of a session.
-- Locks: none.
-- Called by: troupe.capture_sessions, store/queries/triggers.ts.
create or replace function troupe.session_path(s troupe.sessions) returns text
  language sql stable as $$ select 'sessions' $$;
