-- breaking: false
-- Agents as people edit them, their versions, and the models they use.

create table troupe.llm_providers (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  kind text not null check (kind in ('openai', 'anthropic', 'openai_compatible', 'demo')),
  name text not null check (length(name) between 1 and 200),
  base_url text,
  -- Null: no key, or one from the environment.
  key_envelope jsonb,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index llm_providers_name on troupe.llm_providers (project_id, lower(name));

-- Prices in currency units per million tokens.
create table troupe.llm_models (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  provider_id uuid not null references troupe.llm_providers,
  model_id text not null check (length(model_id) between 1 and 200),
  display_name text not null,
  input_price double precision not null default 0 check (input_price >= 0),
  output_price double precision not null default 0 check (output_price >= 0),
  context_tokens int check (context_tokens > 0),
  max_output_tokens int not null default 4096 check (max_output_tokens > 0),
  is_default boolean not null default false,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (provider_id, model_id)
);
create unique index llm_models_default on troupe.llm_models (project_id) where is_default;
alter table troupe.projects add foreign key (default_model_id) references troupe.llm_models;

alter table troupe.agents
  add column description text,
  add column system_prompt text not null default '',
  add column default_model_id uuid references troupe.llm_models,
  add column tags text[] not null default '{}',
  -- The rest of the definition: fallbackModelIds, limits, inDoubt, metadata.
  add column config jsonb not null default '{}',
  add column version int not null default 0;
create index agents_newest on troupe.agents (project_id, id desc);
create index agents_tags on troupe.agents using gin (tags);

create table troupe.agent_capabilities (
  id uuid primary key,
  agent_id uuid not null references troupe.agents on delete cascade,
  capability_id text not null check (length(capability_id) between 1 and 50),
  position int not null check (position >= 0),
  config jsonb not null default '{}',
  created_at timestamptz not null default now(),
  unique (agent_id, capability_id),
  unique (agent_id, position) deferrable initially deferred
);

-- Never changed once written: a run is pinned to the snapshot of its version.
create table troupe.agent_versions (
  agent_id uuid not null references troupe.agents,
  version int not null check (version > 0),
  snapshot_id uuid not null references troupe.compiled_snapshots,
  definition jsonb not null,
  notes text,
  created_at timestamptz not null default now(),
  primary key (agent_id, version)
);
