-- The collection path of a run.
-- Locks: none.
-- Called by: troupe.capture_runs, store/queries/triggers.ts.
create or replace function troupe.run_path(r troupe.runs) returns text language sql stable as $$ select 'runs' $$;
