-- breaking: true
-- All tables, types, constraints and indexes. Functions and triggers are source files in store/functions.
create type troupe.call_status as enum ('requested', 'running', 'completed', 'failed', 'canceled', 'expired',
  'in_doubt');
create type troupe.cancel_reason as enum ('user', 'absorbed', 'timeout', 'budget', 'superseded', 'parent');
create type troupe.message_role as enum ('user', 'assistant', 'tool_call', 'tool_result', 'system');
create type troupe.run_status as enum ('queued', 'running', 'waiting_tool', 'waiting_reply', 'completed', 'failed',
  'canceled');
create type troupe.thread_kind as enum ('session', 'space', 'sub_agent', 'run');
create type troupe.tool_effect as enum ('pure', 'idempotent', 'once');
create type troupe.waits_for as enum ('client', 'approval', 'person', 'task', 'reply', 'answer');
create type troupe.place as (collection text, project_id uuid, user_id uuid, chat_id uuid, sub_agent_id uuid);

create table troupe.agent_capabilities (
  id uuid not null,
  agent_id uuid not null,
  capability_id text not null,
  "position" integer not null,
  config jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint agent_capabilities_pkey primary key (id),
  constraint agent_capabilities_agent_id_capability_id_key unique (agent_id, capability_id),
  constraint agent_capabilities_agent_id_position_key unique (agent_id, "position") deferrable initially deferred,
  constraint agent_capabilities_capability_id_check check ((length(capability_id) >= 1)
    and (length(capability_id) <= 50)),
  constraint agent_capabilities_position_check check ("position" >= 0)
);

create table troupe.agent_tools (
  agent_id uuid not null,
  tool_id uuid not null,
  "position" integer not null,
  constraint agent_tools_pkey primary key (agent_id, tool_id),
  constraint agent_tools_agent_id_position_key unique (agent_id, "position") deferrable initially deferred,
  constraint agent_tools_position_check check ("position" >= 0)
);

create table troupe.agent_versions (
  agent_id uuid not null,
  version integer not null,
  snapshot_id uuid not null,
  definition jsonb not null,
  notes text,
  created_at timestamptz not null default now(),
  constraint agent_versions_pkey primary key (agent_id, version),
  constraint agent_versions_version_check check (version > 0)
);

create table troupe.agents (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  status text not null default 'active',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  description text,
  system_prompt text not null default '',
  default_model_id uuid,
  tags text[] not null default '{}',
  config jsonb not null default '{}',
  version integer not null default 0,
  constraint agents_pkey primary key (id),
  constraint agents_name_check check ((length(name) >= 1) and (length(name) <= 200)),
  constraint agents_status_check check (status in ('active', 'archived'))
);

create table troupe.api_keys (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  kind text not null,
  prefix text not null,
  hash bytea not null,
  scopes text[] not null default '{}',
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  constraint api_keys_pkey primary key (id),
  constraint api_keys_hash_key unique (hash),
  constraint api_keys_hash_check check (length(hash) = 32),
  constraint api_keys_kind_check check (kind in ('secret', 'public')),
  constraint api_keys_name_check check ((length(name) >= 1) and (length(name) <= 200))
);

create table troupe.audit_log (
  id bigint not null generated always as identity,
  project_id uuid not null,
  actor_kind text not null,
  actor_id text,
  action text not null,
  target text,
  data jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint audit_log_pkey primary key (id),
  constraint audit_log_actor_kind_check check (actor_kind in ('key', 'user', 'dev', 'system'))
);

create table troupe.budget_leases (
  budget_id uuid not null,
  worker_id uuid not null,
  granted bigint not null default 0,
  spent bigint not null default 0,
  returned bigint not null default 0,
  constraint budget_leases_pkey primary key (budget_id, worker_id),
  constraint budget_leases_returned_check check (returned >= 0),
  constraint budget_leases_spent_check check (spent >= 0)
);

create table troupe.budgets (
  id uuid not null,
  project_id uuid not null,
  scope text not null,
  scope_id uuid not null,
  unit text not null,
  amount bigint not null,
  spent bigint not null default 0,
  leased bigint not null default 0,
  on_exhausted text not null default 'stop',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint budgets_pkey primary key (id),
  constraint budgets_scope_scope_id_unit_key unique (scope, scope_id, unit),
  constraint budgets_amount_check check (amount >= 0),
  constraint budgets_leased_check check (leased >= 0),
  constraint budgets_on_exhausted_check check (on_exhausted in ('stop', 'fallback', 'wait')),
  constraint budgets_scope_check check (scope in ('project', 'agent', 'space', 'session', 'run_tree')),
  constraint budgets_spent_check check (spent >= 0),
  constraint budgets_unit_check check (unit in ('tokens', 'cost'))
);

create table troupe.captured (
  trigger_name text not null,
  table_name text not null,
  collections text[] not null,
  constraint captured_pkey primary key (trigger_name)
);

create table troupe.changes (
  id bigint not null generated always as identity,
  project_id uuid not null,
  collection text not null,
  path text not null,
  document_id text not null,
  user_id uuid,
  chat_id uuid,
  event text not null,
  before jsonb,
  after jsonb,
  depth integer not null,
  rules jsonb not null,
  created_at timestamptz not null default now(),
  constraint changes_pkey primary key (id)
);

create table troupe.clients (
  id uuid not null,
  project_id uuid not null,
  entity_id uuid not null,
  client_key text not null,
  client_type text,
  display_name text,
  capabilities jsonb not null default '{}',
  last_seen_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint clients_pkey primary key (id),
  constraint clients_project_id_client_key_key unique (project_id, client_key),
  constraint clients_client_key_check check ((length(client_key) >= 1) and (length(client_key) <= 200))
);

create table troupe.code_tools (
  names text[] not null,
  seen_at timestamptz not null default now(),
  constraint code_tools_pkey primary key (names)
);

