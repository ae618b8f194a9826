-- breaking: true
-- All types, tables, constraints and indexes. Functions and triggers are source files in store/functions.
--
-- Rows are the checkpoint and the queue; there is no other state. Tables that every run writes (runs, messages, events,
-- tool_calls, run_steps) have enums instead of checks, because every statement that writes a table parses its checks
-- again, and no foreign keys, because 57 key checks cost a fifth of a run with five tools.

create type troupe.thread_kind as enum ('session', 'space', 'sub_agent', 'run');
create type troupe.message_role as enum ('user', 'assistant', 'tool_call', 'tool_result', 'system');
create type troupe.run_status as enum ('queued', 'running', 'waiting_tool', 'waiting_reply', 'completed', 'failed',
  'canceled');
create type troupe.cancel_reason as enum ('user', 'absorbed', 'timeout', 'budget', 'superseded', 'parent');
create type troupe.call_status as enum ('requested', 'running', 'completed', 'failed', 'canceled', 'expired',
  'in_doubt');
create type troupe.tool_effect as enum ('pure', 'idempotent', 'once');
create type troupe.waits_for as enum ('client', 'approval', 'person', 'task', 'reply', 'answer');
-- The collection, person and chat that a thread belongs to. The messages of a thread without a collection (the thread
-- of a run in a space) are not synchronised.
create type troupe.place as (collection text, project_id uuid, user_id uuid, chat_id uuid, sub_agent_id uuid);

-- ---- Projects and access

-- The tenant. Every other row belongs to exactly one project.
create table troupe.projects (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- How the tokens of people are verified. Null: tokens are rejected.
  tokens jsonb,
  default_model_id uuid,
  -- Provider kinds that an environment key has already created rows for. Rows that a person deletes stay deleted.
  environment_kinds text[] not null default '{}',
  -- Private addresses that tools may reach: { "allow": ["10.0.0.5", "intranet.example:8080", "10.1.0.0/16"] }.
  outgoing jsonb not null default '{"allow": []}',
  -- The built-in agents were created. Agents that a person archives or renames stay that way.
  agents_brought boolean not null default false
);
create unique index projects_name on troupe.projects (troupe.folded(name));

-- The key itself is not stored; `prefix` is its first characters, for people.
create table troupe.api_keys (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 200),
  kind text not null check (kind in ('secret', 'public')),
  prefix text not null,
  hash bytea not null unique check (length(hash) = 32),
  scopes text[] not null default '{}',
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now()
);
create index api_keys_project on troupe.api_keys (project_id, id);  -- list of keys

-- Encrypted values that tools and servers name as {{secrets.NAME}}.
create table troupe.secrets (
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 100),
  envelope jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, name)
);

-- Append-only: a trigger rejects updates, deletes and truncation.
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
create index audit_log_project on troupe.audit_log (project_id, id desc);  -- newest entries of a project

-- The response to a POST with an Idempotency-Key. `status` is null while the first request is in progress.
create table troupe.idempotency_keys (
  project_id uuid not null references troupe.projects on delete cascade,
  key text not null check (length(key) between 1 and 200),
  -- Hash of method, path, caller and body. The same key with another fingerprint is rejected.
  fingerprint bytea not null,
  status int,
  body jsonb,
  created_at timestamptz not null default now(),
  primary key (project_id, key)
);
create index idempotency_keys_age on troupe.idempotency_keys (created_at);  -- purge of expired keys

-- ---- Providers, models and tools

create table troupe.llm_providers (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  kind text not null check (kind in ('openai', 'anthropic', 'openai_compatible', 'demo')),
  name text not null check (length(name) between 1 and 200),
  base_url text,
  -- Null: no key, or the key of the environment.
  key_envelope jsonb,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index llm_providers_name on troupe.llm_providers (project_id, troupe.folded(name));

-- Prices are in currency units per million tokens.
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

-- Model Context Protocol servers. Texts hold {{secrets.NAME}} placeholders, never the secret.
create table troupe.mcp_servers (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 200),
  transport text not null check (transport in ('http', 'stdio')),
  url text,
  headers jsonb not null default '{}',
  command text,
  args jsonb not null default '[]',
  env jsonb not null default '{}',
  -- Names of the allowed tools. Null: all.
  allow jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((transport = 'http') = (url is not null)),
  check ((transport = 'stdio') = (command is not null)),
  -- Target of the foreign key of tools: a tool and its server are in the same project.
  unique (project_id, id)
);
create unique index mcp_servers_name on troupe.mcp_servers (project_id, troupe.folded(name));
create index mcp_servers_newest on troupe.mcp_servers (project_id, id desc);  -- list of servers

