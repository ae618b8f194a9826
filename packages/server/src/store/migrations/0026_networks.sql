-- breaking: false
-- Networks: agents, tools and the routes allowed between them, edited as rows, published as versions that never change.

-- Who gives which parameter of a tool: [{ name, source: agent|system|default, required, default?, schema }]. Null: the agent gives all.
alter table troupe.tools add column params jsonb;
alter table troupe.tools drop constraint tools_kind_check;
alter table troupe.tools add constraint tools_kind_check check (kind in ('http', 'client', 'ui', 'static', 'echo', 'mcp', 'code', 'network', 'agent'));

create table troupe.networks (
  id uuid primary key,
  project_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  description text,
  status text not null default 'draft' check (status in ('draft', 'published', 'archived')),
  -- What runs without a version run with.
  current_version int,
  policy jsonb not null,
  response jsonb not null,
  log_policy jsonb not null,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (status <> 'published' or current_version is not null)
);
create unique index networks_name on troupe.networks (project_id, troupe.folded(name));
create index networks_newest on troupe.networks (project_id, id desc);

-- A tool of the project in a network, with what is other there.
create table troupe.network_tools (
  network_id uuid not null references troupe.networks on delete cascade,
  tool_id uuid not null references troupe.tools,
  position int not null,
  description text,
  params jsonb,
  primary key (network_id, tool_id)
);
create index network_tools_tool on troupe.network_tools (tool_id);

create table troupe.network_agents (
  id uuid primary key,
  network_id uuid not null references troupe.networks on delete cascade,
  position int not null,
  key text not null check (key ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$'),
  agent_id uuid references troupe.agents,
  display_name text,
  description text not null default '',
  prompt text not null default '',
  model_id uuid references troupe.llm_models,
  allow_respond boolean not null default false,
  is_default boolean not null default false,
  metadata jsonb not null default '{}',
  unique (network_id, id)
);
create unique index network_agents_key on troupe.network_agents (network_id, lower(key));
create unique index network_agents_default on troupe.network_agents (network_id) where is_default;
create index network_agents_agent on troupe.network_agents (agent_id) where agent_id is not null;

create table troupe.network_agent_tools (
  network_id uuid not null,
  network_agent_id uuid not null,
  tool_id uuid not null,
  position int not null,
  primary key (network_agent_id, tool_id),
  foreign key (network_id, network_agent_id) references troupe.network_agents (network_id, id) on delete cascade,
  -- What an agent may call is not taken out of the network.
  foreign key (network_id, tool_id) references troupe.network_tools (network_id, tool_id)
);
create index network_agent_tools_tool on troupe.network_agent_tools (network_id, tool_id);

create table troupe.network_routes (
  network_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  position int not null,
  primary key (from_id, to_id),
  check (from_id <> to_id),
  foreign key (network_id, from_id) references troupe.network_agents (network_id, id) on delete cascade,
  -- An agent to which a route leads stays.
  foreign key (network_id, to_id) references troupe.network_agents (network_id, id)
);
create index network_routes_to on troupe.network_routes (network_id, to_id);

create table troupe.network_versions (
  network_id uuid not null references troupe.networks on delete cascade,
  version int not null check (version > 0),
  snapshot_id uuid not null references troupe.compiled_snapshots,
  definition jsonb not null,
  created_by text not null,
  published_by text not null,
  published_at timestamptz not null default now(),
  notes text,
  primary key (network_id, version)
);

alter table troupe.runs
  add column network_id uuid,
  add column network_version int,
  -- What the system gives to tools, encrypted.
  add column sealed jsonb;
create index runs_network on troupe.runs (network_id, id desc) where network_id is not null;
-- Few runs have it: for whoever changes the key that it is encrypted with.
create index runs_sealed on troupe.runs (id) where sealed is not null;

-- start_many for runs of networks: what they run and what was sealed for them is there before anybody can take them.
create function troupe.start_networks(items jsonb) returns jsonb language plpgsql as $$
declare
  verdicts jsonb := troupe.start_many(items);
begin
  update troupe.runs r
    set network_id = (x.run->'network'->>'id')::uuid, network_version = (x.run->'network'->>'version')::int,
      sealed = nullif(x.run->'network'->'sealed', 'null')
    from (select v->'run' as run from jsonb_array_elements(items) v where v->'run' ? 'network') x
    where r.id = (x.run->>'id')::uuid and r.network_id is null;
  return verdicts;
end $$;