create table troupe.compiled_snapshots (
  id uuid not null,
  project_id uuid not null,
  checksum text not null,
  compiled jsonb not null,
  created_at timestamptz not null default now(),
  code_tools text[],
  constraint compiled_snapshots_pkey primary key (id),
  constraint compiled_snapshots_project_id_checksum_key unique (project_id, checksum),
  constraint compiled_snapshots_checksum_check check (checksum ~ '^[0-9a-f]{64}$')
);

create unlogged table troupe.ended_runs (
  run_id uuid not null,
  lives integer not null,
  ended_at timestamptz not null default now(),
  constraint ended_runs_pkey primary key (run_id, lives)
);

create table troupe.entities (
  id uuid not null,
  project_id uuid not null,
  type text not null,
  external_id text,
  display_name text,
  agent_id uuid,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint entities_pkey primary key (id),
  constraint entities_agent_id_key unique (agent_id),
  constraint entities_check check ((type = 'agent') = (agent_id is not null)),
  constraint entities_type_check check (type in ('human', 'agent'))
);

create table troupe.events (
  thread_id uuid not null,
  seq bigint not null,
  type text not null,
  data jsonb,
  message_seq bigint,
  run_id uuid,
  step integer,
  created_at timestamptz not null default now(),
  constraint events_pkey primary key (thread_id, seq)
);

create table troupe.file_totals (
  thread_id uuid not null,
  files integer not null default 0,
  bytes bigint not null default 0,
  constraint file_totals_pkey primary key (thread_id),
  constraint file_totals_bytes_check check (bytes >= 0),
  constraint file_totals_files_check check (files >= 0)
);

create table troupe.files (
  thread_id uuid not null,
  path text not null,
  content bytea not null,
  type text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint files_pkey primary key (thread_id, path),
  constraint files_path_check check ((path ~~ '/%') and ((length(path) >= 2) and (length(path) <= 1000)))
);

create table troupe.findings (
  thread_id uuid not null,
  seq bigint not null generated always as identity,
  project_id uuid not null,
  run_id uuid not null,
  call_id text not null,
  question text not null,
  claim text not null,
  source text not null,
  quote text not null,
  confidence text not null,
  created_at timestamptz not null default now(),
  constraint findings_pkey primary key (thread_id, seq),
  constraint findings_thread_id_run_id_call_id_key unique (thread_id, run_id, call_id),
  constraint findings_confidence_check check (confidence in ('low', 'medium', 'high'))
);

create table troupe.folded_messages (
  entity_id uuid not null,
  message_id uuid not null,
  run_id uuid not null,
  space_id uuid not null,
  constraint folded_messages_pkey primary key (entity_id, message_id)
);

create table troupe.goals (
  id uuid not null,
  project_id uuid not null,
  entity_id uuid not null,
  description text not null,
  status text not null default 'active',
  priority integer not null default 3,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  owner_id uuid not null,
  constraint goals_pkey primary key (id),
  constraint goals_description_check check ((length(description) >= 1) and (length(description) <= 10000)),
  constraint goals_priority_check check ((priority >= 1) and (priority <= 5)),
  constraint goals_status_check check (status in ('active', 'completed', 'abandoned'))
);

create table troupe.idempotency_keys (
  project_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  status integer,
  body jsonb,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_pkey primary key (project_id, key),
  constraint idempotency_keys_key_check check ((length(key) >= 1) and (length(key) <= 200))
);

create table troupe.joins (
  id bigint not null generated always as identity,
  run_id uuid,
  call_id text,
  what text,
  task_id uuid,
  thread_id uuid,
  told integer,
  data jsonb,
  constraint joins_pkey primary key (id),
  constraint joins_what_check check (what in ('event', 'question', 'end', 'cancel', 'delete'))
);

create table troupe.llm_models (
  id uuid not null,
  project_id uuid not null,
  provider_id uuid not null,
  model_id text not null,
  display_name text not null,
  input_price double precision not null default 0,
  output_price double precision not null default 0,
  context_tokens integer,
  max_output_tokens integer not null default 4096,
  is_default boolean not null default false,
  status text not null default 'active',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint llm_models_pkey primary key (id),
  constraint llm_models_provider_id_model_id_key unique (provider_id, model_id),
  constraint llm_models_context_tokens_check check (context_tokens > 0),
  constraint llm_models_input_price_check check (input_price >= (0)::double precision),
  constraint llm_models_max_output_tokens_check check (max_output_tokens > 0),
  constraint llm_models_model_id_check check ((length(model_id) >= 1) and (length(model_id) <= 200)),
  constraint llm_models_output_price_check check (output_price >= (0)::double precision),
  constraint llm_models_status_check check (status in ('active', 'disabled'))
);

create table troupe.llm_providers (
  id uuid not null,
  project_id uuid not null,
  kind text not null,
  name text not null,
  base_url text,
  key_envelope jsonb,
  status text not null default 'active',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint llm_providers_pkey primary key (id),
  constraint llm_providers_kind_check check (kind in ('openai', 'anthropic', 'openai_compatible', 'demo')),
  constraint llm_providers_name_check check ((length(name) >= 1) and (length(name) <= 200)),
  constraint llm_providers_status_check check (status in ('active', 'disabled'))
);

create table troupe.mcp_servers (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  transport text not null,
  url text,
  headers jsonb not null default '{}',
  command text,
  args jsonb not null default '[]',
  env jsonb not null default '{}',
  allow jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint mcp_servers_pkey primary key (id),
  constraint mcp_servers_project_id_id_key unique (project_id, id),
  constraint mcp_servers_check check ((transport = 'http') = (url is not null)),
  constraint mcp_servers_check1 check ((transport = 'stdio') = (command is not null)),
  constraint mcp_servers_name_check check ((length(name) >= 1) and (length(name) <= 200)),
  constraint mcp_servers_transport_check check (transport in ('http', 'stdio'))
);