-- Tools that people define. `version` rises with every change, so that a snapshot compiled from the tool is known to
-- be stale.
create table troupe.tools (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  -- The name that the model calls.
  name text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_-]{0,63}$'),
  display_name text,
  description text not null default '',
  kind text not null check (kind in ('http', 'client', 'ui', 'static', 'echo', 'mcp', 'code', 'network', 'agent')),
  input_schema jsonb not null,
  effect troupe.tool_effect not null default 'once',
  approval boolean not null default false,
  visible boolean not null default false,
  -- Settings of the kind, timeouts, display and metadata.
  config jsonb not null default '{}',
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The source of each parameter: [{ name, source: agent|system|default, required, default?, schema }].
  -- Null: the agent gives all of them.
  params jsonb,
  -- Derived from `config`, so that the database can enforce that the server exists.
  mcp_server_id uuid generated always as ((config -> 'mcp' ->> 'server')::uuid) stored,
  constraint tools_mcp check (kind <> 'mcp' or mcp_server_id is not null),
  constraint tools_mcp_server foreign key (project_id, mcp_server_id) references troupe.mcp_servers (project_id, id)
);
create unique index tools_name on troupe.tools (project_id, lower(name));
create index tools_newest on troupe.tools (project_id, id desc);  -- list of tools
create index tools_mcp_server on troupe.tools (mcp_server_id) where mcp_server_id is not null;  -- tools of a server

-- Combinations of code tools that snapshots need, and when a worker last had all of them. A run that no worker can
-- claim expires after its wall time, counted from `seen_at` at the earliest.
create table troupe.code_tools (
  names text[] not null primary key,
  seen_at timestamptz not null default now()
);

-- ---- Agents and people

-- The editable definition. `config` holds fallbackModelIds, limits, inDoubt and metadata.
create table troupe.agents (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'archived')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  description text,
  system_prompt text not null default '',
  default_model_id uuid references troupe.llm_models,
  tags text[] not null default '{}',
  config jsonb not null default '{}',
  version int not null default 0
);
create unique index agents_name on troupe.agents (project_id, troupe.folded(name));
create index agents_newest on troupe.agents (project_id, id desc);  -- list of agents
create index agents_tags on troupe.agents using gin (tags);  -- list filtered by tag

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

create table troupe.agent_tools (
  agent_id uuid not null references troupe.agents on delete cascade,
  tool_id uuid not null references troupe.tools,
  position int not null check (position >= 0),
  primary key (agent_id, tool_id),
  unique (agent_id, position) deferrable initially deferred
);
create index agent_tools_tool on troupe.agent_tools (tool_id);  -- agents that use a tool

-- Compiled agents and networks: immutable, and the only thing that the kernel executes.
create table troupe.compiled_snapshots (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  checksum text not null check (checksum ~ '^[0-9a-f]{64}$'),
  compiled jsonb not null,
  created_at timestamptz not null default now(),
  -- Code tools that a worker must have to execute it. Null: none, which is the common case.
  code_tools text[],
  unique (project_id, checksum)
);

-- Immutable: a run is pinned to the snapshot of its version.
create table troupe.agent_versions (
  agent_id uuid not null references troupe.agents,
  version int not null check (version > 0),
  snapshot_id uuid not null references troupe.compiled_snapshots,
  definition jsonb not null,
  notes text,
  created_at timestamptz not null default now(),
  primary key (agent_id, version)
);

-- Everyone who can speak: a human or an agent. Each agent has exactly one entity.
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

-- Programs of people that can execute tools.
create table troupe.clients (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  entity_id uuid not null references troupe.entities on delete cascade,
  client_key text not null check (length(client_key) between 1 and 200),
  client_type text,
  display_name text,
  capabilities jsonb not null default '{}',
  last_seen_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (project_id, client_key)
);
create index clients_entity on troupe.clients (entity_id, id desc);  -- clients of a person

-- ---- Conversation

-- Every commit updates a thread. The fill factor leaves room on the page, so that updates are heap-only and write no
-- index. Both counters are advanced under the row lock: sequence numbers have no gaps and no ties.
create table troupe.threads (
  id uuid primary key,
  project_id uuid not null,
  kind troupe.thread_kind not null,
  last_message_seq bigint not null default 0,
  last_event_seq bigint not null default 0,
  -- The one run that may work in a serial thread.
  active_run_id uuid,
  created_at timestamptz not null default now(),
  -- The run that failed last, until another run starts. Never set together with active_run_id.
  failed_run_id uuid
) with (fillfactor = 60);

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
  -- The transaction that wrote the row last; see tombstones. A default costs less than a trigger on insert.
  xid bigint not null default pg_current_xact_id()::text::bigint,
  primary key (thread_id, seq)
);
create unique index messages_id on troupe.messages (id);
-- Sync: rows after a checkpoint. Rows are appended with rising xids, so a summary per page range costs little.
create index messages_xid on troupe.messages using brin (xid) with (pages_per_range = 16, autosummarize = on);

create table troupe.events (
  thread_id uuid not null,
  seq bigint not null,
  type text not null,
  data jsonb,
  -- The message that the event announces, if any.
  message_seq bigint,
  run_id uuid,
  step int,
  created_at timestamptz not null default now(),
  primary key (thread_id, seq)
);

-- ---- Runs

