-- breaking: false
-- Servers that speak the Model Context Protocol, and the tools of the project that are tools of theirs.

create table troupe.mcp_servers (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 200),
  transport text not null check (transport in ('http', 'stdio')),
  -- With {{secrets.NAME}} in their texts, never with what these stand for.
  url text,
  headers jsonb not null default '{}',
  command text,
  args jsonb not null default '[]',
  env jsonb not null default '{}',
  -- Names of tools; null: all.
  allow jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((transport = 'http') = (url is not null)),
  check ((transport = 'stdio') = (command is not null)),
  -- For tools, whose server is one of the same project.
  unique (project_id, id)
);
create unique index mcp_servers_name on troupe.mcp_servers (project_id, troupe.folded(name));
create index mcp_servers_newest on troupe.mcp_servers (project_id, id desc);

-- What the configuration says, where the database can see to it that the server is there.
alter table troupe.tools add column mcp_server_id uuid generated always as ((config -> 'mcp' ->> 'server')::uuid) stored;
alter table troupe.tools add constraint tools_mcp check (kind <> 'mcp' or mcp_server_id is not null);
alter table troupe.tools add constraint tools_mcp_server foreign key (project_id, mcp_server_id)
  references troupe.mcp_servers (project_id, id);
create index tools_mcp_server on troupe.tools (mcp_server_id) where mcp_server_id is not null;
