-- breaking: false
-- Batches: a network over many inputs, each as often as was asked for.

create table troupe.network_batches (
  id uuid primary key,
  project_id uuid not null,
  -- What it runs, as it was then: the network may be called otherwise by now, or be gone.
  network_id uuid not null,
  network_name text not null,
  network_version int not null,
  snapshot_id uuid not null references troupe.compiled_snapshots,
  agent text not null,
  wall_ms bigint not null,
  name text,
  iterations int not null check (iterations > 0),
  concurrency int not null check (concurrency > 0),
  -- What the system gives to the tools of every row, encrypted.
  sealed jsonb,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  canceled_at timestamptz
);
create index network_batches_newest on troupe.network_batches (project_id, network_id, id desc);

create table troupe.network_batch_rows (
  batch_id uuid not null references troupe.network_batches on delete cascade,
  row_number int not null check (row_number > 0),
  input jsonb,
  metadata jsonb not null default '{}',
  -- Why it cannot be run.
  error jsonb,
  primary key (batch_id, row_number),
  check ((input is null) = (error is not null))
);

-- What the system gives to the tools of some rows beside what the batch has, encrypted: { row: { name: value } }.
create table troupe.network_batch_sealed (
  batch_id uuid not null references troupe.network_batches on delete cascade,
  row_group int not null,
  sealed jsonb not null,
  primary key (batch_id, row_group)
);

-- One for each row and iteration, and one for each row that cannot be run. How a batch is doing is counted from these and kept nowhere else.
create table troupe.network_batch_items (
  batch_id uuid not null,
  row_number int not null,
  iteration int not null check (iteration > 0),
  attempt int not null default 1,
  -- pending: not in the queue yet.
  status text not null default 'pending' check (status in ('pending', 'queued', 'running', 'completed', 'failed', 'canceled', 'bad')),
  run_id uuid unique,
  -- The batch was canceled while its run was under way, and that has yet to be canceled.
  canceling boolean not null default false,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost bigint not null default 0,
  started_at timestamptz,
  ended_at timestamptz,
  primary key (batch_id, row_number, iteration),
  foreign key (batch_id, row_number) references troupe.network_batch_rows on delete cascade,
  check (status in ('queued', 'running', 'completed', 'failed') = (run_id is not null) or status = 'canceled')
);
create index network_batch_items_open on troupe.network_batch_items (batch_id, row_number, iteration)
  where status in ('pending', 'queued', 'running');

-- What becomes of a run is told to its item by the statement that changes the run, whichever that is: nothing can be lost between them.
-- Items are locked after runs and by nobody who then locks a run.
create function troupe.tell_batch() returns trigger language plpgsql as $$
begin
  update troupe.network_batch_items i set
    status = case when new.status in ('waiting_tool', 'waiting_reply') then 'running' else new.status::text end,
    input_tokens = new.input_tokens, output_tokens = new.output_tokens, cost = new.cost,
    canceling = i.canceling and new.status not in ('completed', 'failed', 'canceled'),
    started_at = coalesce(new.started_at, i.started_at),
    ended_at = case when new.status in ('completed', 'failed', 'canceled') then now() end
  where i.run_id = new.id;
  return null;
end $$;
create trigger runs_tell_batch after update of status on troupe.runs for each row
  when (new.lane like 'batch:%' and new.status is distinct from old.status) execute function troupe.tell_batch();
