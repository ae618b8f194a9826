-- breaking: false
-- Requests to erase a person, and what was deleted: each batch adds its counts in its own transaction.
create table troupe.erasures (
  entity_id uuid primary key, project_id uuid not null references troupe.projects (id) on delete cascade,
  actor_kind text not null, actor_id text, counts jsonb not null default '{}'::jsonb,
  requested_at timestamptz not null default now(), finished_at timestamptz
);
