-- breaking: false
-- Conversations between a person and one agent. What a session is doing is read from the runs of its thread, so that it can never
-- be said otherwise here.

create table troupe.sessions (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  agent_id uuid not null references troupe.agents,
  -- Who it belongs to.
  entity_id uuid not null references troupe.entities,
  thread_id uuid not null unique,
  title text check (length(title) between 1 and 200),
  tags text[] not null default '{}',
  model_id uuid references troupe.llm_models,
  policy text not null default 'queue' check (policy in ('queue', 'steer', 'interrupt', 'reject')),
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sessions_agent on troupe.sessions (agent_id, id desc);
create index sessions_entity on troupe.sessions (entity_id, id desc);

-- The runs of a thread, the last one first.
create index runs_thread on troupe.runs (thread_id, created_at desc);
