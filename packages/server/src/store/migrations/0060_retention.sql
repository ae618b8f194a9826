-- breaking: false
-- How long data is kept. Without an agent: the rules of the project.
create table troupe.retention_rules (
  project_id uuid not null references troupe.projects (id) on delete cascade,
  agent_id uuid references troupe.agents (id) on delete cascade, rules jsonb not null,
  updated_at timestamptz not null default now(), unique nulls not distinct (project_id, agent_id)
);
-- How far a purge has come in the order of time. A changed rule has another key and begins again.
create table troupe.retention_progress (
  project_id uuid not null references troupe.projects (id) on delete cascade, key text not null,
  upto timestamptz not null, primary key (project_id, key)
);
-- The usage of deleted runs and steps by hour, so that totals stay as they were.
create table troupe.usage_purged (
  project_id uuid not null references troupe.projects (id) on delete cascade, at timestamptz not null, agent_id uuid,
  network_id uuid, model text, started bigint not null, completed bigint not null, failed bigint not null,
  canceled bigint not null, input_tokens bigint not null, output_tokens bigint not null, cost bigint not null,
  unique nulls not distinct (project_id, at, agent_id, network_id, model)
);
-- Threads that nothing leads to any more; their messages, events and files are deleted in batches.
create table troupe.deleted_threads (thread_id uuid primary key);
alter table troupe.sessions add column expires_at timestamptz;
create index sessions_expiry on troupe.sessions (expires_at) where expires_at is not null;
create index sessions_age on troupe.sessions (agent_id, created_at);
create index files_age on troupe.files (updated_at);
