create or replace function troupe.space_path(s troupe.spaces) returns text language sql stable as $$ select 'spaces' $$;
