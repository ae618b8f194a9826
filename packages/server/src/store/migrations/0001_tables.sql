-- breaking: true
-- The tables that the kernel stands on. Rows are the checkpoint and the queue: there is no other state.

-- Enums rather than checks where rows are written often: a check is parsed anew by every statement that writes the table.
create type troupe.thread_kind as enum ('session', 'space', 'sub_agent', 'run');
create type troupe.message_role as enum ('user', 'assistant', 'tool_call', 'tool_result', 'system');
create type troupe.run_status as enum ('queued', 'running', 'waiting_tool', 'waiting_reply', 'completed', 'failed', 'canceled');
create type troupe.cancel_reason as enum ('user', 'absorbed', 'timeout', 'budget', 'superseded');
create type troupe.call_status as enum ('requested', 'running', 'completed', 'failed', 'canceled', 'expired', 'in_doubt');
create type troupe.tool_effect as enum ('pure', 'idempotent', 'once');
create type troupe.waits_for as enum ('client', 'approval', 'person', 'task');

create table troupe.projects (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index projects_name on troupe.projects (lower(name));

create table troupe.agents (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'archived')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index agents_name on troupe.agents (project_id, lower(name));

create table troupe.entities (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  type text not null check (type in ('human', 'agent')),
  external_id text,
  display_name text,
  agent_id uuid unique references troupe.agents,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((type = 'agent') = (agent_id is not null))
);
create unique index entities_external on troupe.entities (project_id, external_id) where external_id is not null;

create table troupe.compiled_snapshots (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  checksum text not null check (checksum ~ '^[0-9a-f]{64}$'),
  compiled jsonb not null,
  created_at timestamptz not null default now(),
  unique (project_id, checksum)
);

-- fillfactor: these rows are updated by every commit; room on the page keeps the updates heap-only (no index writes).
create table troupe.threads (
  id uuid primary key,
  project_id uuid not null,
  kind troupe.thread_kind not null,
  last_message_seq bigint not null default 0,
  last_event_seq bigint not null default 0,
  -- The one run that may work here, where runs of the thread go one after the other.
  active_run_id uuid,
  created_at timestamptz not null default now()
) with (fillfactor = 60);

-- The log tables (messages, events, run_steps, tool_calls) carry no foreign keys: 57 checks per five-tool run were measured
-- at a fifth of its cost. Only the functions of 0002 to 0004 write them, and those hold the lock of the parent row.
create table troupe.messages (
  thread_id uuid not null,
  seq bigint not null,
  id uuid not null,
  role troupe.message_role not null,
  content jsonb not null,
  tool_call_id text,
  sender_id uuid,
  run_id uuid,
  step int,
  metadata jsonb,
  created_at timestamptz not null default now(),
  primary key (thread_id, seq)
);
create unique index messages_id on troupe.messages (id);

create table troupe.events (
  thread_id uuid not null,
  seq bigint not null,
  type text not null,
  data jsonb,
  -- The message that it tells of, where it tells of one.
  message_seq bigint,
  run_id uuid,
  step int,
  created_at timestamptz not null default now(),
  primary key (thread_id, seq)
);

-- No foreign keys here either: each would lock the row of the project, the agent, the entity and the snapshot, which all runs
-- share, once per run (a tenth of the cost of a five-tool run, and a queue of lockers on one row). Starting a run looks them up,
-- in the project; deleting one of them is refused while runs name it (keep_used below).
create table troupe.runs (
  id uuid primary key,
  project_id uuid not null,
  door text not null,
  agent_id uuid,
  entity_id uuid,
  snapshot_id uuid not null,
  thread_id uuid not null,
  parent_run_id uuid,
  root_run_id uuid not null,
  trigger_type text not null,
  trigger_message_id uuid,
  trigger_seq bigint,
  trigger jsonb not null default '{}',
  chain_depth int not null default 0,

  status troupe.run_status not null default 'queued',
  -- A serial run works alone in its thread: it is not ready until its predecessor has ended.
  serial boolean not null default false,
  ready boolean not null default true,
  -- Where set, at most lane_limit runs of the lane are running at once.
  lane text,
  lane_limit int,
  run_at timestamptz not null default now(),

  -- While a worker holds the run, step and usage are in run_heads; here they are as of the last time it changed hands.
  step int not null default 0,
  epoch int not null default 0,
  worker_id uuid,
  attempt int not null default 0,
  model_index int not null default 0,
  takeovers int not null default 0,
  open_calls int not null default 0,
  steers int not null default 0,
  history_limit int not null default 50,

  wait_state jsonb,
  wait_deadline timestamptz,
  wall_ms bigint not null,
  deadline_at timestamptz,

  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost bigint not null default 0,
  budget_ids uuid[],

  outcome jsonb,
  error jsonb,
  cancel_reason troupe.cancel_reason,
  absorbed_by uuid,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  canceled_at timestamptz,
  updated_at timestamptz not null default now()
) with (fillfactor = 60);
-- Who holds it, why it ended, what it waits for: each exactly in the states that have one. A trigger on the columns that say so,
-- not a check: checks are parsed by every update (60 µs of 90, measured), and most updates only count a step.
create function troupe.check_run() returns trigger language plpgsql as $$
begin
  if not (case new.status
    when 'running' then new.worker_id is not null and new.wait_deadline is null and new.completed_at is null and new.cancel_reason is null
    when 'completed' then new.worker_id is null and new.completed_at is not null and new.cancel_reason is null and new.open_calls = 0
    when 'failed' then new.worker_id is null and new.completed_at is not null and new.error is not null and new.open_calls = 0
    when 'canceled' then new.worker_id is null and new.cancel_reason is not null and new.completed_at is null and new.open_calls = 0
    when 'queued' then new.worker_id is null and new.wait_deadline is null and new.completed_at is null
    else new.worker_id is null and new.wait_deadline is not null end)
    or (new.lane is null) <> (new.lane_limit is null) or new.open_calls < 0
  then
    raise exception 'run % cannot be % like this', new.id, new.status using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger runs_check before insert or update of status, worker_id, wait_deadline, completed_at, cancel_reason, error, open_calls
  on troupe.runs for each row execute function troupe.check_run();
create index runs_queued on troupe.runs (run_at) where status = 'queued' and ready and lane is null;
create index runs_lane on troupe.runs (lane, run_at) where status in ('queued', 'running') and lane is not null;
create index runs_held on troupe.runs (worker_id) where status = 'running';
create index runs_waiting on troupe.runs (wait_deadline) where status in ('waiting_tool', 'waiting_reply');
create index runs_blocked on troupe.runs (thread_id, trigger_seq) where status = 'queued' and not ready;
create unique index runs_trigger on troupe.runs (entity_id, trigger_message_id) where trigger_message_id is not null;
create index runs_project on troupe.runs (project_id, id);

-- What runs name stays. The lock lets starts under way come to their end first and makes later ones see what is gone;
-- deleting such a row is rare (agents are archived), starting a run is not.
create function troupe.keep_used() returns trigger language plpgsql as $$
declare
  used boolean;
begin
  lock table troupe.runs in share row exclusive mode;
  execute format('select exists (select from troupe.runs r where r.project_id = $1 and r.%I = $2)', tg_argv[0])
    into used using case when tg_table_name = 'projects' then old.id else (to_jsonb(old)->>'project_id')::uuid end, old.id;
  if used then
    raise exception 'runs still name this row of %', tg_table_name using errcode = 'foreign_key_violation';
  end if;
  return old;
end $$;
create trigger projects_keep before delete on troupe.projects for each row execute function troupe.keep_used('project_id');
create trigger agents_keep before delete on troupe.agents for each row execute function troupe.keep_used('agent_id');
create trigger entities_keep before delete on troupe.entities for each row execute function troupe.keep_used('entity_id');
create trigger compiled_snapshots_keep before delete on troupe.compiled_snapshots for each row execute function troupe.keep_used('snapshot_id');

-- What a run names, as far as it is not there; null where everything is.
create function troupe.missing_for(p_project uuid, p_agent uuid, p_entity uuid, p_snapshot uuid, p_parent uuid) returns text language sql stable as $$
  select case
    when not exists (select from troupe.projects p where p.id = p_project) then 'project'
    when not exists (select from troupe.compiled_snapshots s where s.id = p_snapshot and s.project_id = p_project) then 'snapshot'
    when p_agent is not null and not exists (select from troupe.agents a where a.id = p_agent and a.project_id = p_project) then 'agent'
    when p_entity is not null and not exists (select from troupe.entities e where e.id = p_entity and e.project_id = p_project) then 'entity'
    when p_parent is not null and not exists (select from troupe.runs r where r.id = p_parent and r.project_id = p_project) then 'parent run'
  end
$$;

-- The row that every commit of a worker writes: the fence (epoch, worker_id, version) and how far the run has come.
-- Apart from runs because it is narrow and has one index: 17 µs an update, where the row of runs takes 50 to 200.
-- worker_id is null while nobody holds the run. Locked after runs, before tool_calls and threads.
create table troupe.run_heads (
  run_id uuid primary key,
  worker_id uuid,
  epoch int not null,
  version int not null,
  step int not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost bigint not null
) with (fillfactor = 50);

create table troupe.run_steps (
  run_id uuid not null,
  step int not null,
  agent_key text,
  provider text not null,
  model text not null,
  worker_id uuid not null,
  epoch int not null,
  attempt int not null,
  started_at timestamptz not null,
  first_token_at timestamptz,
  finished_at timestamptz not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost bigint not null,
  finish_reason text not null,
  decision jsonb,
  -- Whether a budget is spent by it; a takeover looks these up by worker.
  budgeted boolean not null default false,
  primary key (run_id, step)
);
create index run_steps_budgeted on troupe.run_steps (worker_id) where budgeted;

create table troupe.tool_calls (
  run_id uuid not null,
  call_id text not null,
  step int not null,
  position int not null,
  tool text not null,
  args jsonb not null,
  effect troupe.tool_effect not null,
  status troupe.call_status not null,
  -- Who must settle it from outside; null where a worker executes it.
  waits_for troupe.waits_for,
  output jsonb,
  error jsonb,
  attempt int not null default 1,
  epoch int not null,
  deadline timestamptz,
  settled_by text,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  primary key (run_id, call_id)
) with (fillfactor = 70);


create table troupe.budgets (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  scope text not null check (scope in ('project', 'agent', 'space', 'session', 'run_tree')),
  scope_id uuid not null,
  unit text not null check (unit in ('tokens', 'cost')),
  amount bigint not null check (amount >= 0),
  spent bigint not null default 0 check (spent >= 0),
  -- Handed to workers and not yet reported as spent.
  leased bigint not null default 0 check (leased >= 0),
  on_exhausted text not null default 'stop' check (on_exhausted in ('stop', 'fallback', 'wait')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (scope, scope_id, unit)
);

-- All three only grow, so that a report or a grant whose answer was lost can be sent again.
create table troupe.budget_leases (
  budget_id uuid not null references troupe.budgets on delete cascade,
  worker_id uuid not null,
  granted bigint not null default 0,
  spent bigint not null default 0 check (spent >= 0),
  returned bigint not null default 0 check (returned >= 0),
  primary key (budget_id, worker_id)
);

-- Unlogged: a heartbeat is worth nothing after a crash of Postgres, and must not cost a disk write.
create unlogged table troupe.workers (
  incarnation uuid primary key,
  host text not null,
  pid int not null,
  beat bigint not null,
  capacity int not null default 0,
  load int not null default 0,
  draining boolean not null default false,
  code_tools text[] not null default '{}',
  started_at timestamptz not null default now()
) with (fillfactor = 50);