-- The row is the queue entry. It names project, agent, entity and snapshot without foreign keys: each key would lock a
-- row that all runs share, once per run. The start checks that they exist, and keep_used refuses to delete them.
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
  -- A serial run works alone in its thread. It is not ready until its predecessor has ended.
  serial boolean not null default false,
  ready boolean not null default true,
  -- At most lane_limit runs of a lane are running at once.
  lane text,
  lane_limit int,
  run_at timestamptz not null default now(),
  -- While a worker holds the run, run_heads has the current step and usage. These are as of the last change of owner.
  step int not null default 0,
  epoch int not null default 0,
  worker_id uuid,
  attempt int not null default 0,
  model_index int not null default 0,
  -- Consecutive takeovers without a completed step.
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
  updated_at timestamptz not null default now(),
  takeovers_in_all int not null default 0,
  -- The person whose memories a fork writes. Kept here because the source session may be deleted while the fork runs.
  owner_id uuid,
  -- The space of the triggering message. Null for a plan or a service.
  space_id uuid,
  -- The space that the run speaks in. Membership is checked when it speaks.
  active_space_id uuid,
  -- The human message that began the chain of runs. Null if the chain began without one.
  origin_id uuid,
  network_id uuid,
  network_version int,
  -- Encrypted system parameters for tools.
  sealed jsonb,
  -- The call of parent_run_id that waits for this run, if any.
  parent_call_id text,
  -- A retry of a failed or canceled run is another life, with a span of its own.
  lives int not null default 1,
  code_tools text[],
  -- The task that the run works on.
  task_id uuid,
  xid bigint not null default pg_current_xact_id()::text::bigint
) with (fillfactor = 60);
-- Claim. Runs that need code tools or a lane have indexes of their own, so that they do not slow down the others.
create index runs_queued on troupe.runs (run_at)
  where status = 'queued' and ready and lane is null and code_tools is null;
create index runs_queued_code on troupe.runs (code_tools, run_at)
  where status = 'queued' and ready and lane is null and code_tools is not null;
create index runs_lane on troupe.runs (lane, run_at) where status in ('queued', 'running') and lane is not null;
create index runs_lane_waiting on troupe.runs (lane) where lane is not null and status = 'waiting_tool';
create index runs_held on troupe.runs (worker_id) where status = 'running';  -- takeover of a worker's runs
create index runs_waiting on troupe.runs (wait_deadline)
  where status in ('waiting_tool', 'waiting_reply');  -- sweep of expired waits
create index runs_blocked on troupe.runs (thread_id, trigger_seq)
  where status = 'queued' and not ready;  -- next run of a serial thread
-- One message starts one run per entity.
create unique index runs_trigger on troupe.runs (entity_id, trigger_message_id) where trigger_message_id is not null;
create index runs_thread on troupe.runs (thread_id, created_at desc);  -- runs of a thread, newest first
create index runs_project on troupe.runs (project_id, id);  -- list of runs
-- Usage sums and lists of ended runs, read from the index alone. Written once per run, when it ends.
create index runs_ended on troupe.runs (project_id, status, (coalesce(completed_at, canceled_at)))
  include (id, agent_id, network_id, created_at, completed_at, canceled_at, input_tokens, output_tokens, cost)
  where status in ('completed', 'failed', 'canceled');
create index runs_xid on troupe.runs (xid);  -- sync
-- A call has one child run; descendants and tasks of a root.
create unique index runs_children on troupe.runs (parent_run_id, parent_call_id) where parent_call_id is not null;
create index runs_of_root on troupe.runs (root_run_id) where parent_call_id is not null;
create index runs_tasks_of_root on troupe.runs (root_run_id) where task_id is not null and parent_call_id is null;
create index runs_task on troupe.runs (task_id, id) where task_id is not null;  -- runs of a task
create index runs_network on troupe.runs (network_id, id desc) where network_id is not null;  -- runs of a network
create index runs_sealed on troupe.runs (id) where sealed is not null;  -- re-encryption
-- Spaces: runs of a space, its live runs, runs that speak in it, the runs of an agent, the length of a chain.
create index runs_space on troupe.runs (space_id, id) where space_id is not null;
create index runs_space_live on troupe.runs (space_id)
  where space_id is not null and status in ('queued', 'running', 'waiting_tool', 'waiting_reply');
create index runs_active_space on troupe.runs (active_space_id)
  where active_space_id is not null and status in ('queued', 'running', 'waiting_tool', 'waiting_reply');
create index runs_of_agent on troupe.runs (entity_id, id desc) where door = 'space';
create index runs_origin on troupe.runs (origin_id) where origin_id is not null and chain_depth > 0;

-- The row that every commit of a worker writes: the fence (epoch, worker_id, version) and the progress of the run.
-- Separate from runs because it is narrow and has one index: 17 µs per update, against 50 to 200 for runs. worker_id is
-- null while no worker holds the run. Locked after runs, before tool_calls and threads.
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
  -- A budget pays for the step.
  budgeted boolean not null default false,
  primary key (run_id, step)
);
create index run_steps_budgeted on troupe.run_steps (worker_id) where budgeted;  -- takeover: unreported spending

