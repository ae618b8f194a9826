create or replace function troupe.run_path(r troupe.runs) returns text language sql stable as $$ select 'runs' $$;
