create or replace function troupe.session_path(s troupe.sessions) returns text language sql stable as $$
  select 'sessions' $$;
