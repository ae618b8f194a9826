-- breaking: false
-- Who may do what.

alter table troupe.projects
  -- How the tokens of people are checked; null: there are none.
  add column tokens jsonb,
  add column default_model_id uuid;

create table troupe.api_keys (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 200),
  kind text not null check (kind in ('secret', 'public')),
  -- The beginning of the key, for people; the key itself is nowhere.
  prefix text not null,
  hash bytea not null unique check (length(hash) = 32),
  scopes text[] not null default '{}',
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now()
);
create index api_keys_project on troupe.api_keys (project_id, id);

create table troupe.secrets (
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 100),
  envelope jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, name)
);

create table troupe.audit_log (
  id bigint generated always as identity primary key,
  project_id uuid not null references troupe.projects,
  actor_kind text not null check (actor_kind in ('key', 'user', 'dev', 'system')),
  actor_id text,
  action text not null,
  target text,
  data jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index audit_log_project on troupe.audit_log (project_id, id desc);
create function troupe.audit_is_final() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only added to' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_final before update or delete on troupe.audit_log for each row execute function troupe.audit_is_final();
create trigger audit_log_kept before truncate on troupe.audit_log for each statement execute function troupe.audit_is_final();

-- What a POST with an Idempotency-Key was answered. `status` is null while the first request is under way.
create table troupe.idempotency_keys (
  project_id uuid not null references troupe.projects on delete cascade,
  key text not null check (length(key) between 1 and 200),
  -- Of method, path, caller and body: the same key for another request is refused.
  fingerprint bytea not null,
  status int,
  body jsonb,
  created_at timestamptz not null default now(),
  primary key (project_id, key)
);
create index idempotency_keys_age on troupe.idempotency_keys (created_at);