create table troupe.memberships (
  space_id uuid not null,
  entity_id uuid not null,
  role text not null default 'member',
  ordering text not null default 'parallel',
  joined_seq bigint not null,
  seen int8multirange not null default '{}'::int8multirange,
  last_processed_seq bigint not null,
  last_processed_message_id uuid,
  last_seen_seq bigint not null default 0,
  last_seen_message_id uuid,
  joined_at timestamptz not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  joined_xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint memberships_pkey primary key (space_id, entity_id),
  constraint memberships_ordering_check check (ordering in ('parallel', 'serial')),
  constraint memberships_role_check check (role in ('admin', 'member'))
);

create table troupe.memories (
  project_id uuid not null,
  entity_id uuid not null,
  key text not null,
  value text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  owner_id uuid not null,
  constraint memories_pkey primary key (entity_id, owner_id, key),
  constraint memories_key_check check ((length(key) >= 1) and (length(key) <= 200)),
  constraint memories_value_check check (length(value) <= 10000)
);

create table troupe.messages (
  thread_id uuid not null,
  seq bigint not null,
  id uuid not null,
  role troupe.message_role not null,
  content jsonb not null,
  tool_call_id text,
  sender_id uuid,
  run_id uuid,
  step integer,
  metadata jsonb,
  created_at timestamptz not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint messages_pkey primary key (thread_id, seq)
);


create table troupe.network_agent_tools (
  network_id uuid not null,
  network_agent_id uuid not null,
  tool_id uuid not null,
  "position" integer not null,
  constraint network_agent_tools_pkey primary key (network_agent_id, tool_id)
);

