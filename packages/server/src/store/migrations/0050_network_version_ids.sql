-- breaking: true
-- A version of a network has an id, and the network refers to its current version by that id as well as by number. Each
-- version has a snapshot of its own: `shared` snapshots are those of agents, which are stored once per content.
-- Processes of the previous release infer the constraint that is dropped here when they store a snapshot.
alter table troupe.network_versions
  add column id uuid not null default gen_random_uuid(),
  add column created_at timestamptz not null default now();
update troupe.network_versions set created_at = published_at;
alter table troupe.network_versions add constraint network_versions_id_key unique (id);

alter table troupe.compiled_snapshots add column shared boolean not null default true;
alter table troupe.compiled_snapshots drop constraint compiled_snapshots_project_id_checksum_key;
create unique index compiled_snapshots_content on troupe.compiled_snapshots (project_id, checksum) where shared;
update troupe.compiled_snapshots set shared = false where id in (select snapshot_id from troupe.network_versions);
with later as (
  select id, snapshot_id, gen_random_uuid() as copy from (
    select id, snapshot_id, row_number() over (partition by snapshot_id order by published_at, id) as place
    from troupe.network_versions) v where place > 1),
copies as (
  insert into troupe.compiled_snapshots (id, project_id, checksum, compiled, created_at, code_tools, shared)
  select l.copy, s.project_id, s.checksum, s.compiled, s.created_at, s.code_tools, false
  from later l join troupe.compiled_snapshots s on s.id = l.snapshot_id)
update troupe.network_versions v set snapshot_id = l.copy from later l where l.id = v.id;
alter table troupe.network_versions add constraint network_versions_snapshot_id_key unique (snapshot_id);

alter table troupe.networks add column current_version_id uuid references troupe.network_versions (id);
update troupe.networks n set current_version_id = v.id
  from troupe.network_versions v where v.network_id = n.id and v.version = n.current_version;
alter table troupe.networks add constraint networks_current_version_fkey
  foreign key (id, current_version) references troupe.network_versions (network_id, version);
create index networks_current_version_id on troupe.networks (current_version_id);

-- `default` of a parameter is `defaultValue`. Snapshots keep the name that they were compiled with.
update troupe.tools t set params = (
    select jsonb_agg(case when p ? 'default' then p - 'default' || jsonb_build_object('defaultValue', p->'default')
      else p end order by position) from jsonb_array_elements(t.params) with ordinality x(p, position))
  where jsonb_path_exists(params, '$[*].default');
update troupe.network_tools t set params = (
    select jsonb_agg(case when p ? 'default' then p - 'default' || jsonb_build_object('defaultValue', p->'default')
      else p end order by position) from jsonb_array_elements(t.params) with ordinality x(p, position))
  where jsonb_path_exists(params, '$[*].default');
