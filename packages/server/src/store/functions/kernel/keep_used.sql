-- Refuses to delete a row that runs name. The table lock waits for starts in progress, and later starts find the row
-- gone. Deleting such a row is rare (agents are archived); starting a run is not.
-- Locks: table runs (share row exclusive).
-- Called by: trigger.
create or replace function troupe.keep_used() returns trigger language plpgsql as $$
declare
  used boolean;
begin
  lock table troupe.runs in share row exclusive mode;
  execute format('select exists (select from troupe.runs r where r.project_id = $1 and r.%I = $2)', tg_argv[0])
    into used using case when tg_table_name = 'projects' then old.id else (to_jsonb(old)->>'project_id')::uuid end,
    old.id;
  if used then
    raise exception 'runs still name this row of %', tg_table_name using errcode = 'foreign_key_violation';
  end if;
  return old;
end $$;

create trigger projects_keep before delete on troupe.projects for each row
  execute function troupe.keep_used('project_id');

create trigger agents_keep before delete on troupe.agents for each row execute function troupe.keep_used('agent_id');

create trigger entities_keep before delete on troupe.entities for each row
  execute function troupe.keep_used('entity_id');

create trigger compiled_snapshots_keep before delete on troupe.compiled_snapshots for each row
  execute function troupe.keep_used('snapshot_id');