create table troupe.network_agents (
  id uuid not null,
  network_id uuid not null,
  "position" integer not null,
  key text not null,
  agent_id uuid,
  display_name text,
  description text not null default '',
  prompt text not null default '',
  model_id uuid,
  allow_respond boolean not null default false,
  is_default boolean not null default false,
  metadata jsonb not null default '{}',
  allow_task_group boolean not null default false,
  constraint network_agents_pkey primary key (id),
  constraint network_agents_network_id_id_key unique (network_id, id),
  constraint network_agents_key_check check (key ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$')
);

create table troupe.network_batch_items (
  batch_id uuid not null,
  row_number integer not null,
  iteration integer not null,
  attempt integer not null default 1,
  status text not null default 'pending',
  run_id uuid,
  canceling boolean not null default false,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost bigint not null default 0,
  started_at timestamptz,
  ended_at timestamptz,
  constraint network_batch_items_pkey primary key (batch_id, row_number, iteration),
  constraint network_batch_items_run_id_key unique (run_id),
  constraint network_batch_items_check check (((status in ('queued', 'running', 'completed', 'failed'))
    = (run_id is not null)) or (status = 'canceled')),
  constraint network_batch_items_iteration_check check (iteration > 0),
  constraint network_batch_items_status_check check (status in ('pending', 'queued', 'running', 'completed', 'failed',
    'canceled', 'bad'))
);

create table troupe.network_batch_rows (
  batch_id uuid not null,
  row_number integer not null,
  input jsonb,
  metadata jsonb not null default '{}',
  error jsonb,
  constraint network_batch_rows_pkey primary key (batch_id, row_number),
  constraint network_batch_rows_check check ((input is null) = (error is not null)),
  constraint network_batch_rows_row_number_check check (row_number > 0)
);

create table troupe.network_batch_sealed (
  batch_id uuid not null,
  row_group integer not null,
  sealed jsonb not null,
  constraint network_batch_sealed_pkey primary key (batch_id, row_group)
);

create table troupe.network_batches (
  id uuid not null,
  project_id uuid not null,
  network_id uuid not null,
  network_name text not null,
  network_version integer not null,
  snapshot_id uuid not null,
  agent text not null,
  wall_ms bigint not null,
  name text,
  iterations integer not null,
  concurrency integer not null,
  sealed jsonb,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  canceled_at timestamptz,
  constraint network_batches_pkey primary key (id),
  constraint network_batches_concurrency_check check (concurrency > 0),
  constraint network_batches_iterations_check check (iterations > 0)
);

create table troupe.network_routes (
  network_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  "position" integer not null,
  constraint network_routes_pkey primary key (from_id, to_id),
  constraint network_routes_check check (from_id <> to_id)
);

create table troupe.network_tools (
  network_id uuid not null,
  tool_id uuid not null,
  "position" integer not null,
  description text,
  params jsonb,
  constraint network_tools_pkey primary key (network_id, tool_id)
);

create table troupe.network_versions (
  network_id uuid not null,
  version integer not null,
  snapshot_id uuid not null,
  definition jsonb not null,
  created_by text not null,
  published_by text not null,
  published_at timestamptz not null default now(),
  notes text,
  constraint network_versions_pkey primary key (network_id, version),
  constraint network_versions_version_check check (version > 0)
);

create table troupe.networks (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  description text,
  status text not null default 'draft',
  current_version integer,
  policy jsonb not null,
  response jsonb not null,
  log_policy jsonb not null,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint networks_pkey primary key (id),
  constraint networks_check check ((status <> 'published') or (current_version is not null)),
  constraint networks_name_check check ((length(name) >= 1) and (length(name) <= 200)),
  constraint networks_status_check check (status in ('draft', 'published', 'archived'))
);

create table troupe.plans (
  id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  entity_id uuid not null,
  name text not null,
  instruction text not null default '',
  run_after text,
  scheduled_at timestamptz,
  cron text,
  time_zone text,
  status text not null default 'pending',
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_run_id uuid,
  version integer not null default 1,
  set_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint plans_pkey primary key (id),
  constraint plans_instruction_check check (length(instruction) <= 20000),
  constraint plans_name_check check ((length(name) >= 1) and (length(name) <= 200)),
  constraint plans_next_run check ((status = 'pending') = (next_run_at is not null)),
  constraint plans_one_time check (num_nonnulls(run_after, scheduled_at, cron) = 1),
  constraint plans_status_check check (status in ('pending', 'completed', 'canceled')),
  constraint plans_time_zone check ((cron is null) = (time_zone is null))
);

create table troupe.projects (
  id uuid not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  tokens jsonb,
  default_model_id uuid,
  environment_kinds text[] not null default '{}',
  outgoing jsonb not null default '{"allow": []}',
  agents_brought boolean not null default false,
  constraint projects_pkey primary key (id),
  constraint projects_name_check check ((length(name) >= 1) and (length(name) <= 200))
);

create table troupe.purged_tombstones (
  project_id uuid not null,
  xid bigint not null,
  constraint purged_tombstones_pkey primary key (project_id)
);

create table troupe.reply_waits (
  run_id uuid not null,
  call_id text not null,
  space_id uuid not null,
  entity_id uuid not null,
  message_id uuid not null,
  message_seq bigint not null,
  waiting_for jsonb not null,
  any_reply boolean not null,
  replies jsonb not null default '[]',
  timeout_ms bigint not null,
  started_at timestamptz not null default now(),
  constraint reply_waits_pkey primary key (run_id, call_id)
);

create table troupe.run_heads (
  run_id uuid not null,
  worker_id uuid,
  epoch integer not null,
  version integer not null,
  step integer not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost bigint not null,
  constraint run_heads_pkey primary key (run_id)
) with (fillfactor=50);

create table troupe.run_prompts (
  run_id uuid not null,
  step integer not null,
  space_id uuid,
  system text not null,
  created_at timestamptz not null default now(),
  constraint run_prompts_pkey primary key (run_id, step)
);

create table troupe.run_shown (
  run_id uuid not null,
  space_id uuid not null,
  seqs int8multirange not null default '{}'::int8multirange,
  prompt_upto bigint,
  constraint run_shown_pkey primary key (run_id, space_id)
);

create table troupe.run_steps (
  run_id uuid not null,
  step integer not null,
  agent_key text,
  provider text not null,
  model text not null,
  worker_id uuid not null,
  epoch integer not null,
  attempt integer not null,
  started_at timestamptz not null,
  first_token_at timestamptz,
  finished_at timestamptz not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost bigint not null,
  finish_reason text not null,
  decision jsonb,
  budgeted boolean not null default false,
  constraint run_steps_pkey primary key (run_id, step)
);

create table troupe.runs (
  id uuid not null,
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
  chain_depth integer not null default 0,
  status troupe.run_status not null default 'queued',
  serial boolean not null default false,
  ready boolean not null default true,
  lane text,
  lane_limit integer,
  run_at timestamptz not null default now(),
  step integer not null default 0,
  epoch integer not null default 0,
  worker_id uuid,
  attempt integer not null default 0,
  model_index integer not null default 0,
  takeovers integer not null default 0,
  open_calls integer not null default 0,
  steers integer not null default 0,
  history_limit integer not null default 50,
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
  takeovers_in_all integer not null default 0,
  owner_id uuid,
  space_id uuid,
  active_space_id uuid,
  origin_id uuid,
  network_id uuid,
  network_version integer,
  sealed jsonb,
  parent_call_id text,
  lives integer not null default 1,
  code_tools text[],
  task_id uuid,
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint runs_pkey primary key (id)
) with (fillfactor=60);

create table troupe.secrets (
  project_id uuid not null,
  name text not null,
  envelope jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint secrets_pkey primary key (project_id, name),
  constraint secrets_name_check check ((length(name) >= 1) and (length(name) <= 100))
);

create table troupe.sessions (
  id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  entity_id uuid not null,
  thread_id uuid not null,
  title text,
  tags text[] not null default '{}',
  model_id uuid,
  policy text not null default 'queue',
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint sessions_pkey primary key (id),
  constraint sessions_thread_id_key unique (thread_id),
  constraint sessions_policy_check check (policy in ('queue', 'steer', 'interrupt', 'reject')),
  constraint sessions_title_check check ((length(title) >= 1) and (length(title) <= 200))
);

create table troupe.spaces (
  id uuid not null,
  project_id uuid not null,
  name text,
  description text,
  policy text not null default 'all',
  chain_depth integer not null default 8,
  agent_runs integer not null default 50,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint spaces_pkey primary key (id),
  constraint spaces_agent_runs_check check ((agent_runs >= 0) and (agent_runs <= 1000)),
  constraint spaces_chain_depth_check check ((chain_depth >= 1) and (chain_depth <= 100)),
  constraint spaces_description_check check (length(description) <= 10000),
  constraint spaces_name_check check ((length(name) >= 1) and (length(name) <= 200)),
  constraint spaces_policy_check check (policy in ('all', 'mentions', 'humans'))
);

create table troupe.sub_agents (
  id uuid not null,
  project_id uuid not null,
  user_id uuid,
  chat_id uuid not null,
  task_id uuid not null,
  agent_id uuid not null,
  role text not null,
  thread_id uuid not null,
  status text not null default 'active',
  iteration_count integer not null default 0,
  summary text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null,
  constraint sub_agents_pkey primary key (id),
  constraint sub_agents_thread_id_key unique (thread_id),
  constraint sub_agents_status_check check (status in ('active', 'waiting_for_user', 'completed', 'failed'))
);

create table troupe.tasks (
  id uuid not null,
  project_id uuid not null,
  user_id uuid,
  chat_id uuid not null,
  type text not null,
  name text not null,
  instruction text not null,
  args jsonb,
  sub_agent_id uuid,
  trigger_message_id uuid,
  status text not null default 'pending',
  result text,
  error jsonb,
  question text,
  background boolean not null default false,
  depth integer not null,
  parent_task_id uuid,
  parent_run_id uuid not null,
  parent_call_id text not null,
  run_id uuid not null,
  told integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null,
  chat_thread_id uuid,
  quiet boolean not null default false,
  constraint tasks_pkey primary key (id),
  constraint tasks_check check ((type = 'agent') or (sub_agent_id is null)),
  constraint tasks_check1 check ((status <> 'waiting') or (question is not null)),
  constraint tasks_depth_check check (depth >= 1),
  constraint tasks_name_check check ((length(name) >= 1) and (length(name) <= 300)),
  constraint tasks_status_check check (status in ('pending', 'running', 'waiting', 'success', 'failed', 'canceled')),
  constraint tasks_type_check check (type in ('agent', 'tool'))
);

create table troupe.threads (
  id uuid not null,
  project_id uuid not null,
  kind troupe.thread_kind not null,
  last_message_seq bigint not null default 0,
  last_event_seq bigint not null default 0,
  active_run_id uuid,
  created_at timestamptz not null default now(),
  failed_run_id uuid,
  constraint threads_pkey primary key (id)
) with (fillfactor=60);

create table troupe.todo_lists (
  thread_id uuid not null,
  items jsonb not null,
  updated_at timestamptz not null default now(),
  constraint todo_lists_pkey primary key (thread_id)
);

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
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint tombstones_pkey primary key (collection, id, xid)
);