-- The ledger of effects. `edited`: a person changed the arguments; the message of the call keeps those of the model.
create table troupe.tool_calls (
  run_id uuid not null,
  call_id text not null,
  step int not null,
  position int not null,
  tool text not null,
  args jsonb not null,
  effect troupe.tool_effect not null,
  status troupe.call_status not null,
  -- Who must settle the call from outside. Null: a worker executes it.
  waits_for troupe.waits_for,
  output jsonb,
  error jsonb,
  attempt int not null default 1,
  epoch int not null,
  deadline timestamptz,
  settled_by text,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  edited boolean not null default false,
  -- The space that shows the call: { spaceId, messageId, when: always|result, input, output, customUI? }.
  shown jsonb,
  xid bigint not null default pg_current_xact_id()::text::bigint,
  primary key (run_id, call_id)
) with (fillfactor = 70);
create index tool_calls_waiting on troupe.tool_calls (run_id) where waits_for is not null;  -- inbox
create index tool_calls_xid on troupe.tool_calls using brin (xid)
  with (pages_per_range = 16, autosummarize = on);  -- sync

-- Work between two runs or a task and its giver that a transaction of its own carries out, so that no transaction locks
-- two conversations. Without `what`: a child run has ended, or no call waits for it any more. With it: `event` is for
-- the thread of the chat, `question` and `end` for the agent that gave the task, `cancel` for a task whose result
-- nobody needs, `delete` for a task whose chat is gone. Rows live for milliseconds.
create table troupe.joins (
  id bigint generated always as identity primary key,
  run_id uuid,
  call_id text,
  what text check (what in ('event', 'question', 'end', 'cancel', 'delete')),
  task_id uuid,
  thread_id uuid,
  told int,
  data jsonb
);

-- Failed and canceled runs whose spans are not exported yet. Completed runs are exported by their worker. Unlogged:
-- losing a span is acceptable.
create unlogged table troupe.ended_runs (
  run_id uuid not null,
  lives int not null,
  ended_at timestamptz not null default now(),
  primary key (run_id, lives)
);
create index ended_runs_oldest on troupe.ended_runs (ended_at);  -- taken, and purged, by age

-- Usage of past hours and days, summed on the first request. Sums stay when their runs are deleted.
create table troupe.usage_sums (
  project_id uuid not null,
  every text not null check (every in ('hour', 'day')),
  at timestamptz not null,
  sums jsonb not null,
  primary key (project_id, every, at)
);

-- ---- Budgets

create table troupe.budgets (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  scope text not null check (scope in ('project', 'agent', 'space', 'session', 'run_tree')),
  scope_id uuid not null,
  unit text not null check (unit in ('tokens', 'cost')),
  amount bigint not null check (amount >= 0),
  spent bigint not null default 0 check (spent >= 0),
  -- Granted to workers and not yet reported as spent.
  leased bigint not null default 0 check (leased >= 0),
  on_exhausted text not null default 'stop' check (on_exhausted in ('stop', 'fallback', 'wait')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null default pg_current_xact_id()::text::bigint,
  unique (scope, scope_id, unit)
);
create index budgets_xid on troupe.budgets (xid);  -- budgets that a worker has not cached yet

-- All three amounts only grow, so that a grant or report whose reply was lost can be repeated.
create table troupe.budget_leases (
  budget_id uuid not null references troupe.budgets on delete cascade,
  worker_id uuid not null,
  granted bigint not null default 0,
  spent bigint not null default 0 check (spent >= 0),
  returned bigint not null default 0 check (returned >= 0),
  primary key (budget_id, worker_id)
);

-- ---- Workers

-- Unlogged: a heartbeat has no value after a crash of Postgres and must not cost a disk write.
create unlogged table troupe.workers (
  incarnation uuid primary key,
  host text not null,
  pid int not null,
  beat bigint not null,
  capacity int not null default 0,
  load int not null default 0,
  draining boolean not null default false,
  code_tools text[] not null default '{}',
  started_at timestamptz not null default now(),
  -- For people. Workers judge each other by `beat` and their own monotonic clock.
  beat_at timestamptz not null default now()
) with (fillfactor = 50);

-- ---- Sessions

-- A thread of one person with one agent. Its status is read from the runs of the thread and stored nowhere else.
create table troupe.sessions (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  agent_id uuid not null references troupe.agents,
  -- The owner.
  entity_id uuid not null references troupe.entities,
  thread_id uuid not null unique,
  title text check (length(title) between 1 and 200),
  tags text[] not null default '{}',
  model_id uuid references troupe.llm_models,
  policy text not null default 'queue' check (policy in ('queue', 'steer', 'interrupt', 'reject')),
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null default pg_current_xact_id()::text::bigint
);
create index sessions_agent on troupe.sessions (agent_id, id desc);  -- sessions of an agent
create index sessions_entity on troupe.sessions (entity_id, id desc);  -- sessions of a person
create index sessions_project on troupe.sessions (project_id, created_at desc);  -- list of sessions
create index sessions_xid on troupe.sessions (xid);  -- sync

-- ---- State of a thread and of an agent

-- Files belong to one thread. No foreign key, as in the logs: the function that deletes a thread deletes its files.
create table troupe.files (
  thread_id uuid not null,
  path text not null check (path like '/%' and length(path) between 2 and 1000),
  content bytea not null,
  type text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (thread_id, path)
);
-- Uncompressed, so that a range of a file is read without the rest.
alter table troupe.files alter column content set storage external;

-- The row lock of every write to a thread's files, which makes the limits exact.
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

-- Results of research, per thread.
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
  -- Makes a repeated call idempotent. A fork copies the findings, hence the thread.
  unique (thread_id, run_id, call_id)
);

