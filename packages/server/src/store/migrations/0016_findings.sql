-- breaking: false
-- What research found, by session. No foreign keys, as on the logs: who deletes a thread deletes them.
create table troupe.findings (
  thread_id uuid not null,
  seq bigint generated always as identity,
  project_id uuid not null,
  run_id uuid not null,
  call_id text not null,
  question text not null,
  claim text not null,
  source text not null,
  quote text not null,
  confidence text not null check (confidence in ('low', 'medium', 'high')),
  created_at timestamptz not null default now(),
  primary key (thread_id, seq),
  -- The key of the effect: a call that is carried out again notes nothing new. A copy of the thread has them too.
  unique (thread_id, run_id, call_id)
);