create table troupe.tool_calls (
  run_id uuid not null,
  call_id text not null,
  step integer not null,
  "position" integer not null,
  tool text not null,
  args jsonb not null,
  effect troupe.tool_effect not null,
  status troupe.call_status not null,
  waits_for troupe.waits_for,
  output jsonb,
  error jsonb,
  attempt integer not null default 1,
  epoch integer not null,
  deadline timestamptz,
  settled_by text,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  edited boolean not null default false,
  shown jsonb,
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint tool_calls_pkey primary key (run_id, call_id)
) with (fillfactor=70);

create table troupe.tools (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  display_name text,
  description text not null default '',
  kind text not null,
  input_schema jsonb not null,
  effect troupe.tool_effect not null default 'once',
  approval boolean not null default false,
  visible boolean not null default false,
  config jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  params jsonb,
  mcp_server_id uuid generated always as ((((config -> 'mcp') ->> 'server'))::uuid) stored,
  constraint tools_pkey primary key (id),
  constraint tools_kind_check check (kind in ('http', 'client', 'ui', 'static', 'echo', 'mcp', 'code', 'network',
    'agent')),
  constraint tools_mcp check ((kind <> 'mcp') or (mcp_server_id is not null)),
  constraint tools_name_check check (name ~ '^[A-Za-z_][A-Za-z0-9_-]{0,63}$')
);

create table troupe.trigger_attempts (
  delivery_id uuid not null,
  attempt integer not null,
  started_at timestamptz not null default now(),
  duration_ms integer,
  request jsonb,
  response jsonb,
  error jsonb,
  constraint trigger_attempts_pkey primary key (delivery_id, attempt)
);

create table troupe.trigger_deliveries (
  id uuid not null,
  project_id uuid not null,
  trigger_id uuid not null,
  version integer not null,
  action_version integer not null,
  change_id bigint not null,
  event text not null,
  path text not null,
  document_id text not null,
  user_id uuid,
  chat_id uuid,
  erased boolean not null default false,
  before jsonb,
  after jsonb,
  depth integer not null,
  own boolean not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  error jsonb,
  result jsonb,
  changed_at timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint trigger_deliveries_pkey primary key (id),
  constraint trigger_deliveries_trigger_id_version_change_id_key unique (trigger_id, version, change_id),
  constraint trigger_deliveries_check check ((status = 'pending') = (next_attempt_at is not null)),
  constraint trigger_deliveries_check1 check ((status = 'sending') = (lease_until is not null)),
  constraint trigger_deliveries_check2 check ((status in ('delivered', 'dead')) = (ended_at is not null)),
  constraint trigger_deliveries_status_check check (status in ('pending', 'sending', 'delivered', 'dead'))
);

create table troupe.trigger_versions (
  trigger_id uuid not null,
  version integer not null,
  definition jsonb not null,
  created_at timestamptz not null default now(),
  constraint trigger_versions_pkey primary key (trigger_id, version)
);

create table troupe.triggers (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  version integer not null default 1,
  definition jsonb not null,
  collections text[] not null,
  pattern text not null,
  events text[] not null,
  enabled boolean not null,
  disabled_reason text,
  condition_error jsonb,
  dead_in_row integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint triggers_pkey primary key (id),
  constraint triggers_name_check check (name ~ '^[A-Za-z0-9_-]{1,64}$')
);

create table troupe.usage_sums (
  project_id uuid not null,
  every text not null,
  at timestamptz not null,
  sums jsonb not null,
  constraint usage_sums_pkey primary key (project_id, every, at),
  constraint usage_sums_every_check check (every in ('hour', 'day'))
);

create unlogged table troupe.workers (
  incarnation uuid not null,
  host text not null,
  pid integer not null,
  beat bigint not null,
  capacity integer not null default 0,
  load integer not null default 0,
  draining boolean not null default false,
  code_tools text[] not null default '{}',
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now(),
  constraint workers_pkey primary key (incarnation)
) with (fillfactor=50);

alter table troupe.agent_capabilities add constraint agent_capabilities_agent_id_fkey foreign key (
  agent_id) references troupe.agents(id) on delete cascade;
alter table troupe.agent_tools add constraint agent_tools_agent_id_fkey foreign key (agent_id) references troupe.agents(
  id) on delete cascade;
alter table troupe.agent_tools add constraint agent_tools_tool_id_fkey foreign key (tool_id) references troupe.tools(
  id);
alter table troupe.agent_versions add constraint agent_versions_agent_id_fkey foreign key (
  agent_id) references troupe.agents(id);
alter table troupe.agent_versions add constraint agent_versions_snapshot_id_fkey foreign key (
  snapshot_id) references troupe.compiled_snapshots(id);
alter table troupe.agents add constraint agents_default_model_id_fkey foreign key (
  default_model_id) references troupe.llm_models(id);
alter table troupe.agents add constraint agents_project_id_fkey foreign key (project_id) references troupe.projects(id);
alter table troupe.api_keys add constraint api_keys_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.audit_log add constraint audit_log_project_id_fkey foreign key (
  project_id) references troupe.projects(id);
