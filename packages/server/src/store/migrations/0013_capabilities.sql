-- breaking: false
-- What agents can do: tools that people define, files, to-do lists, memories and goals.

-- Which private addresses the project's tools may reach: { "allow": ["10.0.0.5", "intranet.example:8080", "10.1.0.0/16"] }.
alter table troupe.projects add column outgoing jsonb not null default '{"allow": []}';

create table troupe.tools (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  -- As the model calls it.
  name text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_-]{0,63}$'),
  display_name text,
  description text not null default '',
  kind text not null check (kind in ('http', 'client', 'ui', 'static')),
  input_schema jsonb not null,
  effect troupe.tool_effect not null default 'once',
  approval boolean not null default false,
  visible boolean not null default false,
  -- What its kind needs, and the rest: timeouts, display, metadata.
  config jsonb not null default '{}',
  -- Goes up with every change, so that what was compiled from the tool is known to be old.
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index tools_name on troupe.tools (project_id, lower(name));
create index tools_newest on troupe.tools (project_id, id desc);

create table troupe.agent_tools (
  agent_id uuid not null references troupe.agents on delete cascade,
  tool_id uuid not null references troupe.tools,
  position int not null check (position >= 0),
  primary key (agent_id, tool_id),
  unique (agent_id, position) deferrable initially deferred
);
create index agent_tools_tool on troupe.agent_tools (tool_id);

-- What waits for somebody, for the inbox. Small: most calls wait for nobody.
create index tool_calls_waiting on troupe.tool_calls (run_id) where waits_for is not null;

-- Files belong to a thread: two sessions never see each other's. No foreign keys, as on the logs: who deletes a thread deletes them.
create table troupe.files (
  thread_id uuid not null,
  path text not null check (path like '/%' and length(path) between 2 and 1000),
  content bytea not null,
  type text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (thread_id, path)
);
alter table troupe.files alter column content set storage external;

-- How much a thread keeps. Locked by whoever writes a file of it, so that the limits are exact.
create table troupe.file_totals (
  thread_id uuid primary key,
  files int not null default 0 check (files >= 0),
  bytes bigint not null default 0 check (bytes >= 0)
);

create table troupe.todo_lists (
  thread_id uuid primary key,
  items jsonb not null,
  updated_at timestamptz not null default now()
);

create table troupe.memories (
  project_id uuid not null references troupe.projects,
  entity_id uuid not null references troupe.entities,
  key text not null check (length(key) between 1 and 200),
  value text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, key)
);

create table troupe.goals (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  entity_id uuid not null references troupe.entities,
  description text not null check (length(description) between 1 and 10000),
  status text not null default 'active' check (status in ('active', 'completed', 'abandoned')),
  -- 1 is most important.
  priority int not null default 3 check (priority between 1 and 5),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index goals_entity on troupe.goals (entity_id, priority, id);