-- owner_id is the person whom the memory is about, or the agent's own entity if it is shared by all who talk with it.
create table troupe.memories (
  project_id uuid not null references troupe.projects,
  entity_id uuid not null references troupe.entities,
  key text not null check (length(key) between 1 and 200),
  value text not null check (length(value) <= 10000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  owner_id uuid not null references troupe.entities,
  primary key (entity_id, owner_id, key)
);

-- Priority 1 is the most important.
create table troupe.goals (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  entity_id uuid not null references troupe.entities,
  description text not null check (length(description) between 1 and 10000),
  status text not null default 'active' check (status in ('active', 'completed', 'abandoned')),
  priority int not null default 3 check (priority between 1 and 5),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  owner_id uuid not null references troupe.entities
);
create index goals_owner on troupe.goals (entity_id, owner_id, priority, id);  -- goals in a prompt, by priority

-- Future runs. The row decides when a run is due; the job only says when to look at the row. A job that is late, lost
-- or repeated does no harm.
create table troupe.plans (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  agent_id uuid not null references troupe.agents,
  entity_id uuid not null references troupe.entities,
  name text not null check (length(name) between 1 and 200),
  instruction text not null default '' check (length(instruction) <= 20000),
  -- Exactly one of the next three is set. run_after is kept as given; next_run_at has the resulting time.
  run_after text,
  scheduled_at timestamptz,
  cron text,
  time_zone text,
  status text not null default 'pending' check (status in ('pending', 'completed', 'canceled')),
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_run_id uuid,
  -- Rises with every change: a process that computed the next time from an older version does not write it.
  version int not null default 1,
  -- The tool call that wrote the row last, which makes a repeated call idempotent.
  set_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint plans_one_time check (num_nonnulls(run_after, scheduled_at, cron) = 1),
  constraint plans_time_zone check ((cron is null) = (time_zone is null)),
  constraint plans_next_run check ((status = 'pending') = (next_run_at is not null))
);
create unique index plans_name on troupe.plans (entity_id, troupe.folded(name));
create index plans_agent on troupe.plans (agent_id, id desc);  -- plans of an agent
create index plans_due on troupe.plans (next_run_at) where status = 'pending';  -- overdue plans without a job

-- ---- Spaces

-- A thread that many entities share; the thread has the id of the space. Posts, visible calls and the outcome of runs
-- are numbered there. Each run has a thread of its own, so that agents do not wait for one row.
create table troupe.spaces (
  id uuid primary key,
  project_id uuid not null,
  name text check (length(name) between 1 and 200),
  description text check (length(description) <= 10000),
  -- A message starts: all other agents; the mentioned ones; all agents, if a human posts it.
  policy text not null default 'all' check (policy in ('all', 'mentions', 'humans')),
  -- Limits per human message: agents that start one another in a row, and runs that agents start in total.
  chain_depth int not null default 8 check (chain_depth between 1 and 100),
  agent_runs int not null default 50 check (agent_runs between 0 and 1000),
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null default pg_current_xact_id()::text::bigint
);
create index spaces_project on troupe.spaces (project_id, id desc);  -- list of spaces
create index spaces_xid on troupe.spaces (xid);  -- sync

create table troupe.memberships (
  space_id uuid not null references troupe.spaces on delete cascade,
  entity_id uuid not null references troupe.entities on delete cascade,
  role text not null default 'member' check (role in ('admin', 'member')),
  -- A serial agent has one run at a time in the space; messages that arrive during it go to the next run.
  ordering text not null default 'parallel' check (ordering in ('parallel', 'serial')),
  -- The last message before the entity joined.
  joined_seq bigint not null,
  -- Agents: messages that its completed runs were shown or sent.
  seen int8multirange not null default '{}',
  -- Agents: everything since joining, up to here, was seen.
  last_processed_seq bigint not null,
  last_processed_message_id uuid,
  -- Humans: read up to here.
  last_seen_seq bigint not null default 0,
  last_seen_message_id uuid,
  joined_at timestamptz not null default now(),
  xid bigint not null default pg_current_xact_id()::text::bigint,
  -- Sync sends a new member the older rows of the space from this transaction on.
  joined_xid bigint not null default pg_current_xact_id()::text::bigint,
  primary key (space_id, entity_id)
);
create index memberships_entity on troupe.memberships (entity_id);  -- spaces of an entity
create index memberships_xid on troupe.memberships (xid);  -- sync

-- Messages of a space that a run was shown, in its prompt or by a tool, or sent. prompt_upto is the end of the history
-- in its prompt, so that a takeover builds the same prompt.
create table troupe.run_shown (
  run_id uuid not null,
  space_id uuid not null,
  seqs int8multirange not null default '{}',
  prompt_upto bigint,
  primary key (run_id, space_id)
);
create index run_shown_space on troupe.run_shown (space_id);  -- deletion of a space

-- The system prompt of a run in a space, which is built from the current state and cannot be rebuilt. `step` is the
-- first step that used it. It quotes messages of the space and is deleted with it.
create table troupe.run_prompts (
  run_id uuid not null,
  step int not null,
  space_id uuid,
  system text not null,
  created_at timestamptz not null default now(),
  primary key (run_id, step)
);
create index run_prompts_space on troupe.run_prompts (space_id) where space_id is not null;  -- deletion of a space
create index run_prompts_age on troupe.run_prompts using brin (created_at)
  with (pages_per_range = 16, autosummarize = on);  -- purge

-- Messages that a queued run of a serial agent takes with its trigger.
create table troupe.folded_messages (
  entity_id uuid not null,
  message_id uuid not null,
  run_id uuid not null,
  space_id uuid not null references troupe.spaces on delete cascade,
  primary key (entity_id, message_id)
);
create index folded_messages_run on troupe.folded_messages (run_id);  -- messages of a run
create index folded_messages_space on troupe.folded_messages (space_id);  -- deletion of a space

-- Calls of send_message that wait for a reply. Written under the lock of the run, then of the space.
create table troupe.reply_waits (
  run_id uuid not null,
  call_id text not null,
  space_id uuid not null references troupe.spaces on delete cascade,
  entity_id uuid not null,
  message_id uuid not null,
  message_seq bigint not null,
  -- [{ entityId, entityName, entityType, responded }]. Empty: the first reply ends the wait.
  waiting_for jsonb not null,
  any_reply boolean not null,
  replies jsonb not null default '[]',
  timeout_ms bigint not null,
  started_at timestamptz not null default now(),
  primary key (run_id, call_id)
);
create index reply_waits_space on troupe.reply_waits (space_id);  -- waits that a new message may end

-- ---- Networks

-- Edited as rows, published as immutable versions.
create table troupe.networks (
  id uuid primary key,
  project_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  description text,
  status text not null default 'draft' check (status in ('draft', 'published', 'archived')),
  -- The version of runs that name none.
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
create index networks_newest on troupe.networks (project_id, id desc);  -- list of networks

-- A tool of the project in a network, with the settings that differ there.
create table troupe.network_tools (
  network_id uuid not null references troupe.networks on delete cascade,
  tool_id uuid not null references troupe.tools,
  position int not null,
  description text,
  params jsonb,
  primary key (network_id, tool_id)
);
create index network_tools_tool on troupe.network_tools (tool_id);  -- networks that use a tool

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
  -- The agent may start a task group.
  allow_task_group boolean not null default false,
  unique (network_id, id)
);
create unique index network_agents_key on troupe.network_agents (network_id, lower(key));
create unique index network_agents_default on troupe.network_agents (network_id) where is_default;
create index network_agents_agent on troupe.network_agents (agent_id)
  where agent_id is not null;  -- networks that use an agent

create table troupe.network_agent_tools (
  network_id uuid not null,
  network_agent_id uuid not null,
  tool_id uuid not null,
  position int not null,
  primary key (network_agent_id, tool_id),
  foreign key (network_id, network_agent_id) references troupe.network_agents (network_id, id) on delete cascade,
  -- A tool that an agent may call cannot be removed from the network.
  foreign key (network_id, tool_id) references troupe.network_tools (network_id, tool_id)
);
create index network_agent_tools_tool on troupe.network_agent_tools (network_id, tool_id);  -- agents that use a tool

create table troupe.network_routes (
  network_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  position int not null,
  primary key (from_id, to_id),
  check (from_id <> to_id),
  foreign key (network_id, from_id) references troupe.network_agents (network_id, id) on delete cascade,
  -- An agent that a route leads to cannot be removed.
  foreign key (network_id, to_id) references troupe.network_agents (network_id, id)
);
create index network_routes_to on troupe.network_routes (network_id, to_id);  -- routes to an agent

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

-- A network over many inputs, each `iterations` times. Names and version are those at creation: the network may be
-- renamed or deleted later.
create table troupe.network_batches (
  id uuid primary key,
  project_id uuid not null,
  network_id uuid not null,
  network_name text not null,
  network_version int not null,
  snapshot_id uuid not null references troupe.compiled_snapshots,
  agent text not null,
  wall_ms bigint not null,
  name text,
  iterations int not null check (iterations > 0),
  concurrency int not null check (concurrency > 0),
  -- Encrypted system parameters for the tools of all rows.
  sealed jsonb,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  canceled_at timestamptz
);
create index network_batches_newest on troupe.network_batches (project_id, network_id, id desc);  -- list of batches

-- A row has an input, or the error that makes it unusable.
create table troupe.network_batch_rows (
  batch_id uuid not null references troupe.network_batches on delete cascade,
  row_number int not null check (row_number > 0),
  input jsonb,
  metadata jsonb not null default '{}',
  error jsonb,
  primary key (batch_id, row_number),
  check ((input is null) = (error is not null))
);

-- Encrypted system parameters of single rows, in groups of rows: { row: { name: value } }.
create table troupe.network_batch_sealed (
  batch_id uuid not null references troupe.network_batches on delete cascade,
  row_group int not null,
  sealed jsonb not null,
  primary key (batch_id, row_group)
);

-- One per row and iteration, and one per unusable row. The progress of a batch is counted from these. Locked after
-- runs; a transaction that holds an item locks no run.
create table troupe.network_batch_items (
  batch_id uuid not null,
  row_number int not null,
  iteration int not null check (iteration > 0),
  attempt int not null default 1,
  -- pending: not queued yet. bad: the row is unusable.
  status text not null default 'pending'
    check (status in ('pending', 'queued', 'running', 'completed', 'failed', 'canceled', 'bad')),
  run_id uuid unique,
  -- The batch is canceled and the run is not canceled yet.
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
  where status in ('pending', 'queued', 'running');  -- next items to queue

-- ---- Tasks

-- Work that a run delegated to a sub-agent with a thread of its own, or to a tool. A run executes it; triggers on that
-- run keep the task current.
create table troupe.tasks (
  id uuid primary key,
  project_id uuid not null,
  -- The person. Null: a key invoked the network.
  user_id uuid,
  -- The session or space of the person; in a network, the invoked run.
  chat_id uuid not null,
  type text not null check (type in ('agent', 'tool')),
  name text not null check (length(name) between 1 and 300),
  instruction text not null,
  -- Arguments of a tool.
  args jsonb,
  sub_agent_id uuid,
  trigger_message_id uuid,
  status text not null default 'pending'
    check (status in ('pending', 'running', 'waiting', 'success', 'failed', 'canceled')),
  result text,
  error jsonb,
  -- A question of the sub-agent without an answer.
  question text,
  -- The giver did not wait: the outcome and questions are posted to the parent's thread.
  background boolean not null default false,
  depth int not null check (depth >= 1),
  parent_task_id uuid,
  -- The run and call that gave the task, or addressed it last.
  parent_run_id uuid not null,
  parent_call_id text not null,
  -- The run that works on it, or did so last.
  run_id uuid not null,
  -- Number of outcomes and questions so far; each is delivered once.
  told int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null,
  -- The thread of the chat that receives events of the task. Null: none.
  chat_thread_id uuid,
  -- Its end starts no run of the giver.
  quiet boolean not null default false,
  check (type = 'agent' or sub_agent_id is null),
  check (status <> 'waiting' or question is not null)
);
create index tasks_chat on troupe.tasks (chat_id, id desc);  -- tasks of a chat
create index tasks_project on troupe.tasks (project_id, id desc);  -- list of tasks
create index tasks_user on troupe.tasks (user_id, xid);  -- sync, per person
create index tasks_xid on troupe.tasks (xid);  -- sync
create index tasks_trigger_message on troupe.tasks (trigger_message_id);  -- tasks of a message
create index tasks_parent on troupe.tasks (parent_task_id) where parent_task_id is not null;  -- tasks within a task
create index tasks_run on troupe.tasks (run_id);  -- task of a run

create table troupe.sub_agents (
  id uuid primary key,
  project_id uuid not null,
  user_id uuid,
  chat_id uuid not null,
  task_id uuid not null references troupe.tasks on delete cascade,
  agent_id uuid not null,
  -- The name of the agent at creation.
  role text not null,
  thread_id uuid not null unique,
  status text not null default 'active' check (status in ('active', 'waiting_for_user', 'completed', 'failed')),
  -- Model calls of its ended runs; run_heads has those of the current one.
  iteration_count int not null default 0,
  summary text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null
);
create unique index sub_agents_task on troupe.sub_agents (task_id);
create index sub_agents_user on troupe.sub_agents (user_id, xid);  -- sync, per person
create index sub_agents_xid on troupe.sub_agents (xid);  -- sync
create index sub_agents_project on troupe.sub_agents (project_id, id desc);  -- list of sub-agents

-- ---- Sync

-- `xid` on a table is the transaction that wrote the row last. A reader goes by (xid, id) below the oldest transaction
-- that still runs, so no row appears behind its checkpoint.
--
-- A deleted row. entity_id is the owner, or the member who left; null in a space: all members. place_id is its thread
-- or space. `was` is its last xid and `born_at` its creation: a member who left before both never had the row.
create table troupe.tombstones (
  collection text not null,
  id text not null,
  project_id uuid not null,
  entity_id uuid,
  place_id uuid,
  chat_id uuid,
  was bigint not null,
  born_at timestamptz,
  gone_at timestamptz not null default clock_timestamp(),
  xid bigint not null default pg_current_xact_id()::text::bigint,
  primary key (collection, id, xid)
);
-- Sync of a person, of a place, of a project, and of all projects in one poll.
create index tombstones_entity on troupe.tombstones (entity_id, collection, xid) where entity_id is not null;
create index tombstones_place on troupe.tombstones (place_id, collection, xid) where place_id is not null;
create index tombstones_project on troupe.tombstones (project_id, collection, xid);
create index tombstones_xid on troupe.tombstones (xid);
create index tombstones_gone_at on troupe.tombstones using brin (gone_at)
  with (pages_per_range = 16, autosummarize = on);  -- purge

-- The last purged tombstone of a project. A client with an older checkpoint starts from the beginning.
create table troupe.purged_tombstones (
  project_id uuid primary key,
  xid bigint not null
);

-- ---- Triggers

-- Rules. `definition` is the editable part; collections, pattern and events are derived from it.
create table troupe.triggers (
  id uuid primary key,
  project_id uuid not null references troupe.projects,
  name text not null check (name ~ '^[A-Za-z0-9_-]{1,64}$'),
  version int not null default 1,
  definition jsonb not null,
  -- The collections that the glob can match, and the glob as a pattern for collection paths.
  collections text[] not null,
  pattern text not null,
  events text[] not null,
  enabled boolean not null,
  disabled_reason text,
  condition_error jsonb,
  -- Dead deliveries since the last successful one.
  dead_in_row int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index triggers_name on troupe.triggers (project_id, lower(name));

-- A change is evaluated with the versions that were current when it happened.
create table troupe.trigger_versions (
  trigger_id uuid not null references troupe.triggers on delete cascade,
  version int not null,
  definition jsonb not null,
  created_at timestamptz not null default now(),
  primary key (trigger_id, version)
);

-- Written by the commit that changes a row; deleted by the transaction that turns it into deliveries. Rows live for
-- milliseconds. `rules` is [{ id, version }].
create table troupe.changes (
  id bigint generated always as identity primary key,
  project_id uuid not null,
  collection text not null,
  path text not null,
  document_id text not null,
  user_id uuid,
  -- The session or space of the document.
  chat_id uuid,
  event text not null,
  before jsonb,
  after jsonb,
  depth int not null,
  rules jsonb not null,
  created_at timestamptz not null default now()
);
create index changes_path on troupe.changes (path, id);  -- earlier changes of the same document

create table troupe.trigger_deliveries (
  id uuid primary key,
  project_id uuid not null,
  trigger_id uuid not null references troupe.triggers on delete cascade,
  version int not null,
  -- The version whose action is executed: that of the change, until a person redelivers it.
  action_version int not null,
  change_id bigint not null,
  event text not null,
  path text not null,
  document_id text not null,
  user_id uuid,
  chat_id uuid,
  -- The document was deleted: both images are removed at the latest when the delivery ends.
  erased boolean not null default false,
  before jsonb,
  after jsonb,
  depth int not null,
  -- Sent to the server's own address, which only a process that serves HTTP knows.
  own boolean not null,
  status text not null default 'pending' check (status in ('pending', 'sending', 'delivered', 'dead')),
  attempts int not null default 0,
  -- Attempts before the last manual redelivery.
  attempts_before int not null default 0,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  error jsonb,
  result jsonb,
  changed_at timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  unique (trigger_id, version, change_id),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check ((status = 'sending') = (lease_until is not null)),
  check ((status in ('delivered', 'dead')) = (ended_at is not null))
);
-- Claim: due deliveries, expired leases, the order within a document, the rate and concurrency of a rule.
create index trigger_deliveries_due on troupe.trigger_deliveries (next_attempt_at) where status = 'pending';
create index trigger_deliveries_leased on troupe.trigger_deliveries (lease_until) where status = 'sending';
create index trigger_deliveries_order on troupe.trigger_deliveries (trigger_id, path, change_id)
  where status in ('pending', 'sending');
create index trigger_deliveries_made on troupe.trigger_deliveries (trigger_id, ended_at) where status = 'delivered';
create index trigger_deliveries_sending on troupe.trigger_deliveries (trigger_id) where status = 'sending';
-- Lists: dead ones of a rule, all of a project, of a rule, of a path, of a document.
create index trigger_deliveries_dead on troupe.trigger_deliveries (trigger_id) where status = 'dead';
create index trigger_deliveries_newest on troupe.trigger_deliveries (project_id, id desc);
create index trigger_deliveries_of on troupe.trigger_deliveries (trigger_id, id desc);
create index trigger_deliveries_path on troupe.trigger_deliveries (project_id, path, id desc);
create index trigger_deliveries_document on troupe.trigger_deliveries (project_id, document_id, id desc);
-- Erasure when a chat or a person is deleted, and purge of ended deliveries.
create index trigger_deliveries_chat on troupe.trigger_deliveries (chat_id) where chat_id is not null;
create index trigger_deliveries_user on troupe.trigger_deliveries (user_id) where user_id is not null;
create index trigger_deliveries_ended on troupe.trigger_deliveries (ended_at)
  where status in ('delivered', 'dead');

create table troupe.trigger_attempts (
  delivery_id uuid not null references troupe.trigger_deliveries on delete cascade,
  attempt int not null,
  started_at timestamptz not null default now(),
  -- Null: in progress, or its process died.
  duration_ms int,
  request jsonb,
  response jsonb,
  error jsonb,
  primary key (delivery_id, attempt)
);

-- The database triggers that record changes, and the collections that each serves. A trigger is disabled while no
-- enabled rule matches its collections: a disabled trigger costs nothing.
create table troupe.captured (
  trigger_name text primary key,
  table_name text not null,
  collections text[] not null
);
insert into troupe.captured (trigger_name, table_name, collections) values
  ('tasks_capture', 'tasks', '{tasks}'),
  ('sub_agents_capture', 'sub_agents', '{sub_agents}'),
  ('sessions_capture', 'sessions', '{sessions}'),
  ('spaces_capture', 'spaces', '{spaces}'),
  ('memberships_capture', 'memberships', '{memberships}'),
  ('runs_capture', 'runs', '{runs}'),
  ('tool_calls_capture', 'tool_calls', '{sub_agent_tool_calls}'),
  ('messages_capture', 'messages', '{messages,sub_agent_messages}');