alter table troupe.budget_leases add constraint budget_leases_budget_id_fkey foreign key (
  budget_id) references troupe.budgets(id) on delete cascade;
alter table troupe.budgets add constraint budgets_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.clients add constraint clients_entity_id_fkey foreign key (entity_id) references troupe.entities(
  id) on delete cascade;
alter table troupe.clients add constraint clients_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.compiled_snapshots add constraint compiled_snapshots_project_id_fkey foreign key (
  project_id) references troupe.projects(id);
alter table troupe.entities add constraint entities_agent_id_fkey foreign key (agent_id) references troupe.agents(id);
alter table troupe.entities add constraint entities_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.folded_messages add constraint folded_messages_space_id_fkey foreign key (
  space_id) references troupe.spaces(id) on delete cascade;
alter table troupe.goals add constraint goals_entity_id_fkey foreign key (entity_id) references troupe.entities(id);
alter table troupe.goals add constraint goals_owner_id_fkey foreign key (owner_id) references troupe.entities(id);
alter table troupe.goals add constraint goals_project_id_fkey foreign key (project_id) references troupe.projects(id);
alter table troupe.idempotency_keys add constraint idempotency_keys_project_id_fkey foreign key (
  project_id) references troupe.projects(id) on delete cascade;
alter table troupe.llm_models add constraint llm_models_project_id_fkey foreign key (
  project_id) references troupe.projects(id);
alter table troupe.llm_models add constraint llm_models_provider_id_fkey foreign key (
  provider_id) references troupe.llm_providers(id);
alter table troupe.llm_providers add constraint llm_providers_project_id_fkey foreign key (
  project_id) references troupe.projects(id);
alter table troupe.mcp_servers add constraint mcp_servers_project_id_fkey foreign key (
  project_id) references troupe.projects(id);
alter table troupe.memberships add constraint memberships_entity_id_fkey foreign key (
  entity_id) references troupe.entities(id) on delete cascade;
alter table troupe.memberships add constraint memberships_space_id_fkey foreign key (space_id) references troupe.spaces(
  id) on delete cascade;
alter table troupe.memories add constraint memories_entity_id_fkey foreign key (entity_id) references troupe.entities(
  id);
alter table troupe.memories add constraint memories_owner_id_fkey foreign key (owner_id) references troupe.entities(id);
alter table troupe.memories add constraint memories_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.network_agent_tools add constraint network_agent_tools_network_id_network_agent_id_fkey foreign key (
  network_id, network_agent_id) references troupe.network_agents(network_id, id) on delete cascade;
alter table troupe.network_agent_tools add constraint network_agent_tools_network_id_tool_id_fkey foreign key (
  network_id, tool_id) references troupe.network_tools(network_id, tool_id);
alter table troupe.network_agents add constraint network_agents_agent_id_fkey foreign key (
  agent_id) references troupe.agents(id);
alter table troupe.network_agents add constraint network_agents_model_id_fkey foreign key (
  model_id) references troupe.llm_models(id);
alter table troupe.network_agents add constraint network_agents_network_id_fkey foreign key (
  network_id) references troupe.networks(id) on delete cascade;
alter table troupe.network_batch_items add constraint network_batch_items_batch_id_row_number_fkey foreign key (
  batch_id, row_number) references troupe.network_batch_rows(batch_id, row_number) on delete cascade;
alter table troupe.network_batch_rows add constraint network_batch_rows_batch_id_fkey foreign key (
  batch_id) references troupe.network_batches(id) on delete cascade;
alter table troupe.network_batch_sealed add constraint network_batch_sealed_batch_id_fkey foreign key (
  batch_id) references troupe.network_batches(id) on delete cascade;
alter table troupe.network_batches add constraint network_batches_snapshot_id_fkey foreign key (
  snapshot_id) references troupe.compiled_snapshots(id);
alter table troupe.network_routes add constraint network_routes_network_id_from_id_fkey foreign key (network_id,
  from_id) references troupe.network_agents(network_id, id) on delete cascade;
alter table troupe.network_routes add constraint network_routes_network_id_to_id_fkey foreign key (network_id,
  to_id) references troupe.network_agents(network_id, id);
alter table troupe.network_tools add constraint network_tools_network_id_fkey foreign key (
  network_id) references troupe.networks(id) on delete cascade;
alter table troupe.network_tools add constraint network_tools_tool_id_fkey foreign key (
  tool_id) references troupe.tools(id);
alter table troupe.network_versions add constraint network_versions_network_id_fkey foreign key (
  network_id) references troupe.networks(id) on delete cascade;
alter table troupe.network_versions add constraint network_versions_snapshot_id_fkey foreign key (
  snapshot_id) references troupe.compiled_snapshots(id);
alter table troupe.plans add constraint plans_agent_id_fkey foreign key (agent_id) references troupe.agents(id);
alter table troupe.plans add constraint plans_entity_id_fkey foreign key (entity_id) references troupe.entities(id);
alter table troupe.plans add constraint plans_project_id_fkey foreign key (project_id) references troupe.projects(id);
alter table troupe.projects add constraint projects_default_model_id_fkey foreign key (
  default_model_id) references troupe.llm_models(id);
alter table troupe.reply_waits add constraint reply_waits_space_id_fkey foreign key (space_id) references troupe.spaces(
  id) on delete cascade;
alter table troupe.secrets add constraint secrets_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.sessions add constraint sessions_agent_id_fkey foreign key (agent_id) references troupe.agents(id);
alter table troupe.sessions add constraint sessions_entity_id_fkey foreign key (entity_id) references troupe.entities(
  id);
alter table troupe.sessions add constraint sessions_model_id_fkey foreign key (model_id) references troupe.llm_models(
  id);
alter table troupe.sessions add constraint sessions_project_id_fkey foreign key (project_id) references troupe.projects(
  id);
alter table troupe.sub_agents add constraint sub_agents_task_id_fkey foreign key (task_id) references troupe.tasks(
  id) on delete cascade;
alter table troupe.tools add constraint tools_mcp_server foreign key (project_id,
  mcp_server_id) references troupe.mcp_servers(project_id, id);
alter table troupe.tools add constraint tools_project_id_fkey foreign key (project_id) references troupe.projects(id);
alter table troupe.trigger_attempts add constraint trigger_attempts_delivery_id_fkey foreign key (
  delivery_id) references troupe.trigger_deliveries(id) on delete cascade;
alter table troupe.trigger_deliveries add constraint trigger_deliveries_trigger_id_fkey foreign key (
  trigger_id) references troupe.triggers(id) on delete cascade;
alter table troupe.trigger_versions add constraint trigger_versions_trigger_id_fkey foreign key (
  trigger_id) references troupe.triggers(id) on delete cascade;
alter table troupe.triggers add constraint triggers_project_id_fkey foreign key (project_id) references troupe.projects(
  id);


create index agent_tools_tool ON troupe.agent_tools USING btree (tool_id);
create unique index agents_name ON troupe.agents USING btree (project_id, troupe.folded(name));
create index agents_newest ON troupe.agents USING btree (project_id, id DESC);
create index agents_tags ON troupe.agents USING gin (tags);
create index api_keys_project ON troupe.api_keys USING btree (project_id, id);
create index audit_log_project ON troupe.audit_log USING btree (project_id, id DESC);
create index budgets_xid ON troupe.budgets USING btree (xid);
create index changes_path ON troupe.changes USING btree (path, id);
create index clients_entity ON troupe.clients USING btree (entity_id, id DESC);
create index ended_runs_oldest ON troupe.ended_runs USING btree (ended_at);
create unique index entities_external ON troupe.entities USING btree (project_id, external_id)
  where (external_id is not null);
create index folded_messages_run ON troupe.folded_messages USING btree (run_id);
create index folded_messages_space ON troupe.folded_messages USING btree (space_id);
create index goals_owner ON troupe.goals USING btree (entity_id, owner_id, priority, id);
create index idempotency_keys_age ON troupe.idempotency_keys USING btree (created_at);
create unique index llm_models_default ON troupe.llm_models USING btree (project_id) WHERE is_default;
create unique index llm_providers_name ON troupe.llm_providers USING btree (project_id, troupe.folded(name));
create unique index mcp_servers_name ON troupe.mcp_servers USING btree (project_id, troupe.folded(name));
create index mcp_servers_newest ON troupe.mcp_servers USING btree (project_id, id DESC);
create index memberships_entity ON troupe.memberships USING btree (entity_id);
create index memberships_xid ON troupe.memberships USING btree (xid);
create unique index messages_id ON troupe.messages USING btree (id);
create index messages_xid ON troupe.messages USING brin (xid) with (pages_per_range='16', autosummarize='on');
create index network_agent_tools_tool ON troupe.network_agent_tools USING btree (network_id, tool_id);
create index network_agents_agent ON troupe.network_agents USING btree (agent_id) where (agent_id is not null);
create unique index network_agents_default ON troupe.network_agents USING btree (network_id) WHERE is_default;
create unique index network_agents_key ON troupe.network_agents USING btree (network_id, lower(key));
create index network_batch_items_open ON troupe.network_batch_items USING btree (batch_id, row_number, iteration)
  where (status in ('pending', 'queued', 'running'));
create index network_batches_newest ON troupe.network_batches USING btree (project_id, network_id, id DESC);
create index network_routes_to ON troupe.network_routes USING btree (network_id, to_id);
create index network_tools_tool ON troupe.network_tools USING btree (tool_id);
create unique index networks_name ON troupe.networks USING btree (project_id, troupe.folded(name));
create index networks_newest ON troupe.networks USING btree (project_id, id DESC);
create index plans_agent ON troupe.plans USING btree (agent_id, id DESC);
create index plans_due ON troupe.plans USING btree (next_run_at) where (status = 'pending');
create unique index plans_name ON troupe.plans USING btree (entity_id, troupe.folded(name));
create unique index projects_name ON troupe.projects USING btree (troupe.folded(name));
create index reply_waits_space ON troupe.reply_waits USING btree (space_id);
create index run_prompts_age ON troupe.run_prompts USING brin (created_at) with (pages_per_range='16',
  autosummarize='on');
create index run_prompts_space ON troupe.run_prompts USING btree (space_id) where (space_id is not null);
create index run_shown_space ON troupe.run_shown USING btree (space_id);
create index run_steps_budgeted ON troupe.run_steps USING btree (worker_id) WHERE budgeted;
create index runs_active_space ON troupe.runs USING btree (active_space_id) where ((active_space_id is not null)
  and (status in ('queued', 'running', 'waiting_tool', 'waiting_reply')));
create index runs_blocked ON troupe.runs USING btree (thread_id, trigger_seq)
  where ((status = 'queued') and (NOT ready));
create unique index runs_children ON troupe.runs USING btree (parent_run_id, parent_call_id)
  where (parent_call_id is not null);
create index runs_ended ON troupe.runs USING btree (project_id, status,
  coalesce(completed_at, canceled_at)) include (id, agent_id, network_id, created_at, completed_at, canceled_at,
  input_tokens, output_tokens, cost) where (status in ('completed', 'failed', 'canceled'));
create index runs_held ON troupe.runs USING btree (worker_id) where (status = 'running');
create index runs_lane ON troupe.runs USING btree (lane, run_at) where ((status in ('queued', 'running'))
  and (lane is not null));
create index runs_lane_waiting ON troupe.runs USING btree (lane)
  where ((lane is not null) and (status = 'waiting_tool'));
create index runs_network ON troupe.runs USING btree (network_id, id DESC) where (network_id is not null);
create index runs_of_agent ON troupe.runs USING btree (entity_id, id DESC) where (door = 'space');
create index runs_of_root ON troupe.runs USING btree (root_run_id) where (parent_call_id is not null);
create index runs_origin ON troupe.runs USING btree (origin_id) where ((origin_id is not null) and (chain_depth > 0));
create index runs_project ON troupe.runs USING btree (project_id, id);
create index runs_queued ON troupe.runs USING btree (run_at) where ((status = 'queued') AND ready AND (lane is null)
  and (code_tools is null));
create index runs_queued_code ON troupe.runs USING btree (code_tools, run_at)
  where ((status = 'queued') AND ready AND (lane is null) and (code_tools is not null));
create index runs_sealed ON troupe.runs USING btree (id) where (sealed is not null);
create index runs_space ON troupe.runs USING btree (space_id, id) where (space_id is not null);
create index runs_space_live ON troupe.runs USING btree (space_id)
  where ((space_id is not null) and (status in ('queued', 'running', 'waiting_tool', 'waiting_reply')));
create index runs_task ON troupe.runs USING btree (task_id, id) where (task_id is not null);
create index runs_tasks_of_root ON troupe.runs USING btree (root_run_id)
  where ((task_id is not null) and (parent_call_id is null));
create index runs_thread ON troupe.runs USING btree (thread_id, created_at DESC);
create unique index runs_trigger ON troupe.runs USING btree (entity_id, trigger_message_id)
  where (trigger_message_id is not null);
create index runs_waiting ON troupe.runs USING btree (wait_deadline)
  where (status in ('waiting_tool', 'waiting_reply'));
create index runs_xid ON troupe.runs USING btree (xid);
create index sessions_agent ON troupe.sessions USING btree (agent_id, id DESC);
create index sessions_entity ON troupe.sessions USING btree (entity_id, id DESC);
create index sessions_project ON troupe.sessions USING btree (project_id, created_at DESC);
create index sessions_xid ON troupe.sessions USING btree (xid);
create index spaces_project ON troupe.spaces USING btree (project_id, id DESC);
create index spaces_xid ON troupe.spaces USING btree (xid);
create index sub_agents_project ON troupe.sub_agents USING btree (project_id, id DESC);
create unique index sub_agents_task ON troupe.sub_agents USING btree (task_id);
create index sub_agents_user ON troupe.sub_agents USING btree (user_id, xid);
create index sub_agents_xid ON troupe.sub_agents USING btree (xid);
create index tasks_chat ON troupe.tasks USING btree (chat_id, id DESC);
create index tasks_parent ON troupe.tasks USING btree (parent_task_id) where (parent_task_id is not null);
create index tasks_project ON troupe.tasks USING btree (project_id, id DESC);
create index tasks_run ON troupe.tasks USING btree (run_id);
create index tasks_trigger_message ON troupe.tasks USING btree (trigger_message_id);
create index tasks_user ON troupe.tasks USING btree (user_id, xid);
create index tasks_xid ON troupe.tasks USING btree (xid);
create index tombstones_entity ON troupe.tombstones USING btree (entity_id, collection, xid)
  where (entity_id is not null);
create index tombstones_gone_at ON troupe.tombstones USING brin (gone_at) with (pages_per_range='16',
  autosummarize='on');
create index tombstones_place ON troupe.tombstones USING btree (place_id, collection, xid) where (place_id is not null);
create index tombstones_project ON troupe.tombstones USING btree (project_id, collection, xid);
create index tombstones_xid ON troupe.tombstones USING btree (xid);
create index tool_calls_waiting ON troupe.tool_calls USING btree (run_id) where (waits_for is not null);
create index tool_calls_xid ON troupe.tool_calls USING brin (xid) with (pages_per_range='16', autosummarize='on');
create index tools_mcp_server ON troupe.tools USING btree (mcp_server_id) where (mcp_server_id is not null);
create unique index tools_name ON troupe.tools USING btree (project_id, lower(name));
create index tools_newest ON troupe.tools USING btree (project_id, id DESC);
create index trigger_deliveries_chat ON troupe.trigger_deliveries USING btree (chat_id) where (chat_id is not null);
create index trigger_deliveries_dead ON troupe.trigger_deliveries USING btree (trigger_id) where (status = 'dead');
create index trigger_deliveries_document ON troupe.trigger_deliveries USING btree (project_id, document_id, id DESC);
create index trigger_deliveries_due ON troupe.trigger_deliveries USING btree (next_attempt_at)
  where (status = 'pending');
create index trigger_deliveries_ended ON troupe.trigger_deliveries USING btree (ended_at)
  where (status in ('delivered', 'dead'));
create index trigger_deliveries_leased ON troupe.trigger_deliveries USING btree (lease_until)
  where (status = 'sending');
create index trigger_deliveries_made ON troupe.trigger_deliveries USING btree (trigger_id, ended_at)
  where (status = 'delivered');
create index trigger_deliveries_newest ON troupe.trigger_deliveries USING btree (project_id, id DESC);
create index trigger_deliveries_of ON troupe.trigger_deliveries USING btree (trigger_id, id DESC);
create index trigger_deliveries_order ON troupe.trigger_deliveries USING btree (trigger_id, path, change_id)
  where (status in ('pending', 'sending'));
create index trigger_deliveries_path ON troupe.trigger_deliveries USING btree (project_id, path, id DESC);
create index trigger_deliveries_sending ON troupe.trigger_deliveries USING btree (trigger_id)
  where (status = 'sending');
create index trigger_deliveries_user ON troupe.trigger_deliveries USING btree (user_id) where (user_id is not null);
create unique index triggers_name ON troupe.triggers USING btree (project_id, lower(name));

insert into troupe.captured (trigger_name, table_name, collections) values
  ('tasks_capture', 'tasks', '{tasks}'),
  ('sub_agents_capture', 'sub_agents', '{sub_agents}'),
  ('sessions_capture', 'sessions', '{sessions}'),
  ('spaces_capture', 'spaces', '{spaces}'),
  ('memberships_capture', 'memberships', '{memberships}'),
  ('runs_capture', 'runs', '{runs}'),
  ('tool_calls_capture', 'tool_calls', '{sub_agent_tool_calls}'),
  ('messages_capture', 'messages', '{messages,sub_agent_messages}');
