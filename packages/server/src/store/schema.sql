-- The schema `troupe` as the migrations leave it. Written by `npm run schema`; read it, do not edit it.
set check_function_bodies = off;
create schema troupe;

create type troupe.call_status as enum ('requested', 'running', 'completed', 'failed', 'canceled', 'expired', 'in_doubt');
create type troupe.cancel_reason as enum ('user', 'absorbed', 'timeout', 'budget', 'superseded', 'parent');
create type troupe.message_role as enum ('user', 'assistant', 'tool_call', 'tool_result', 'system');
create type troupe.run_status as enum ('queued', 'running', 'waiting_tool', 'waiting_reply', 'completed', 'failed', 'canceled');
create type troupe.thread_kind as enum ('session', 'space', 'sub_agent', 'run');
create type troupe.tool_effect as enum ('pure', 'idempotent', 'once');
create type troupe.waits_for as enum ('client', 'approval', 'person', 'task', 'reply', 'answer');
create type troupe.place as (collection text, project_id uuid, user_id uuid, chat_id uuid, sub_agent_id uuid);

create table troupe.agent_capabilities (
  id uuid not null,
  agent_id uuid not null,
  capability_id text not null,
  "position" integer not null,
  config jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  constraint agent_capabilities_pkey PRIMARY KEY (id),
  constraint agent_capabilities_agent_id_capability_id_key UNIQUE (agent_id, capability_id),
  constraint agent_capabilities_agent_id_position_key UNIQUE (agent_id, "position") DEFERRABLE INITIALLY DEFERRED,
  constraint agent_capabilities_capability_id_check CHECK (((length(capability_id) >= 1) AND (length(capability_id) <= 50))),
  constraint agent_capabilities_position_check CHECK (("position" >= 0))
);

create table troupe.agent_tools (
  agent_id uuid not null,
  tool_id uuid not null,
  "position" integer not null,
  constraint agent_tools_pkey PRIMARY KEY (agent_id, tool_id),
  constraint agent_tools_agent_id_position_key UNIQUE (agent_id, "position") DEFERRABLE INITIALLY DEFERRED,
  constraint agent_tools_position_check CHECK (("position" >= 0))
);

create table troupe.agent_versions (
  agent_id uuid not null,
  version integer not null,
  snapshot_id uuid not null,
  definition jsonb not null,
  notes text,
  created_at timestamp with time zone not null default now(),
  constraint agent_versions_pkey PRIMARY KEY (agent_id, version),
  constraint agent_versions_version_check CHECK ((version > 0))
);

create table troupe.agents (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  status text not null default 'active'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  description text,
  system_prompt text not null default ''::text,
  default_model_id uuid,
  tags text[] not null default '{}'::text[],
  config jsonb not null default '{}'::jsonb,
  version integer not null default 0,
  constraint agents_pkey PRIMARY KEY (id),
  constraint agents_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint agents_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text])))
);

create table troupe.api_keys (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  kind text not null,
  prefix text not null,
  hash bytea not null,
  scopes text[] not null default '{}'::text[],
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_hash_key UNIQUE (hash),
  constraint api_keys_hash_check CHECK ((length(hash) = 32)),
  constraint api_keys_kind_check CHECK ((kind = ANY (ARRAY['secret'::text, 'public'::text]))),
  constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

create table troupe.audit_log (
  id bigint not null generated always as identity,
  project_id uuid not null,
  actor_kind text not null,
  actor_id text,
  action text not null,
  target text,
  data jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'dev'::text, 'system'::text])))
);

create table troupe.budget_leases (
  budget_id uuid not null,
  worker_id uuid not null,
  granted bigint not null default 0,
  spent bigint not null default 0,
  returned bigint not null default 0,
  constraint budget_leases_pkey PRIMARY KEY (budget_id, worker_id),
  constraint budget_leases_returned_check CHECK ((returned >= 0)),
  constraint budget_leases_spent_check CHECK ((spent >= 0))
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
  on_exhausted text not null default 'stop'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint budgets_pkey PRIMARY KEY (id),
  constraint budgets_scope_scope_id_unit_key UNIQUE (scope, scope_id, unit),
  constraint budgets_amount_check CHECK ((amount >= 0)),
  constraint budgets_leased_check CHECK ((leased >= 0)),
  constraint budgets_on_exhausted_check CHECK ((on_exhausted = ANY (ARRAY['stop'::text, 'fallback'::text, 'wait'::text]))),
  constraint budgets_scope_check CHECK ((scope = ANY (ARRAY['project'::text, 'agent'::text, 'space'::text, 'session'::text, 'run_tree'::text]))),
  constraint budgets_spent_check CHECK ((spent >= 0)),
  constraint budgets_unit_check CHECK ((unit = ANY (ARRAY['tokens'::text, 'cost'::text])))
);

create table troupe.captured (
  trigger_name text not null,
  table_name text not null,
  collections text[] not null,
  constraint captured_pkey PRIMARY KEY (trigger_name)
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
  created_at timestamp with time zone not null default now(),
  constraint changes_pkey PRIMARY KEY (id)
);

create table troupe.clients (
  id uuid not null,
  project_id uuid not null,
  entity_id uuid not null,
  client_key text not null,
  client_type text,
  display_name text,
  capabilities jsonb not null default '{}'::jsonb,
  last_seen_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint clients_pkey PRIMARY KEY (id),
  constraint clients_project_id_client_key_key UNIQUE (project_id, client_key),
  constraint clients_client_key_check CHECK (((length(client_key) >= 1) AND (length(client_key) <= 200)))
);

create table troupe.code_tools (
  names text[] not null,
  seen_at timestamp with time zone not null default now(),
  constraint code_tools_pkey PRIMARY KEY (names)
);

create table troupe.compiled_snapshots (
  id uuid not null,
  project_id uuid not null,
  checksum text not null,
  compiled jsonb not null,
  created_at timestamp with time zone not null default now(),
  code_tools text[],
  constraint compiled_snapshots_pkey PRIMARY KEY (id),
  constraint compiled_snapshots_project_id_checksum_key UNIQUE (project_id, checksum),
  constraint compiled_snapshots_checksum_check CHECK ((checksum ~ '^[0-9a-f]{64}$'::text))
);

create unlogged table troupe.ended_runs (
  run_id uuid not null,
  lives integer not null,
  ended_at timestamp with time zone not null default now(),
  constraint ended_runs_pkey PRIMARY KEY (run_id, lives)
);

create table troupe.entities (
  id uuid not null,
  project_id uuid not null,
  type text not null,
  external_id text,
  display_name text,
  agent_id uuid,
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint entities_pkey PRIMARY KEY (id),
  constraint entities_agent_id_key UNIQUE (agent_id),
  constraint entities_check CHECK (((type = 'agent'::text) = (agent_id IS NOT NULL))),
  constraint entities_type_check CHECK ((type = ANY (ARRAY['human'::text, 'agent'::text])))
);

create table troupe.events (
  thread_id uuid not null,
  seq bigint not null,
  type text not null,
  data jsonb,
  message_seq bigint,
  run_id uuid,
  step integer,
  created_at timestamp with time zone not null default now(),
  constraint events_pkey PRIMARY KEY (thread_id, seq)
);

create table troupe.file_totals (
  thread_id uuid not null,
  files integer not null default 0,
  bytes bigint not null default 0,
  constraint file_totals_pkey PRIMARY KEY (thread_id),
  constraint file_totals_bytes_check CHECK ((bytes >= 0)),
  constraint file_totals_files_check CHECK ((files >= 0))
);

create table troupe.files (
  thread_id uuid not null,
  path text not null,
  content bytea not null,
  type text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint files_pkey PRIMARY KEY (thread_id, path),
  constraint files_path_check CHECK (((path ~~ '/%'::text) AND ((length(path) >= 2) AND (length(path) <= 1000))))
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
  created_at timestamp with time zone not null default now(),
  constraint findings_pkey PRIMARY KEY (thread_id, seq),
  constraint findings_thread_id_run_id_call_id_key UNIQUE (thread_id, run_id, call_id),
  constraint findings_confidence_check CHECK ((confidence = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text])))
);

create table troupe.folded_messages (
  entity_id uuid not null,
  message_id uuid not null,
  run_id uuid not null,
  space_id uuid not null,
  constraint folded_messages_pkey PRIMARY KEY (entity_id, message_id)
);

create table troupe.goals (
  id uuid not null,
  project_id uuid not null,
  entity_id uuid not null,
  description text not null,
  status text not null default 'active'::text,
  priority integer not null default 3,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  owner_id uuid not null,
  constraint goals_pkey PRIMARY KEY (id),
  constraint goals_description_check CHECK (((length(description) >= 1) AND (length(description) <= 10000))),
  constraint goals_priority_check CHECK (((priority >= 1) AND (priority <= 5))),
  constraint goals_status_check CHECK ((status = ANY (ARRAY['active'::text, 'completed'::text, 'abandoned'::text])))
);

create table troupe.idempotency_keys (
  project_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  status integer,
  body jsonb,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_pkey PRIMARY KEY (project_id, key),
  constraint idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 200)))
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
  constraint joins_pkey PRIMARY KEY (id),
  constraint joins_what_check CHECK ((what = ANY (ARRAY['event'::text, 'question'::text, 'end'::text, 'cancel'::text, 'delete'::text])))
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
  status text not null default 'active'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint llm_models_pkey PRIMARY KEY (id),
  constraint llm_models_provider_id_model_id_key UNIQUE (provider_id, model_id),
  constraint llm_models_context_tokens_check CHECK ((context_tokens > 0)),
  constraint llm_models_input_price_check CHECK ((input_price >= (0)::double precision)),
  constraint llm_models_max_output_tokens_check CHECK ((max_output_tokens > 0)),
  constraint llm_models_model_id_check CHECK (((length(model_id) >= 1) AND (length(model_id) <= 200))),
  constraint llm_models_output_price_check CHECK ((output_price >= (0)::double precision)),
  constraint llm_models_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])))
);

create table troupe.llm_providers (
  id uuid not null,
  project_id uuid not null,
  kind text not null,
  name text not null,
  base_url text,
  key_envelope jsonb,
  status text not null default 'active'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint llm_providers_pkey PRIMARY KEY (id),
  constraint llm_providers_kind_check CHECK ((kind = ANY (ARRAY['openai'::text, 'anthropic'::text, 'openai_compatible'::text, 'demo'::text]))),
  constraint llm_providers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint llm_providers_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])))
);

create table troupe.mcp_servers (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  transport text not null,
  url text,
  headers jsonb not null default '{}'::jsonb,
  command text,
  args jsonb not null default '[]'::jsonb,
  env jsonb not null default '{}'::jsonb,
  allow jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint mcp_servers_pkey PRIMARY KEY (id),
  constraint mcp_servers_project_id_id_key UNIQUE (project_id, id),
  constraint mcp_servers_check CHECK (((transport = 'http'::text) = (url IS NOT NULL))),
  constraint mcp_servers_check1 CHECK (((transport = 'stdio'::text) = (command IS NOT NULL))),
  constraint mcp_servers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint mcp_servers_transport_check CHECK ((transport = ANY (ARRAY['http'::text, 'stdio'::text])))
);

create table troupe.memberships (
  space_id uuid not null,
  entity_id uuid not null,
  role text not null default 'member'::text,
  ordering text not null default 'parallel'::text,
  joined_seq bigint not null,
  seen int8multirange not null default '{}'::int8multirange,
  last_processed_seq bigint not null,
  last_processed_message_id uuid,
  last_seen_seq bigint not null default 0,
  last_seen_message_id uuid,
  joined_at timestamp with time zone not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  joined_xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint memberships_pkey PRIMARY KEY (space_id, entity_id),
  constraint memberships_ordering_check CHECK ((ordering = ANY (ARRAY['parallel'::text, 'serial'::text]))),
  constraint memberships_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);

create table troupe.memories (
  project_id uuid not null,
  entity_id uuid not null,
  key text not null,
  value text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  owner_id uuid not null,
  constraint memories_pkey PRIMARY KEY (entity_id, owner_id, key),
  constraint memories_key_check CHECK (((length(key) >= 1) AND (length(key) <= 200))),
  constraint memories_value_check CHECK ((length(value) <= 10000))
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
  created_at timestamp with time zone not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint messages_pkey PRIMARY KEY (thread_id, seq)
);

create table troupe.migrations (
  id integer not null,
  name text not null,
  breaking boolean not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (id)
);

create table troupe.network_agent_tools (
  network_id uuid not null,
  network_agent_id uuid not null,
  tool_id uuid not null,
  "position" integer not null,
  constraint network_agent_tools_pkey PRIMARY KEY (network_agent_id, tool_id)
);

create table troupe.network_agents (
  id uuid not null,
  network_id uuid not null,
  "position" integer not null,
  key text not null,
  agent_id uuid,
  display_name text,
  description text not null default ''::text,
  prompt text not null default ''::text,
  model_id uuid,
  allow_respond boolean not null default false,
  is_default boolean not null default false,
  metadata jsonb not null default '{}'::jsonb,
  allow_task_group boolean not null default false,
  constraint network_agents_pkey PRIMARY KEY (id),
  constraint network_agents_network_id_id_key UNIQUE (network_id, id),
  constraint network_agents_key_check CHECK ((key ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$'::text))
);

create table troupe.network_batch_items (
  batch_id uuid not null,
  row_number integer not null,
  iteration integer not null,
  attempt integer not null default 1,
  status text not null default 'pending'::text,
  run_id uuid,
  canceling boolean not null default false,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost bigint not null default 0,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint network_batch_items_pkey PRIMARY KEY (batch_id, row_number, iteration),
  constraint network_batch_items_run_id_key UNIQUE (run_id),
  constraint network_batch_items_check CHECK ((((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text])) = (run_id IS NOT NULL)) OR (status = 'canceled'::text))),
  constraint network_batch_items_iteration_check CHECK ((iteration > 0)),
  constraint network_batch_items_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'queued'::text, 'running'::text, 'completed'::text, 'failed'::text, 'canceled'::text, 'bad'::text])))
);

create table troupe.network_batch_rows (
  batch_id uuid not null,
  row_number integer not null,
  input jsonb,
  metadata jsonb not null default '{}'::jsonb,
  error jsonb,
  constraint network_batch_rows_pkey PRIMARY KEY (batch_id, row_number),
  constraint network_batch_rows_check CHECK (((input IS NULL) = (error IS NOT NULL))),
  constraint network_batch_rows_row_number_check CHECK ((row_number > 0))
);

create table troupe.network_batch_sealed (
  batch_id uuid not null,
  row_group integer not null,
  sealed jsonb not null,
  constraint network_batch_sealed_pkey PRIMARY KEY (batch_id, row_group)
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
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  canceled_at timestamp with time zone,
  constraint network_batches_pkey PRIMARY KEY (id),
  constraint network_batches_concurrency_check CHECK ((concurrency > 0)),
  constraint network_batches_iterations_check CHECK ((iterations > 0))
);

create table troupe.network_routes (
  network_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  "position" integer not null,
  constraint network_routes_pkey PRIMARY KEY (from_id, to_id),
  constraint network_routes_check CHECK ((from_id <> to_id))
);

create table troupe.network_tools (
  network_id uuid not null,
  tool_id uuid not null,
  "position" integer not null,
  description text,
  params jsonb,
  constraint network_tools_pkey PRIMARY KEY (network_id, tool_id)
);

create table troupe.network_versions (
  network_id uuid not null,
  version integer not null,
  snapshot_id uuid not null,
  definition jsonb not null,
  created_by text not null,
  published_by text not null,
  published_at timestamp with time zone not null default now(),
  notes text,
  constraint network_versions_pkey PRIMARY KEY (network_id, version),
  constraint network_versions_version_check CHECK ((version > 0))
);

create table troupe.networks (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  description text,
  status text not null default 'draft'::text,
  current_version integer,
  policy jsonb not null,
  response jsonb not null,
  log_policy jsonb not null,
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint networks_pkey PRIMARY KEY (id),
  constraint networks_check CHECK (((status <> 'published'::text) OR (current_version IS NOT NULL))),
  constraint networks_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint networks_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text])))
);

create table troupe.plans (
  id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  entity_id uuid not null,
  name text not null,
  instruction text not null default ''::text,
  run_after text,
  scheduled_at timestamp with time zone,
  cron text,
  time_zone text,
  status text not null default 'pending'::text,
  next_run_at timestamp with time zone,
  last_run_at timestamp with time zone,
  last_run_id uuid,
  version integer not null default 1,
  set_by text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint plans_pkey PRIMARY KEY (id),
  constraint plans_instruction_check CHECK ((length(instruction) <= 20000)),
  constraint plans_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint plans_next_run CHECK (((status = 'pending'::text) = (next_run_at IS NOT NULL))),
  constraint plans_one_time CHECK ((num_nonnulls(run_after, scheduled_at, cron) = 1)),
  constraint plans_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'completed'::text, 'canceled'::text]))),
  constraint plans_time_zone CHECK (((cron IS NULL) = (time_zone IS NULL)))
);

create table troupe.projects (
  id uuid not null,
  name text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  tokens jsonb,
  default_model_id uuid,
  environment_kinds text[] not null default '{}'::text[],
  outgoing jsonb not null default '{"allow": []}'::jsonb,
  agents_brought boolean not null default false,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

create table troupe.purged_tombstones (
  project_id uuid not null,
  xid bigint not null,
  constraint purged_tombstones_pkey PRIMARY KEY (project_id)
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
  replies jsonb not null default '[]'::jsonb,
  timeout_ms bigint not null,
  started_at timestamp with time zone not null default now(),
  constraint reply_waits_pkey PRIMARY KEY (run_id, call_id)
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
  constraint run_heads_pkey PRIMARY KEY (run_id)
) with (fillfactor=50);

create table troupe.run_prompts (
  run_id uuid not null,
  step integer not null,
  space_id uuid,
  system text not null,
  created_at timestamp with time zone not null default now(),
  constraint run_prompts_pkey PRIMARY KEY (run_id, step)
);

create table troupe.run_shown (
  run_id uuid not null,
  space_id uuid not null,
  seqs int8multirange not null default '{}'::int8multirange,
  prompt_upto bigint,
  constraint run_shown_pkey PRIMARY KEY (run_id, space_id)
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
  started_at timestamp with time zone not null,
  first_token_at timestamp with time zone,
  finished_at timestamp with time zone not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost bigint not null,
  finish_reason text not null,
  decision jsonb,
  budgeted boolean not null default false,
  constraint run_steps_pkey PRIMARY KEY (run_id, step)
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
  trigger jsonb not null default '{}'::jsonb,
  chain_depth integer not null default 0,
  status troupe.run_status not null default 'queued'::troupe.run_status,
  serial boolean not null default false,
  ready boolean not null default true,
  lane text,
  lane_limit integer,
  run_at timestamp with time zone not null default now(),
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
  wait_deadline timestamp with time zone,
  wall_ms bigint not null,
  deadline_at timestamp with time zone,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost bigint not null default 0,
  budget_ids uuid[],
  outcome jsonb,
  error jsonb,
  cancel_reason troupe.cancel_reason,
  absorbed_by uuid,
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  canceled_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(),
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
  constraint runs_pkey PRIMARY KEY (id)
) with (fillfactor=60);

create table troupe.secrets (
  project_id uuid not null,
  name text not null,
  envelope jsonb not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint secrets_pkey PRIMARY KEY (project_id, name),
  constraint secrets_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

create table troupe.sessions (
  id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  entity_id uuid not null,
  thread_id uuid not null,
  title text,
  tags text[] not null default '{}'::text[],
  model_id uuid,
  policy text not null default 'queue'::text,
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_thread_id_key UNIQUE (thread_id),
  constraint sessions_policy_check CHECK ((policy = ANY (ARRAY['queue'::text, 'steer'::text, 'interrupt'::text, 'reject'::text]))),
  constraint sessions_title_check CHECK (((length(title) >= 1) AND (length(title) <= 200)))
);

create table troupe.spaces (
  id uuid not null,
  project_id uuid not null,
  name text,
  description text,
  policy text not null default 'all'::text,
  chain_depth integer not null default 8,
  agent_runs integer not null default 50,
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint spaces_pkey PRIMARY KEY (id),
  constraint spaces_agent_runs_check CHECK (((agent_runs >= 0) AND (agent_runs <= 1000))),
  constraint spaces_chain_depth_check CHECK (((chain_depth >= 1) AND (chain_depth <= 100))),
  constraint spaces_description_check CHECK ((length(description) <= 10000)),
  constraint spaces_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint spaces_policy_check CHECK ((policy = ANY (ARRAY['all'::text, 'mentions'::text, 'humans'::text])))
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
  status text not null default 'active'::text,
  iteration_count integer not null default 0,
  summary text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  xid bigint not null,
  constraint sub_agents_pkey PRIMARY KEY (id),
  constraint sub_agents_thread_id_key UNIQUE (thread_id),
  constraint sub_agents_status_check CHECK ((status = ANY (ARRAY['active'::text, 'waiting_for_user'::text, 'completed'::text, 'failed'::text])))
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
  status text not null default 'pending'::text,
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
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  xid bigint not null,
  chat_thread_id uuid,
  quiet boolean not null default false,
  constraint tasks_pkey PRIMARY KEY (id),
  constraint tasks_check CHECK (((type = 'agent'::text) OR (sub_agent_id IS NULL))),
  constraint tasks_check1 CHECK (((status <> 'waiting'::text) OR (question IS NOT NULL))),
  constraint tasks_depth_check CHECK ((depth >= 1)),
  constraint tasks_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
  constraint tasks_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text, 'success'::text, 'failed'::text, 'canceled'::text]))),
  constraint tasks_type_check CHECK ((type = ANY (ARRAY['agent'::text, 'tool'::text])))
);

create table troupe.threads (
  id uuid not null,
  project_id uuid not null,
  kind troupe.thread_kind not null,
  last_message_seq bigint not null default 0,
  last_event_seq bigint not null default 0,
  active_run_id uuid,
  created_at timestamp with time zone not null default now(),
  failed_run_id uuid,
  constraint threads_pkey PRIMARY KEY (id)
) with (fillfactor=60);

create table troupe.todo_lists (
  thread_id uuid not null,
  items jsonb not null,
  updated_at timestamp with time zone not null default now(),
  constraint todo_lists_pkey PRIMARY KEY (thread_id)
);

create table troupe.tombstones (
  collection text not null,
  id text not null,
  project_id uuid not null,
  entity_id uuid,
  place_id uuid,
  chat_id uuid,
  was bigint not null,
  born_at timestamp with time zone,
  gone_at timestamp with time zone not null default clock_timestamp(),
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint tombstones_pkey PRIMARY KEY (collection, id, xid)
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
  deadline timestamp with time zone,
  settled_by text,
  created_at timestamp with time zone not null default now(),
  settled_at timestamp with time zone,
  edited boolean not null default false,
  shown jsonb,
  xid bigint not null default ((pg_current_xact_id())::text)::bigint,
  constraint tool_calls_pkey PRIMARY KEY (run_id, call_id)
) with (fillfactor=70);

create table troupe.tools (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  display_name text,
  description text not null default ''::text,
  kind text not null,
  input_schema jsonb not null,
  effect troupe.tool_effect not null default 'once'::troupe.tool_effect,
  approval boolean not null default false,
  visible boolean not null default false,
  config jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  params jsonb,
  mcp_server_id uuid generated always as ((((config -> 'mcp'::text) ->> 'server'::text))::uuid) stored,
  constraint tools_pkey PRIMARY KEY (id),
  constraint tools_kind_check CHECK ((kind = ANY (ARRAY['http'::text, 'client'::text, 'ui'::text, 'static'::text, 'echo'::text, 'mcp'::text, 'code'::text, 'network'::text, 'agent'::text]))),
  constraint tools_mcp CHECK (((kind <> 'mcp'::text) OR (mcp_server_id IS NOT NULL))),
  constraint tools_name_check CHECK ((name ~ '^[A-Za-z_][A-Za-z0-9_-]{0,63}$'::text))
);

create table troupe.trigger_attempts (
  delivery_id uuid not null,
  attempt integer not null,
  started_at timestamp with time zone not null default now(),
  duration_ms integer,
  request jsonb,
  response jsonb,
  error jsonb,
  constraint trigger_attempts_pkey PRIMARY KEY (delivery_id, attempt)
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
  status text not null default 'pending'::text,
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  next_attempt_at timestamp with time zone,
  lease_until timestamp with time zone,
  error jsonb,
  result jsonb,
  changed_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  constraint trigger_deliveries_pkey PRIMARY KEY (id),
  constraint trigger_deliveries_trigger_id_version_change_id_key UNIQUE (trigger_id, version, change_id),
  constraint trigger_deliveries_check CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  constraint trigger_deliveries_check1 CHECK (((status = 'sending'::text) = (lease_until IS NOT NULL))),
  constraint trigger_deliveries_check2 CHECK (((status = ANY (ARRAY['delivered'::text, 'dead'::text])) = (ended_at IS NOT NULL))),
  constraint trigger_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text, 'delivered'::text, 'dead'::text])))
);

create table troupe.trigger_versions (
  trigger_id uuid not null,
  version integer not null,
  definition jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint trigger_versions_pkey PRIMARY KEY (trigger_id, version)
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
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint triggers_pkey PRIMARY KEY (id),
  constraint triggers_name_check CHECK ((name ~ '^[A-Za-z0-9_-]{1,64}$'::text))
);

create table troupe.usage_sums (
  project_id uuid not null,
  every text not null,
  at timestamp with time zone not null,
  sums jsonb not null,
  constraint usage_sums_pkey PRIMARY KEY (project_id, every, at),
  constraint usage_sums_every_check CHECK ((every = ANY (ARRAY['hour'::text, 'day'::text])))
);

create unlogged table troupe.workers (
  incarnation uuid not null,
  host text not null,
  pid integer not null,
  beat bigint not null,
  capacity integer not null default 0,
  load integer not null default 0,
  draining boolean not null default false,
  code_tools text[] not null default '{}'::text[],
  started_at timestamp with time zone not null default now(),
  beat_at timestamp with time zone not null default now(),
  constraint workers_pkey PRIMARY KEY (incarnation)
) with (fillfactor=50);

alter table troupe.agent_capabilities add constraint agent_capabilities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id) ON DELETE CASCADE;
alter table troupe.agent_tools add constraint agent_tools_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id) ON DELETE CASCADE;
alter table troupe.agent_tools add constraint agent_tools_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES troupe.tools(id);
alter table troupe.agent_versions add constraint agent_versions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.agent_versions add constraint agent_versions_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES troupe.compiled_snapshots(id);
alter table troupe.agents add constraint agents_default_model_id_fkey FOREIGN KEY (default_model_id) REFERENCES troupe.llm_models(id);
alter table troupe.agents add constraint agents_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.api_keys add constraint api_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.audit_log add constraint audit_log_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.budget_leases add constraint budget_leases_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES troupe.budgets(id) ON DELETE CASCADE;
alter table troupe.budgets add constraint budgets_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.clients add constraint clients_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id) ON DELETE CASCADE;
alter table troupe.clients add constraint clients_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.compiled_snapshots add constraint compiled_snapshots_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.entities add constraint entities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.entities add constraint entities_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.folded_messages add constraint folded_messages_space_id_fkey FOREIGN KEY (space_id) REFERENCES troupe.spaces(id) ON DELETE CASCADE;
alter table troupe.goals add constraint goals_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id);
alter table troupe.goals add constraint goals_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES troupe.entities(id);
alter table troupe.goals add constraint goals_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.idempotency_keys add constraint idempotency_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id) ON DELETE CASCADE;
alter table troupe.llm_models add constraint llm_models_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.llm_models add constraint llm_models_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES troupe.llm_providers(id);
alter table troupe.llm_providers add constraint llm_providers_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.mcp_servers add constraint mcp_servers_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.memberships add constraint memberships_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id) ON DELETE CASCADE;
alter table troupe.memberships add constraint memberships_space_id_fkey FOREIGN KEY (space_id) REFERENCES troupe.spaces(id) ON DELETE CASCADE;
alter table troupe.memories add constraint memories_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id);
alter table troupe.memories add constraint memories_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES troupe.entities(id);
alter table troupe.memories add constraint memories_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.network_agent_tools add constraint network_agent_tools_network_id_network_agent_id_fkey FOREIGN KEY (network_id, network_agent_id) REFERENCES troupe.network_agents(network_id, id) ON DELETE CASCADE;
alter table troupe.network_agent_tools add constraint network_agent_tools_network_id_tool_id_fkey FOREIGN KEY (network_id, tool_id) REFERENCES troupe.network_tools(network_id, tool_id);
alter table troupe.network_agents add constraint network_agents_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.network_agents add constraint network_agents_model_id_fkey FOREIGN KEY (model_id) REFERENCES troupe.llm_models(id);
alter table troupe.network_agents add constraint network_agents_network_id_fkey FOREIGN KEY (network_id) REFERENCES troupe.networks(id) ON DELETE CASCADE;
alter table troupe.network_batch_items add constraint network_batch_items_batch_id_row_number_fkey FOREIGN KEY (batch_id, row_number) REFERENCES troupe.network_batch_rows(batch_id, row_number) ON DELETE CASCADE;
alter table troupe.network_batch_rows add constraint network_batch_rows_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES troupe.network_batches(id) ON DELETE CASCADE;
alter table troupe.network_batch_sealed add constraint network_batch_sealed_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES troupe.network_batches(id) ON DELETE CASCADE;
alter table troupe.network_batches add constraint network_batches_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES troupe.compiled_snapshots(id);
alter table troupe.network_routes add constraint network_routes_network_id_from_id_fkey FOREIGN KEY (network_id, from_id) REFERENCES troupe.network_agents(network_id, id) ON DELETE CASCADE;
alter table troupe.network_routes add constraint network_routes_network_id_to_id_fkey FOREIGN KEY (network_id, to_id) REFERENCES troupe.network_agents(network_id, id);
alter table troupe.network_tools add constraint network_tools_network_id_fkey FOREIGN KEY (network_id) REFERENCES troupe.networks(id) ON DELETE CASCADE;
alter table troupe.network_tools add constraint network_tools_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES troupe.tools(id);
alter table troupe.network_versions add constraint network_versions_network_id_fkey FOREIGN KEY (network_id) REFERENCES troupe.networks(id) ON DELETE CASCADE;
alter table troupe.network_versions add constraint network_versions_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES troupe.compiled_snapshots(id);
alter table troupe.plans add constraint plans_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.plans add constraint plans_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id);
alter table troupe.plans add constraint plans_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.projects add constraint projects_default_model_id_fkey FOREIGN KEY (default_model_id) REFERENCES troupe.llm_models(id);
alter table troupe.reply_waits add constraint reply_waits_space_id_fkey FOREIGN KEY (space_id) REFERENCES troupe.spaces(id) ON DELETE CASCADE;
alter table troupe.secrets add constraint secrets_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.sessions add constraint sessions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.sessions add constraint sessions_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id);
alter table troupe.sessions add constraint sessions_model_id_fkey FOREIGN KEY (model_id) REFERENCES troupe.llm_models(id);
alter table troupe.sessions add constraint sessions_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.sub_agents add constraint sub_agents_task_id_fkey FOREIGN KEY (task_id) REFERENCES troupe.tasks(id) ON DELETE CASCADE;
alter table troupe.tools add constraint tools_mcp_server FOREIGN KEY (project_id, mcp_server_id) REFERENCES troupe.mcp_servers(project_id, id);
alter table troupe.tools add constraint tools_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.trigger_attempts add constraint trigger_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES troupe.trigger_deliveries(id) ON DELETE CASCADE;
alter table troupe.trigger_deliveries add constraint trigger_deliveries_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES troupe.triggers(id) ON DELETE CASCADE;
alter table troupe.trigger_versions add constraint trigger_versions_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES troupe.triggers(id) ON DELETE CASCADE;
alter table troupe.triggers add constraint triggers_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);

CREATE OR REPLACE FUNCTION troupe.absorb(p_target uuid, p_by uuid, p_worker uuid, p_epoch integer)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  target troupe.runs; absorber troupe.runs; answer jsonb;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_absorb_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into absorber from troupe.runs r where r.id = p_by;
  if absorber.id is null or absorber.status <> 'running' or absorber.epoch <> p_epoch or absorber.worker_id <> p_worker then
    answer := jsonb_build_object('ok', false, 'code', 'absorber_lost');
  elsif target.id is null or target.project_id <> absorber.project_id then
    answer := jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from absorber.entity_id then
    answer := jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.absorbed_by is not null and target.absorbed_by <> p_by then
    answer := jsonb_build_object('ok', false, 'code', 'already_absorbed', 'by', target.absorbed_by);
  elsif target.absorbed_by is null and target.status in ('completed', 'failed', 'canceled') then
    answer := jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status);
  end if;
  if answer is not null then
    perform troupe.pass(r) from troupe.runs r where r.id in (p_target, p_by) order by r.thread_id;
    return answer;
  end if;
  -- What it did, as it stood when it was stopped: a call closed by this very absorption shows as canceled.
  if target.absorbed_by is null then
    perform troupe.end_run(p_target, 'absorbed', null, p_by, 'run.absorbed');
  end if;
  select jsonb_build_object('ok', true, 'run', p_target, 'status', target.status, 'worker', target.worker_id, 'thread', target.thread_id, 'spaces', to_jsonb(array[target.space_id, target.active_space_id]),
    'trigger', target.trigger || jsonb_strip_nulls(jsonb_build_object('type', target.trigger_type, 'messageId', target.trigger_message_id)),
    'actions', coalesce((select jsonb_agg(troupe.call_json(c) order by c.step, c.position) from troupe.tool_calls c where c.run_id = p_target), '[]'))
  into answer;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION troupe.add_finding(p_project uuid, p_thread uuid, p_run uuid, p_call text, p_finding jsonb, p_most integer, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  held int;
  known boolean;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.findings:' || p_thread, 0));
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select count(*), coalesce(bool_or(f.run_id = p_run and f.call_id = p_call), false) into held, known from troupe.findings f where f.thread_id = p_thread;
  if known then
    return jsonb_build_object('ok', true, 'count', held);
  elsif held >= p_most then
    return jsonb_build_object('ok', false, 'code', 'full');
  end if;
  insert into troupe.findings (project_id, thread_id, run_id, call_id, question, claim, source, quote, confidence)
    values (p_project, p_thread, p_run, p_call, p_finding->>'question', p_finding->>'claim', p_finding->>'source', p_finding->>'quote', p_finding->>'confidence');
  return jsonb_build_object('ok', true, 'count', held + 1);
end $function$;

CREATE OR REPLACE FUNCTION troupe.add_member(p_project uuid, p_space uuid, p_by uuid, p_member jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  e uuid; is_new boolean;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  e := troupe.member_entity(p_project, p_member);
  if e is null then
    return jsonb_build_object('ok', false, 'code', case when p_member ? 'agentId' then 'agent_not_found' else 'entity_not_found' end);
  end if;
  insert into troupe.memberships as m (space_id, entity_id, role, ordering, joined_seq, last_processed_seq, joined_at)
    select p_space, e, p_member->>'role', p_member->>'ordering', t.last_message_seq, t.last_message_seq, clock_timestamp() from troupe.threads t where t.id = p_space
    on conflict (space_id, entity_id) do update set role = excluded.role, ordering = excluded.ordering
    returning m.xmax = 0 into is_new;
  if is_new then
    perform troupe.append(p_space, null, null, jsonb_build_array(troupe.member_event('space.member.joined', e, p_member->>'role')));
  end if;
  return jsonb_build_object('ok', true, 'entity', e);
end $function$;

CREATE OR REPLACE FUNCTION troupe.advance(p_worker uuid, p_order integer[], p_run uuid[], p_thread uuid[], p_epoch integer[], p_version integer[], p_known bigint[], p_step integer[], p_input bigint[], p_output bigint[], p_cost bigint[], p_row boolean[], p_steers integer[], p_park boolean[], p_attempt integer[], p_model integer[], p_outside integer[], p_target text[], p_extra jsonb[], message_upto integer[], message_id uuid[], message_role troupe.message_role[], message_content jsonb[], message_call text[], message_step integer[], message_extra jsonb[], event_upto integer[], event_when text[], event_type text[], event_data jsonb[], event_message integer[], event_step integer[], call_upto integer[], call_id text[], call_tool text[], call_args jsonb[], call_effect troupe.tool_effect[], call_status troupe.call_status[], call_extra jsonb[], change_upto integer[], change_id text[], change_status troupe.call_status[], change_output jsonb[], change_error jsonb[], change_extra jsonb[], step_provider text[], step_model text[], step_attempt integer[], step_started double precision[], step_first double precision[], step_finished double precision[], step_finish text[], step_extra jsonb[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  n constant int := cardinality(p_run);
  modes text[] := array_fill('go'::text, array[n]); verdicts jsonb[] := array_fill(null::jsonb, array[n]); rows_locked boolean := p_row is not null;
  i int; k int; o int; from_row int; to_row int; kept int; written int;
  v_run uuid; v_thread uuid; v_epoch int; v_version int; v_step int; v_now int; v_input bigint; v_output bigint; v_cost bigint; v_leaver uuid;
  v_mode text; v_when text; v_extra jsonb; v_id uuid; v_role troupe.message_role; v_json jsonb; v_error jsonb; v_text text; v_tool text;
  v_effect troupe.tool_effect; v_status troupe.call_status; v_number int; v_seq bigint; v_first float8; v_last float8; v_begin float8;
  message_base bigint; event_base bigint; verdict jsonb; opened int[]; steered int[]; replies boolean; told uuid[] := '{}'; places uuid[] := '{}'; entered uuid[];
  r record;
begin
  -- 1. Rows of runs that may change, in the order of their ids; what they show decides what becomes of the item.
  if rows_locked then
    opened := array_fill(null::int, array[n]); steered := array_fill(null::int, array[n]);
    for i in 1 .. n loop
      continue when not p_row[i];
      select x.open_calls, x.steers, x.door into r from troupe.runs x where x.id = p_run[i] for no key update;
      modes[i] := case p_target[i] when 'completed' then case when r.steers > p_steers[i] then 'go' else 'ended' end
        when 'queued' then 'released' when 'waiting_tool' then 'parked' when 'failed' then 'ended' when 'canceled' then 'ended'
        else case when p_park[i] and r.open_calls + p_outside[i] > 0 then 'parked' else 'go' end end;
      opened[i] := case when modes[i] = 'ended' then 0 else r.open_calls + p_outside[i] end;
      steered[i] := r.steers;
      if r.door = 'space' then
        told := told || p_run[i];
      end if;
    end loop;
  end if;

  -- 2. Heads: the fence.
  for i in 1 .. n loop
    v_run := p_run[i]; v_epoch := p_epoch[i]; v_version := p_version[i]; v_step := p_step[i]; v_leaver := p_worker;
    if modes[i] <> 'go' then
      v_leaver := null;
    end if;
    if v_step is null then
      update troupe.run_heads h set version = h.version + 1, worker_id = v_leaver
        where h.run_id = v_run and h.version = v_version and h.epoch = v_epoch and h.worker_id = p_worker;
    else
      v_input := p_input[i]; v_output := p_output[i]; v_cost := p_cost[i];
      update troupe.run_heads h set version = h.version + 1, worker_id = v_leaver, step = v_step,
        input_tokens = h.input_tokens + v_input, output_tokens = h.output_tokens + v_output, cost = h.cost + v_cost
        where h.run_id = v_run and h.version = v_version and h.epoch = v_epoch and h.worker_id = p_worker;
    end if;
    if not found then
      select x.status, x.epoch, h.version, h.step, x.worker_id into r
        from troupe.runs x left join troupe.run_heads h on h.run_id = x.id where x.id = v_run;
      modes[i] := 'refused';
      verdicts[i] := jsonb_build_object('ok', false, 'status', coalesce(r.status::text, 'missing'),
        'epoch', r.epoch, 'version', r.version, 'step', r.step, 'worker', r.worker_id);
    end if;
  end loop;

  -- Spaces that are told of runs or of calls, before anything fires what tells them.
  for i in 1 .. n loop
    for k in coalesce(change_upto[i - 1], 0) + 1 .. change_upto[i] loop
      if change_extra[k] ? 'shown' or change_status[k] in ('failed', 'canceled', 'expired', 'in_doubt') or change_output[k] @> '{"success": false}' then
        told := told || p_run[i];
      end if;
    end loop;
    entered := '{}';
    for k in coalesce(call_upto[i - 1], 0) + 1 .. call_upto[i] loop
      if call_extra[k] ? 'shown' then
        places := places || (call_extra[k]->'shown'->>'spaceId')::uuid;
      end if;
      -- What will not be said is told where it would have been: see space_of_call.
      if call_tool[k] = 'enter_space' and call_args[k]->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        entered := entered || (call_args[k]->>'spaceId')::uuid;
      elsif call_tool[k] = 'send_message' and call_status[k] = 'failed' then
        told := told || p_run[i]; places := places || entered;
      end if;
    end loop;
  end loop;
  if cardinality(told) + cardinality(places) > 0 then
    perform troupe.lock_spaces(told, places);
  end if;

  -- 3. Calls that end, calls that begin (again). One that was handed over meanwhile is not the worker's to end.
  if cardinality(change_id) > 0 then
    from_row := 1;
    for i in 1 .. n loop
      to_row := change_upto[i];
      if to_row >= from_row and modes[i] <> 'refused' then
        v_run := p_run[i];
        for k in from_row .. to_row loop
          v_text := change_id[k]; v_status := change_status[k]; v_json := change_output[k]; v_error := change_error[k]; v_extra := change_extra[k];
          if v_extra is null or v_extra ? 'ends' then
            update troupe.tool_calls c set status = v_status, output = v_json, error = v_error, settled_at = now()
              where c.run_id = v_run and c.call_id = v_text and c.status = 'running';
          else
            update troupe.tool_calls c set status = v_status, output = coalesce(v_json, c.output), error = coalesce(v_error, c.error), epoch = p_epoch[i],
              attempt = c.attempt + coalesce((v_extra->>'again')::int, 0),
              waits_for = (v_extra->>'waitsFor')::troupe.waits_for, deadline = now() + make_interval(secs => (v_extra->>'deadlineMs')::float8 / 1000),
              settled_at = case when v_status not in ('requested', 'running') and v_extra->>'waitsFor' is null then now() end
              where c.run_id = v_run and c.call_id = v_text and c.status in ('requested', 'running', 'in_doubt');
          end if;
          if not found then
            raise exception 'troupe.advance: call % of run % is not open', v_text, v_run using errcode = case when v_extra is null or v_extra ? 'ends' then 'TR003' else 'P0001' end;
          end if;
        end loop;
      end if;
      from_row := to_row + 1;
    end loop;
  end if;

  -- 4. Threads, in the order of their ids: place messages and events behind what is there, then everything that hangs on them.
  foreach i in array p_order loop
    v_mode := modes[i];
    if v_mode = 'refused' then
      if rows_locked and p_row[i] then
        perform troupe.pass(x) from troupe.runs x where x.id = p_run[i];
      end if;
      continue;
    end if;
    v_run := p_run[i]; v_thread := p_thread[i]; v_step := p_step[i];
    from_row := coalesce(event_upto[i - 1], 0) + 1; to_row := event_upto[i]; kept := to_row - from_row + 1;
    if rows_locked then
      if v_mode = 'ended' and p_extra[i] @> '{"close": true}' then
        perform 1 from troupe.threads t where t.id = v_thread for no key update;
        perform troupe.close_calls(v_run, v_thread, 'canceled', 'canceled',
          'The run ended before this call did; a call that was already running may have taken effect.', null);
      end if;
      v_when := case v_mode when 'released' then 'ended' else v_mode end;
      select count(*) into kept from generate_series(from_row, to_row) x where event_when[x] is null or event_when[x] = v_when;
    end if;
    -- Whatever this commit itself leaves open waits for somebody else than for a reply.
    replies := v_mode = 'parked' and p_target[i] is null and p_outside[i] = 0 and not exists (
      select from troupe.tool_calls c where c.run_id = v_run and c.waits_for is not null and c.waits_for <> 'reply');
    o := coalesce(message_upto[i - 1], 0);
    written := message_upto[i] - o;
    update troupe.threads t set last_message_seq = t.last_message_seq + written, last_event_seq = t.last_event_seq + kept
      where t.id = v_thread returning t.last_message_seq - written, t.last_event_seq - kept into message_base, event_base;
    v_seq := message_base;
    for k in o + 1 .. o + written loop
      v_seq := v_seq + 1; v_id := message_id[k]; v_role := message_role[k]; v_json := message_content[k]; v_text := message_call[k];
      v_now := message_step[k]; v_extra := message_extra[k];
      insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step, sender_id, metadata)
        values (v_thread, v_seq, v_id, v_role, v_json, v_text, v_run, v_now, (v_extra->>'sender')::uuid, v_extra->'metadata');
    end loop;
    v_seq := event_base;
    for k in from_row .. to_row loop
      continue when rows_locked and event_when[k] <> v_when;
      v_seq := v_seq + 1; v_text := case when replies and event_type[k] = 'run.waiting_tool' then 'run.waiting_reply' else event_type[k] end; v_json := event_data[k]; v_number := event_message[k]; v_now := event_step[k];
      insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
        values (v_thread, v_seq, v_text, v_json, message_base + v_number, v_run, v_now);
    end loop;
    if v_step is not null then
      v_epoch := p_epoch[i];
      o := coalesce(call_upto[i - 1], 0);
      for k in o + 1 .. call_upto[i] loop
        v_number := k - o; v_text := call_id[k]; v_tool := call_tool[k]; v_json := call_args[k]; v_effect := call_effect[k]; v_status := call_status[k];
        v_extra := call_extra[k];
        if v_extra is null then
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch);
        else
          insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch, waits_for, deadline, error, settled_at, shown)
            values (v_run, v_text, v_step, v_number, v_tool, v_json, v_effect, v_status, v_epoch, (v_extra->>'waitsFor')::troupe.waits_for,
              now() + make_interval(secs => (v_extra->>'deadlineMs')::float8 / 1000), v_extra->'error', case when v_status = 'failed' then now() end, v_extra->'shown');
        end if;
      end loop;
      v_text := step_provider[i]; v_tool := step_model[i]; v_number := step_attempt[i]; v_begin := step_started[i] / 1000; v_first := step_first[i] / 1000;
      v_last := step_finished[i] / 1000; v_extra := step_extra[i]; v_input := p_input[i]; v_output := p_output[i]; v_cost := p_cost[i]; v_when := step_finish[i];
      insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at, finished_at,
        input_tokens, output_tokens, cost, finish_reason, agent_key, decision, budgeted)
        values (v_run, v_step, v_text, v_tool, p_worker, v_epoch, v_number, to_timestamp(v_begin), to_timestamp(v_first),
          to_timestamp(v_last), v_input, v_output, v_cost, v_when, v_extra->>'agentKey', v_extra->'decision',
          coalesce((v_extra->>'budgeted')::boolean, false));
    end if;
    verdict := jsonb_build_object('ok', true, 'mode', v_mode, 'seq', message_base, 'version', p_version[i] + 1);
    if rows_locked and p_row[i] then
      verdict := verdict || jsonb_build_object('openCalls', opened[i], 'steers', steered[i],
        'promoted', troupe.leave(v_run, v_thread, v_mode, p_attempt[i], p_model[i], p_outside[i], p_target[i], p_extra[i]));
      if p_park[i] and v_mode = 'go' then
        verdict := verdict || jsonb_build_object('ready', (
          select jsonb_agg(troupe.call_json(c) order by c.position) from troupe.tool_calls c
          where c.run_id = v_run and c.status = 'requested' and c.waits_for is null));
      end if;
    end if;
    -- Seldom: what others put into the thread meanwhile. The count of steering messages is read under the thread's lock,
    -- so that it fits the messages.
    if message_base > p_known[i] then
      verdict := verdict || jsonb_build_object('foreign', (
          select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = v_thread and m.seq > p_known[i] and m.seq <= message_base),
        'steers', (select x.steers from troupe.runs x where x.id = v_run), 'openCalls', (select x.open_calls from troupe.runs x where x.id = v_run));
    end if;
    verdicts[i] := verdict;
  end loop;
  return to_jsonb(verdicts);
end $function$;

CREATE OR REPLACE FUNCTION troupe.append(thread uuid, run uuid, messages jsonb, events jsonb)
 RETURNS bigint
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  message_count int := coalesce(jsonb_array_length(messages), 0);
  event_count int := coalesce(jsonb_array_length(events), 0);
  message_base bigint; event_base bigint;
begin
  update troupe.threads t set last_message_seq = t.last_message_seq + message_count, last_event_seq = t.last_event_seq + event_count
    where t.id = thread returning t.last_message_seq - message_count, t.last_event_seq - event_count into message_base, event_base;
  if message_count > 0 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
    select thread, message_base + k, coalesce((m->>'id')::uuid, troupe.new_id()), (m->>'role')::troupe.message_role, m->'content', m->>'callId',
      (m->>'sender')::uuid, case when m ? 'run' then (m->>'run')::uuid else run end, (m->>'step')::int, m->'metadata'
    from jsonb_array_elements(messages) with ordinality x(m, k);
  end if;
  if event_count > 0 then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
    select thread, event_base + k, e->>'type', e->'data', message_base + 1 + (e->>'message')::int, run, (e->>'step')::int
    from jsonb_array_elements(events) with ordinality x(e, k);
  end if;
  return message_base;
end $function$;

CREATE OR REPLACE FUNCTION troupe.arm_captures(p_patience integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  c record; deadline timestamptz := clock_timestamp() + make_interval(secs => p_patience / 1000.0);
begin
  for c in select x.trigger_name, x.table_name, w.wanted
      from troupe.captured x join pg_trigger g on g.tgname = x.trigger_name and g.tgrelid = ('troupe.' || x.table_name)::regclass
        cross join lateral (select exists (select from troupe.triggers t where t.enabled and t.collections && x.collections) as wanted) w
      where w.wanted <> (g.tgenabled <> 'D') order by w.wanted desc, x.table_name loop
    if c.wanted then
      perform set_config('lock_timeout', greatest(1, ceil(extract(epoch from deadline - clock_timestamp()) * 1000)) || 'ms', true);
      execute format('alter table troupe.%I enable trigger %I', c.table_name, c.trigger_name);
    else
      begin
        perform set_config('lock_timeout', '10ms', true);
        execute format('alter table troupe.%I disable trigger %I', c.table_name, c.trigger_name);
      exception when lock_not_available or deadlock_detected then
        null;
      end;
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION troupe.arm_plan(p_plan uuid, p_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if p_at is null then
    perform graphile_worker.remove_job('plan:' || p_plan);
  else
    perform graphile_worker.add_job('fire_plan', json_build_object('planId', p_plan), run_at => p_at, job_key => 'plan:' || p_plan);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION troupe.ask(p_run uuid, p_call text, p_epoch integer, p_worker uuid, p_deadline_ms bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; most interval := make_interval(secs => p_deadline_ms::float8 / 1000);
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found or not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  update troupe.tool_calls x set status = 'requested', waits_for = 'answer', deadline = now() + most
    where x.run_id = p_run and x.call_id = p_call and x.status = 'running' returning * into c;
  -- Not found: it was asked before, and may be answered by now.
  if found then
    update troupe.runs x set open_calls = x.open_calls + 1, deadline_at = x.deadline_at + most, updated_at = now() where x.id = p_run;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', c.step,
      'data', jsonb_build_object('id', p_call, 'tool', c.tool, 'waitsFor', 'answer', 'deadlineMs', p_deadline_ms))));
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION troupe.audit_is_final()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log is only added to' using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION troupe.begin_child(p_parent uuid, p_call text, p_epoch integer, p_worker uuid, p_deadline_ms bigint, p_most jsonb, p_item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; child uuid := (p_item->'run'->>'id')::uuid; depth int; started jsonb;
begin
  -- As `start` does; before the first row, so that it waits for nobody with a row in its hands.
  lock table troupe.runs in row exclusive mode;
  select * into r from troupe.runs x where x.id = p_parent for no key update;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  if exists (select from troupe.runs x where x.id = child) then
    return jsonb_build_object('ok', true, 'duplicate', true, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id);
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  with recursive line as (
    select r.parent_run_id as above, r.parent_call_id as call, 1 as deep
    union all
    select x.parent_run_id, x.parent_call_id, l.deep + 1 from line l join troupe.runs x on x.id = l.above where l.call is not null and l.deep < 1000)
  select max(l.deep) into depth from line l;
  if depth > (p_most->>'depth')::int then
    return jsonb_build_object('ok', false, 'code', 'task_depth', 'limit', p_most->'depth');
  end if;
  -- Two that begin the last one at the same time count one after the other. After calls, before threads, as everywhere.
  perform pg_advisory_xact_lock(27, hashtext(r.root_run_id::text));
  if (select count(*) from troupe.runs x where x.root_run_id = r.root_run_id and x.parent_call_id is not null) >= (p_most->>'runs')::int then
    return jsonb_build_object('ok', false, 'code', 'too_many_runs', 'limit', p_most->'runs');
  end if;
  started := troupe.start_networks(jsonb_build_array(p_item || jsonb_build_object('run', (p_item->'run')
    || jsonb_build_object('parent', p_parent, 'root', r.root_run_id, 'chainDepth', r.chain_depth + 1, 'triggerType', 'task')
    || case when r.budget_ids is null then '{}' else jsonb_build_object('budgets', to_jsonb(r.budget_ids)) end)))->0;
  if not (started->>'ok')::boolean then
    raise exception 'a child was not started: %', started->>'code';
  end if;
  update troupe.runs x set parent_call_id = p_call where x.id = child;
  update troupe.tool_calls x set status = 'requested', waits_for = 'task', deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where x.run_id = p_parent and x.call_id = p_call;
  update troupe.runs x set open_calls = x.open_calls + 1, updated_at = now() where x.id = p_parent;
  perform troupe.append(r.thread_id, p_parent, null, jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', c.step,
    'data', jsonb_build_object('id', p_call, 'tool', c.tool, 'waitsFor', 'task', 'deadlineMs', p_deadline_ms, 'runId', child))));
  return jsonb_build_object('ok', true, 'duplicate', false, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id);
end $function$;

CREATE OR REPLACE FUNCTION troupe.begin_task(p_parent uuid, p_call text, p_epoch integer, p_worker uuid, p_task jsonb, p_item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; place jsonb; started jsonb; child uuid := (p_item->'run'->>'id')::uuid; v_task uuid := (p_task->>'id')::uuid;
  v_sub uuid := (p_task->>'subAgent')::uuid; in_background boolean := (p_task->>'background')::boolean; done jsonb;
begin
  -- As `start` does; before the first row, so that it waits for nobody with a row in its hands.
  lock table troupe.runs in row exclusive mode;
  select * into r from troupe.runs x where x.id = p_parent for no key update;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  done := jsonb_build_object('ok', true, 'run', child, 'thread', p_item->'thread', 'parentThread', r.thread_id, 'task', v_task, 'subAgent', v_sub);
  if exists (select from troupe.tasks x where x.id = v_task) then
    return done || '{"duplicate": true}';
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  place := troupe.place_of(p_parent);
  if in_background and not (place->>'direct')::boolean then
    return jsonb_build_object('ok', false, 'code', 'no_background');
  elsif (place->>'depth')::int >= (p_task->'most'->>'depth')::int then
    return jsonb_build_object('ok', false, 'code', 'task_depth', 'limit', p_task->'most'->'depth');
  end if;
  started := troupe.start_task_run(r, p_call, p_item, v_task, in_background, (p_task->'most'->>'runs')::int);
  if not (started->>'ok')::boolean then
    return started;
  end if;
  insert into troupe.tasks (id, project_id, user_id, chat_id, chat_thread_id, type, name, instruction, args, sub_agent_id, trigger_message_id, background, depth,
      parent_task_id, parent_run_id, parent_call_id, run_id)
    values (v_task, r.project_id, (place->>'user')::uuid, (place->>'chat')::uuid, (place->>'thread')::uuid, p_task->>'type', p_task->>'name',
      p_task->>'instruction', p_task->'args', v_sub, (place->>'message')::uuid, in_background, (place->>'depth')::int + 1, (place->>'task')::uuid,
      p_parent, p_call, child);
  if v_sub is not null then
    insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id)
      values (v_sub, r.project_id, (place->>'user')::uuid, (place->>'chat')::uuid, v_task, (p_item->'run'->>'agent')::uuid, p_task->>'role', (p_item->>'thread')::uuid);
  end if;
  if not in_background then
    perform troupe.wait_for_task(r, c, (p_task->>'deadlineMs')::bigint, child);
  end if;
  return done || '{"duplicate": false}';
end $function$;

CREATE OR REPLACE FUNCTION troupe.begin_wait(p_run uuid, p_call text, p_space uuid, p_message uuid, p_seq bigint, p_wait jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_timeout bigint := (p_wait->>'timeoutMs')::bigint;
begin
  update troupe.tool_calls c set status = 'requested', waits_for = 'reply', deadline = now() + make_interval(secs => v_timeout::float8 / 1000)
    where c.run_id = p_run and c.call_id = p_call and c.status = 'running';
  if not found then
    raise exception 'troupe.begin_wait: call % of run % is not running', p_call, p_run;
  end if;
  insert into troupe.reply_waits (run_id, call_id, space_id, entity_id, message_id, message_seq, waiting_for, any_reply, timeout_ms)
    select p_run, p_call, p_space, r.entity_id, p_message, p_seq,
      (select coalesce(jsonb_agg(jsonb_build_object('entityId', e.id, 'entityName', coalesce(e.display_name, e.external_id), 'entityType', e.type, 'responded', false)), '[]')
        from troupe.entities e where case when jsonb_typeof(p_wait->'for') = 'array' then p_wait->'for' ? e.id::text else false end),
      coalesce(jsonb_typeof(p_wait->'for'), 'null') <> 'array', v_timeout
    from troupe.runs r where r.id = p_run;
  update troupe.runs r set open_calls = r.open_calls + 1, updated_at = now() where r.id = p_run;
end $function$;

CREATE OR REPLACE FUNCTION troupe.begins_document(m troupe.messages)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select m.role not in ('assistant', 'tool_call') or not exists (select from troupe.messages b
    where b.thread_id = m.thread_id and b.seq = m.seq - 1 and b.run_id = m.run_id and b.step = m.step and b.role in ('assistant', 'tool_call'))
$function$;

CREATE OR REPLACE FUNCTION troupe.bury()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  case tg_table_name
    when 'sessions' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
        values ('sessions', old.id, old.project_id, old.entity_id, old.thread_id, old.id, old.xid) on conflict do nothing;
    when 'spaces' then
      insert into troupe.tombstones (collection, id, project_id, place_id, chat_id, was) values ('spaces', old.id, old.project_id, old.id, old.id, old.xid) on conflict do nothing;
    when 'memberships' then
      -- The space may go with it.
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
        select 'memberships', old.space_id || ':' || old.entity_id, t.project_id, old.entity_id, old.space_id, old.space_id, old.xid, old.joined_at
        from troupe.threads t where t.id = old.space_id on conflict do nothing;
    when 'tasks' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, chat_id, was) values ('tasks', old.id, old.project_id, old.user_id, old.chat_id, old.xid) on conflict do nothing;
    when 'sub_agents' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
        values ('sub_agents', old.id, old.project_id, old.user_id, old.thread_id, old.chat_id, old.xid) on conflict do nothing;
  end case;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.bury_messages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
    select (p.place).collection, g.id, (p.place).project_id, (p.place).user_id, g.thread_id, (p.place).chat_id, g.xid, g.created_at
    from (select distinct x.thread_id from gone x) t cross join lateral (select troupe.place_of_thread(t.thread_id) as place offset 0) p
      join gone g on g.thread_id = t.thread_id
    where (p.place).collection is not null on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.bury_runs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
    select 'runs', g.id, g.project_id, case when (p.place).collection = 'messages' then (p.place).user_id end, g.space_id, (p.place).chat_id, g.xid, g.created_at
    from gone g cross join lateral (select troupe.place_of_thread(g.thread_id) as place offset 0) p on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.bury_tool_calls()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
    select 'sub_agent_tool_calls', troupe.call_document_id(g.run_id, g.call_id), (p.place).project_id, (p.place).user_id, r.thread_id, (p.place).chat_id, g.xid
    from gone g join troupe.runs r on r.id = g.run_id and r.task_id is not null cross join lateral (select troupe.place_of_thread(r.thread_id) as place offset 0) p
    where (p.place).sub_agent_id is not null on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.call_document_id(p_run uuid, p_call text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select troupe.id_from(p_run || ':' || p_call)::text
$function$;

CREATE OR REPLACE FUNCTION troupe.call_json(c troupe.tool_calls)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('id', c.call_id, 'step', c.step, 'position', c.position, 'tool', c.tool, 'args', c.args, 'edited', c.edited, 'effect', c.effect,
    'status', c.status, 'waitsFor', c.waits_for, 'output', c.output, 'error', c.error, 'attempt', c.attempt, 'epoch', c.epoch, 'shown', c.shown is not null)
$function$;

CREATE OR REPLACE FUNCTION troupe.cancel(p_run uuid, p_reason text, p_by text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status in ('completed', 'failed', 'canceled') then
    return jsonb_build_object('ok', false, 'code', 'run_ended', 'status', r.status, 'reason', r.cancel_reason);
  end if;
  perform troupe.end_run(p_run, p_reason, p_by, null, 'run.canceled');
  return jsonb_build_object('ok', true, 'status', 'canceled', 'worker', r.worker_id, 'thread', r.thread_id);
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture(p_collection text, p_project uuid, p_chat uuid, p_path text, p_document text, p_user uuid, p_before jsonb, p_after jsonb, p_depth integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  what text := case when p_before is null then 'create' when p_after is null then 'delete' else 'update' end; wanted jsonb;
begin
  if p_before is not distinct from p_after then
    return;
  end if;
  select jsonb_agg(jsonb_build_object('id', t.id, 'version', t.version)) into wanted from troupe.triggers t
    where t.project_id = p_project and t.enabled and p_collection = any (t.collections) and what = any (t.events) and p_path ~ t.pattern;
  if wanted is not null then
    insert into troupe.changes (project_id, collection, path, document_id, user_id, chat_id, event, before, after, depth, rules)
      values (p_project, p_collection, p_path || '/' || p_document, p_document, p_user, p_chat, what, p_before, p_after, p_depth, wanted);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_memberships()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.memberships; project uuid;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  select t.project_id into project from troupe.threads t where t.id = r.space_id;
  if troupe.is_captured(project, 'memberships') then
    perform troupe.capture('memberships', project, r.space_id, troupe.membership_path(r), r.space_id || ':' || r.entity_id, r.entity_id,
      case when tg_op <> 'INSERT' then troupe.membership_document(old) end, case when tg_op <> 'DELETE' then troupe.membership_document(new) end,
      coalesce((select troupe.trigger_depth(x.id) from troupe.runs x where x.entity_id = r.entity_id and x.door = 'space' order by x.id desc limit 1), 0));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_messages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.messages; place troupe.place; before jsonb; after jsonb; whose uuid; at text;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if not troupe.is_thread_captured(r.thread_id, '{messages,sub_agent_messages}') then
    return null;
  end if;
  place := troupe.place_of_thread(r.thread_id);
  if place.collection is null or not troupe.is_captured(place.project_id, place.collection) then
    return null;
  end if;
  if place.collection = 'messages' then
    before := case when tg_op <> 'INSERT' then troupe.message_document(old, place) end;
    after := case when tg_op <> 'DELETE' then troupe.message_document(new, place) end;
    whose := coalesce(place.user_id, nullif(coalesce(after, before)->>'userId', '')::uuid); at := 'messages';
  else
    before := case when tg_op <> 'INSERT' then troupe.sub_agent_message_document(old, place) end;
    after := case when tg_op <> 'DELETE' then troupe.sub_agent_message_document(new, place) end;
    whose := place.user_id; at := 'sub-agents/' || place.sub_agent_id || '/messages';
  end if;
  perform troupe.capture(place.collection, place.project_id, place.chat_id, troupe.chat_path(whose, place.chat_id, at), r.id::text, whose, before, after,
    coalesce(troupe.noted_depth(r.metadata), troupe.trigger_depth(r.run_id)));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_runs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs; place troupe.place;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'runs') then
    place := troupe.place_of_thread(r.thread_id);
    perform troupe.capture('runs', r.project_id, place.chat_id, troupe.run_path(r), r.id::text, place.user_id, case when tg_op <> 'INSERT' then troupe.run_document(old) end,
      case when tg_op <> 'DELETE' then troupe.run_document(new) end, troupe.trigger_depth(r.id));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_sessions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.sessions;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'sessions') then
    perform troupe.capture('sessions', r.project_id, r.id, troupe.session_path(r), r.id::text, r.entity_id, case when tg_op <> 'INSERT' then troupe.session_document(old) end,
      case when tg_op <> 'DELETE' then troupe.session_document(new) end, 0);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_spaces()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.spaces;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'spaces') then
    perform troupe.capture('spaces', r.project_id, r.id, troupe.space_path(r), r.id::text, null, case when tg_op <> 'INSERT' then troupe.space_document(old) end,
      case when tg_op <> 'DELETE' then troupe.space_document(new) end, 0);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_sub_agents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.sub_agents;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'sub_agents') then
    perform troupe.capture('sub_agents', r.project_id, r.chat_id, troupe.sub_agent_path(r), r.id::text, r.user_id, case when tg_op <> 'INSERT' then troupe.sub_agent_document(old) end,
      case when tg_op <> 'DELETE' then troupe.sub_agent_document(new) end,
      troupe.trigger_depth((select t.parent_run_id from troupe.tasks t where t.id = r.task_id)));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_tasks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.tasks;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if troupe.is_captured(r.project_id, 'tasks') then
    perform troupe.capture('tasks', r.project_id, r.chat_id, troupe.task_path(r), r.id::text, r.user_id, case when tg_op <> 'INSERT' then troupe.task_document(old) end,
      case when tg_op <> 'DELETE' then troupe.task_document(new) end, troupe.trigger_depth(r.parent_run_id));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.capture_tool_calls()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.tool_calls; place troupe.place;
begin
  if tg_op = 'DELETE' then r := old; else r := new; end if;
  if not exists (select from troupe.runs x join troupe.triggers t on t.project_id = x.project_id
      where x.id = r.run_id and x.task_id is not null and t.enabled and 'sub_agent_tool_calls' = any (t.collections)) then
    return null;
  end if;
  select p.* into place from troupe.runs x cross join lateral troupe.place_of_thread(x.thread_id) p where x.id = r.run_id and x.task_id is not null;
  if place.sub_agent_id is null or not troupe.is_captured(place.project_id, 'sub_agent_tool_calls') then
    return null;
  end if;
  perform troupe.capture('sub_agent_tool_calls', place.project_id, place.chat_id, troupe.tool_call_path(r), troupe.call_document_id(r.run_id, r.call_id), place.user_id,
    case when tg_op <> 'INSERT' then troupe.tool_call_document(old, place) end, case when tg_op <> 'DELETE' then troupe.tool_call_document(new, place) end,
    troupe.trigger_depth(r.run_id));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.change_files(p_thread uuid, p_run uuid, p_epoch integer, p_worker uuid, p_paths text[], p_contents bytea[], p_types text[], p_most_files integer, p_most_bytes bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker); answer jsonb;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  for i in 1 .. coalesce(cardinality(p_paths), 0) loop
    if p_contents[i] is null then
      -- One that is gone already is as it should be.
      answer := troupe.remove_files(p_thread, p_paths[i], false);
    end if;
  end loop;
  for i in 1 .. coalesce(cardinality(p_paths), 0) loop
    if p_contents[i] is not null then
      answer := troupe.put_file(p_thread, p_paths[i], p_contents[i], p_types[i], p_most_files, p_most_bytes);
      if not (answer->>'ok')::boolean then
        raise exception sqlstate 'TF001';
      end if;
    end if;
  end loop;
  return jsonb_build_object('ok', true);
exception when sqlstate 'TF001' then
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION troupe.chat_path(p_user uuid, p_chat uuid, p_rest text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select 'users/' || coalesce(p_user::text, '-') || '/orch-chats/' || p_chat || '/' || p_rest
$function$;

CREATE OR REPLACE FUNCTION troupe.check_run()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION troupe.claim(p_worker uuid, p_limit integer, p_doors text[], p_start_events jsonb, p_code text[] DEFAULT '{}'::text[])
 RETURNS SETOF jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ids uuid[] := '{}'; told_of uuid[] := '{}'; more_told uuid[]; lanes boolean; room int; is_short boolean; lane_row record; free int; more uuid[]; got record; first boolean; started jsonb; extra int; thinks boolean; told int; base bigint; last_seq bigint;
begin
  -- Lanes have a quarter of the places while others wait too: neither keeps the other from going on.
  lanes := exists (
    select from troupe.runs r where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now()
      and (r.code_tools is null or r.code_tools <@ p_code));
  room := case when not lanes then p_limit when p_limit > 1 then p_limit - greatest(1, p_limit / 4) when random() < 0.25 then 0 else 1 end;

  for round in 1 .. 2 loop
    if p_code = '{}' then
      select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
        select r.id, r.door from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked) x;
    else
      -- The sets of code tools that runs wait for, each found by one look into the index, however many runs wait for it.
      with recursive sets as (
        (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
          order by r.code_tools limit 1)
        union all
        select (select r.code_tools from troupe.runs r where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null
          and r.code_tools > s.code_tools order by r.code_tools limit 1) from sets s where s.code_tools is not null),
      anybodys as (select r.id, r.door, r.run_at from troupe.runs r
        where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
        order by r.run_at limit room for no key update skip locked),
      fitting as (select x.* from sets s cross join lateral (select r.id, r.door, r.run_at from troupe.runs r
          where r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null and r.code_tools = s.code_tools
            and r.run_at <= now() and r.door = any(p_doors) and r.id <> all(ids)
          order by r.run_at limit room for no key update skip locked) x where s.code_tools <@ p_code)
      select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
        select id, door from (table anybodys union all table fitting) y order by y.run_at limit room) x;
    end if;
    ids := ids || more; told_of := told_of || more_told;
    -- Twice only where lanes left places and others wait for them.
    exit when round = 2 or not lanes;
    is_short := cardinality(more) < room;

    for lane_row in
      select r.lane, min(r.lane_limit) as most from troupe.runs r
      where r.lane is not null and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
        and (r.code_tools is null or r.code_tools <@ p_code)
      group by r.lane order by min(r.run_at)
    loop
      exit when cardinality(ids) >= p_limit;
      -- One claimer at a time counts a lane; another passes by and comes back with the next poll.
      continue when not pg_try_advisory_xact_lock(hashtextextended('troupe.lane:' || lane_row.lane, 0));
      -- A run that waits for what it began is at work as long as that is.
      free := lane_row.most - (select count(*) from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'running')
        - (select count(*) from troupe.runs r where r.lane = lane_row.lane and r.status = 'waiting_tool' and exists (
          select from troupe.runs c where c.root_run_id = r.id and c.parent_call_id is not null and c.status in ('queued', 'running')));
      if free > 0 then
        select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where door = 'space'), '{}') into more, more_told from (
          select r.id, r.door from troupe.runs r
          where r.lane = lane_row.lane and r.status in ('queued', 'running') and r.status = 'queued' and r.ready and r.run_at <= now() and r.door = any(p_doors)
            and (r.code_tools is null or r.code_tools <@ p_code)
          -- What was begun is ended before more is begun.
          order by r.started_at is null, r.run_at limit least(free, p_limit - cardinality(ids)) for no key update skip locked) x;
        ids := ids || more; told_of := told_of || more_told;
      end if;
    end loop;
    room := p_limit - cardinality(ids);
    exit when is_short or room = 0;
  end loop;
  if cardinality(ids) = 0 then
    return;
  end if;

  if cardinality(told_of) > 0 then
    perform troupe.lock_spaces(told_of, null);
  end if;

  -- A head that is ahead of the row belongs to a worker that died on the way: take over how far it came.
  update troupe.runs r set status = 'running', epoch = r.epoch + 1, worker_id = p_worker, wait_state = null,
    step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens), output_tokens = coalesce(h.output_tokens, r.output_tokens),
    cost = coalesce(h.cost, r.cost), attempt = case when h.step > r.step then 0 else r.attempt end,
    started_at = coalesce(r.started_at, now()),
    deadline_at = coalesce(r.deadline_at, now() + make_interval(secs => r.wall_ms::float8 / 1000)), updated_at = now()
  from unnest(ids) x(id) left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  insert into troupe.run_heads as h (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
    select r.id, p_worker, r.epoch, 1, r.step, r.input_tokens, r.output_tokens, r.cost from troupe.runs r where r.id = any(ids) order by r.id
    on conflict (run_id) do update set worker_id = excluded.worker_id, epoch = excluded.epoch, version = h.version + 1, step = excluded.step;

  -- Tell of it, and answer with all that the worker needs.
  for got in select x.*, h.version from troupe.runs x join troupe.run_heads h on h.run_id = x.id where x.id = any(ids) order by x.thread_id, x.id loop
    first := got.started_at = now();
    -- Its time begins now: it is new, or taken up again after it had ended.
    started := case when got.deadline_at = now() + make_interval(secs => got.wall_ms::float8 / 1000) then coalesce(p_start_events->got.door, '[]') else '[]' end;
    extra := jsonb_array_length(started);
    thinks := got.step = 0 or not exists (select from troupe.tool_calls c where c.run_id = got.id and c.status in ('running', 'requested'));
    told := 1 + extra + thinks::int;
    update troupe.threads t set last_event_seq = t.last_event_seq + told where t.id = got.thread_id
      returning t.last_event_seq - told, t.last_message_seq into base, last_seq;
    insert into troupe.events (thread_id, seq, type, data, run_id) values (got.thread_id, base + 1,
      case when first then 'run.started' else 'run.resumed' end, case when not first then jsonb_build_object('epoch', got.epoch) end, got.id);
    for k in 1 .. extra loop
      insert into troupe.events (thread_id, seq, type, run_id) values (got.thread_id, base + 1 + k, started->>(k - 1), got.id);
    end loop;
    if thinks then
      insert into troupe.events (thread_id, seq, type, run_id, step) values (got.thread_id, base + told, 'step.started', got.id, got.step + 1);
    end if;
    return next jsonb_build_object('id', got.id, 'projectId', got.project_id, 'door', got.door, 'agentId', got.agent_id, 'entityId', got.entity_id,
      'snapshotId', got.snapshot_id, 'threadId', got.thread_id, 'parentRunId', got.parent_run_id, 'rootRunId', got.root_run_id,
      'triggerType', got.trigger_type, 'triggerMessageId', got.trigger_message_id, 'triggerSeq', got.trigger_seq, 'trigger', got.trigger,
      'chainDepth', got.chain_depth, 'serial', got.serial, 'status', got.status, 'step', got.step, 'epoch', got.epoch, 'version', got.version, 'attempt', got.attempt,
      'modelIndex', got.model_index, 'takeovers', got.takeovers, 'openCalls', got.open_calls, 'steers', got.steers, 'waitState', got.wait_state,
      'remainingMs', extract(epoch from got.deadline_at - clock_timestamp()) * 1000,
      'inputTokens', got.input_tokens, 'outputTokens', got.output_tokens, 'cost', got.cost, 'budgetIds', got.budget_ids, 'metadata', got.metadata, 'lastSeq', last_seq, 'spaceId', got.space_id, 'lives', got.lives)
    || jsonb_build_object(
      'messages', (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
          'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata) order by m.seq), '[]') from troupe.messages m
        where m.thread_id = got.thread_id and m.seq > coalesce(got.trigger_seq, last_seq) - got.history_limit),
      'calls', case when got.step = 0 then '[]' else (select coalesce(jsonb_agg(troupe.call_json(c) order by c.step, c.position), '[]')
        from troupe.tool_calls c where c.run_id = got.id) end);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION troupe.claim_deliveries(p_limit integer, p_own boolean, p_others boolean, p_busy uuid[])
 RETURNS SETOF troupe.trigger_deliveries
 LANGUAGE plpgsql
AS $function$
begin
  return query
  with limited as materialized (
    select t.id, (t.definition->>'ratePerMinute')::int - (select count(*) from troupe.trigger_deliveries x
        where x.trigger_id = t.id and (x.status = 'sending' and x.lease_until > now() or x.status = 'delivered' and x.ended_at > now() - interval '1 minute')) as room
    from troupe.triggers t where t.enabled and t.definition->>'ratePerMinute' is not null),
  due as materialized (
    select d.id, row_number() over (partition by d.trigger_id order by coalesce(d.next_attempt_at, d.lease_until), d.id) as place, l.room
    from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id and t.enabled left join limited l on l.id = d.trigger_id
    where coalesce(l.room, 1) > 0 and (d.status = 'pending' and d.next_attempt_at <= now() or d.status = 'sending' and d.lease_until <= now())
      and (d.own and p_own or not d.own and p_others) and d.trigger_id <> all (p_busy)
      and not exists (select from troupe.trigger_deliveries x where x.trigger_id = d.trigger_id and x.path = d.path and x.change_id < d.change_id
        and x.status in ('pending', 'sending'))
      and not exists (select from troupe.changes c where c.path = d.path and c.id < d.change_id)
    order by coalesce(d.next_attempt_at, d.lease_until) limit p_limit),
  free as materialized (
    select d.id from troupe.trigger_deliveries d join due on due.id = d.id where due.room is null or due.place <= due.room for update of d skip locked),
  taken as (
    update troupe.trigger_deliveries d set status = 'sending', attempts = d.attempts + 1, next_attempt_at = null,
      lease_until = now() + make_interval(secs => (v.definition->>'timeoutMs')::float8 / 1000 + 15)
    from free, troupe.trigger_versions v
    where d.id = free.id and v.trigger_id = d.trigger_id and v.version = d.action_version
      -- Another process may have taken it while this one waited.
      and (d.status = 'pending' or d.lease_until <= now())
    returning d.*),
  noted as (
    insert into troupe.trigger_attempts (delivery_id, attempt) select t.id, t.attempts from taken t)
  select * from taken;
end $function$;

CREATE OR REPLACE FUNCTION troupe.close_calls(p_run uuid, p_thread uuid, p_status text, p_code text, p_text text, p_by text)
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  closed jsonb; problem jsonb := jsonb_build_object('code', p_code, 'message', p_text);
begin
  with c as (
    update troupe.tool_calls t set status = p_status::troupe.call_status, error = problem, waits_for = null, deadline = null, settled_at = now(), settled_by = p_by
    where t.run_id = p_run and (t.status in ('requested', 'running') or t.status = 'in_doubt' and t.waits_for is not null)
    returning t.call_id, t.step, t.position, t.edited, t.args
  )
  select jsonb_agg(jsonb_build_object('id', call_id, 'step', step, 'calledWith', case when edited then args end) order by position) into closed from c;
  if closed is not null then
    perform troupe.append(p_thread, p_run,
      (select jsonb_agg(jsonb_build_object('role', 'tool_result', 'callId', c->>'id', 'step', c->'step',
        'content', jsonb_build_object('result', null, 'error', problem)
          || case when c->>'calledWith' is null then '{}' else jsonb_build_object('calledWith', c->'calledWith') end)) from jsonb_array_elements(closed) c),
      (select jsonb_agg(jsonb_build_object('type', 'tool.failed', 'message', k - 1, 'step', c->'step',
        'data', jsonb_build_object('id', c->'id', 'status', p_status, 'code', p_code))) from jsonb_array_elements(closed) with ordinality x(c, k)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION troupe.code_tools_of(compiled jsonb)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select nullif(array(select distinct t->'config'->>'function' from jsonb_array_elements(compiled->'tools') t
    where t->>'provider' = 'code' and t->'config' ? 'function' order by 1), '{}')
$function$;

CREATE OR REPLACE FUNCTION troupe.collections()
 RETURNS TABLE(name text, source text)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  values ('tasks', 'tasks'), ('sub_agents', 'sub_agents'), ('sub_agent_messages', 'messages'), ('sub_agent_tool_calls', 'tool_calls'), ('sessions', 'sessions'),
    ('messages', 'messages'), ('spaces', 'spaces'), ('memberships', 'memberships'), ('runs', 'runs')
$function$;

CREATE OR REPLACE FUNCTION troupe.copy_files(p_from uuid, p_to uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.file_totals (thread_id) values (p_from) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_from for share;
  insert into troupe.files (thread_id, path, content, type, created_at, updated_at)
    select p_to, f.path, f.content, f.type, f.created_at, f.updated_at from troupe.files f where f.thread_id = p_from;
  insert into troupe.file_totals (thread_id, files, bytes) select p_to, t.files, t.bytes from troupe.file_totals t where t.thread_id = p_from;
  insert into troupe.todo_lists (thread_id, items, updated_at) select p_to, l.items, l.updated_at from troupe.todo_lists l where l.thread_id = p_from;
  insert into troupe.findings (thread_id, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at)
    select p_to, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at from troupe.findings f where f.thread_id = p_from order by f.seq;
end $function$;

CREATE OR REPLACE FUNCTION troupe.create_space(item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  v_space uuid := (item->>'id')::uuid;
  v_project uuid := (item->>'project')::uuid;
  m jsonb; k bigint; e uuid; joined uuid[] := '{}';
begin
  -- Before anybody is registered: where one is missing, nothing is written.
  for m, k in select x.m, x.k from jsonb_array_elements(item->'members') with ordinality x(m, k) loop
    if not m ? 'user' and troupe.member_entity(v_project, m) is null then
      return jsonb_build_object('ok', false, 'code', case when m ? 'agentId' then 'agent_not_found' else 'entity_not_found' end, 'member', k - 1);
    end if;
  end loop;
  insert into troupe.threads (id, project_id, kind) values (v_space, v_project, 'space');
  insert into troupe.spaces (id, project_id, name, description, policy, chain_depth, agent_runs, metadata)
    values (v_space, v_project, item->>'name', item->>'description', item->>'policy', (item->>'chainDepth')::int, (item->>'agentRuns')::int, item->'metadata');
  for m in select x.m from jsonb_array_elements(item->'members') with ordinality x(m, k) order by x.k loop
    e := troupe.member_entity(v_project, m);
    -- By the clock, so that members come in the order in which they were named.
    insert into troupe.memberships (space_id, entity_id, role, ordering, joined_seq, last_processed_seq, joined_at)
      values (v_space, e, m->>'role', m->>'ordering', 0, 0, clock_timestamp())
      on conflict (space_id, entity_id) do update set role = excluded.role, ordering = excluded.ordering;
    if not e = any(joined) then
      joined := joined || e;
    end if;
  end loop;
  if cardinality(joined) > 0 then
    perform troupe.append(v_space, null, null, (select jsonb_agg(troupe.member_event('space.member.joined', s.entity_id, s.role) order by x.k)
      from unnest(joined) with ordinality x(entity, k) join troupe.memberships s on s.space_id = v_space and s.entity_id = x.entity));
  end if;
  return jsonb_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_files(p_thread uuid, p_run uuid, p_epoch integer, p_worker uuid, p_path text, p_recursive boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker);
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  return troupe.remove_files(p_thread, p_path, p_recursive);
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_goals(p_project uuid, p_entity uuid, p_owner uuid, p_ids uuid[], p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  gone int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.goals:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  delete from troupe.goals m where m.project_id = p_project and m.entity_id = p_entity and m.owner_id = p_owner and m.id = any(p_ids);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_memories(p_project uuid, p_entity uuid, p_owner uuid, p_keys text[], p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  gone int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.memories:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  delete from troupe.memories m where m.project_id = p_project and m.entity_id = p_entity and m.owner_id = p_owner and m.key = any(p_keys);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_person(p_project uuid, p_entity uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_type text;
begin
  select e.type into v_type from troupe.entities e where e.id = p_entity and e.project_id = p_project for update;
  if not found then
    return 'not_found';
  elsif v_type <> 'human' then
    return 'entity_of_agent';
  elsif exists (select from troupe.memberships m where m.entity_id = p_entity) or exists (select from troupe.sessions s where s.entity_id = p_entity)
      or exists (select from troupe.runs r where r.project_id = p_project and r.owner_id = p_entity)
      or exists (select from troupe.threads t join troupe.messages m on m.thread_id = t.id where t.project_id = p_project and m.sender_id = p_entity) then
    return 'entity_in_use';
  end if;
  delete from troupe.entities e where e.id = p_entity;
  return null;
exception when foreign_key_violation then
  return 'entity_in_use';
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_plans(p_project uuid, p_entity uuid, p_ids uuid[], p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  gone int;
begin
  perform troupe.lock_plans(p_entity);
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  delete from troupe.plans p where p.project_id = p_project and p.entity_id = p_entity and p.id = any(p_ids);
  get diagnostics gone = row_count;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_space(p_project uuid, p_space uuid, p_actor_kind text, p_actor text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  held uuid[]; known uuid[]; live uuid[];
begin
  held := array(select r.id from troupe.runs r where r.space_id = p_space or (r.active_space_id = p_space
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')) order by r.id for update);
  perform 1 from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  known := array(select r.id from troupe.runs r where r.space_id = p_space or (r.active_space_id = p_space
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')));
  live := array(select r.id from troupe.runs r where (r.space_id = p_space or r.active_space_id = p_space)
    and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') order by r.id);
  if cardinality(live) > 0 then
    return jsonb_build_object('ok', false, 'code', 'runs_live', 'runs', to_jsonb(live));
  elsif not known <@ held then
    raise exception 'troupe.delete_space: a run came in between' using errcode = 'serialization_failure';
  end if;
  insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data)
    select s.project_id, p_actor_kind, p_actor, 'space.deleted', s.id::text, jsonb_build_object('name', s.name, 'members', (select count(*) from troupe.memberships m where m.space_id = s.id))
    from troupe.spaces s where s.id = p_space;
  delete from troupe.run_shown x where x.space_id = p_space;
  delete from troupe.messages m where m.thread_id = p_space;
  delete from troupe.events e where e.thread_id = p_space;
  delete from troupe.spaces s where s.id = p_space;
  delete from troupe.threads t where t.id = p_space;
  return jsonb_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION troupe.delete_task(p_task uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  t troupe.tasks; v_runs uuid[]; v_threads uuid[]; answer jsonb;
begin
  perform 1 from troupe.runs x where x.task_id = p_task order by x.id for update;
  select * into t from troupe.tasks x where x.id = p_task for update;
  if not found then
    return '{}';
  end if;
  answer := troupe.cancel(t.run_id, 'parent', null);
  insert into troupe.joins (what, task_id) select 'delete', x.id from troupe.tasks x where x.parent_task_id = p_task;
  if (answer->>'ok')::boolean or exists (select from troupe.runs x join troupe.tool_calls c on c.run_id = x.parent_run_id and c.call_id = x.parent_call_id
      where x.id = t.run_id and c.waits_for = 'task') then
    insert into troupe.joins (what, task_id) values ('delete', p_task);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', t.run_id, 'thread', answer->'thread') end;
  end if;
  select array_agg(x.id), array_agg(distinct x.thread_id) into v_runs, v_threads from troupe.runs x where x.task_id = p_task;
  perform 1 from troupe.threads x where x.id = any(v_threads) order by x.id for update;
  delete from troupe.run_heads x where x.run_id = any(v_runs);
  delete from troupe.run_steps x where x.run_id = any(v_runs);
  delete from troupe.tool_calls x where x.run_id = any(v_runs);
  delete from troupe.tasks x where x.id = p_task;
  delete from troupe.runs x where x.id = any(v_runs);
  delete from troupe.messages x where x.thread_id = any(v_threads);
  delete from troupe.events x where x.thread_id = any(v_threads);
  delete from troupe.files x where x.thread_id = any(v_threads);
  delete from troupe.file_totals x where x.thread_id = any(v_threads);
  delete from troupe.todo_lists x where x.thread_id = any(v_threads);
  delete from troupe.findings x where x.thread_id = any(v_threads);
  delete from troupe.threads x where x.id = any(v_threads);
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION troupe.end_attempt(p_delivery uuid, p_attempt integer, p_outcome jsonb, p_most integer)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  d troupe.trigger_deliveries; t troupe.triggers; v_status text := p_outcome->>'status'; reason text;
begin
  -- Rules before deliveries, as whoever deletes a rule locks them.
  select x.* into t from troupe.triggers x where x.id = (select y.trigger_id from troupe.trigger_deliveries y where y.id = p_delivery) for no key update;
  select * into d from troupe.trigger_deliveries x where x.id = p_delivery for no key update;
  if d.id is null then
    return '{"ok": false}';
  end if;
  update troupe.trigger_attempts a set duration_ms = (p_outcome->>'durationMs')::int, request = p_outcome->'request',
    response = case when d.erased and p_outcome->'response' ? 'body' then (p_outcome->'response') - 'body' else p_outcome->'response' end, error = p_outcome->'error'
    where a.delivery_id = p_delivery and a.attempt = p_attempt and a.duration_ms is null;
  if (d.attempts <> p_attempt or d.status <> 'sending')
      and not (v_status = 'delivered' and d.status in ('pending', 'sending') and p_attempt > d.attempts_before and p_attempt <= d.attempts) then
    return '{"ok": false}';
  end if;
  update troupe.trigger_deliveries x set status = v_status, lease_until = null,
    -- What is only put off was no attempt.
    attempts = x.attempts - case when (p_outcome->>'putOff')::boolean then 1 else 0 end,
    next_attempt_at = case when v_status = 'pending' then now() + make_interval(secs => (p_outcome->>'delayMs')::float8 / 1000) end,
    ended_at = case when v_status <> 'pending' then now() end,
    before = case when v_status = 'pending' or not x.erased then x.before end, after = case when v_status = 'pending' or not x.erased then x.after end,
    error = case when v_status = 'delivered' then null else coalesce(p_outcome->'error', x.error) end, result = coalesce(p_outcome->'result', x.result)
    where x.id = p_delivery;
  if (p_outcome->>'putOff')::boolean then
    delete from troupe.trigger_attempts a where a.delivery_id = p_delivery and a.attempt = p_attempt;
  elsif v_status = 'delivered' and t.dead_in_row > 0 then
    update troupe.triggers x set dead_in_row = 0 where x.id = t.id;
  elsif v_status = 'dead' then
    reason := case when (p_outcome->>'gone')::boolean then 'The receiver answered 410: it is gone for good.'
      when t.dead_in_row + 1 >= p_most then format('%s deliveries in a row were given up; the last: %s', t.dead_in_row + 1, p_outcome->'error'->>'message') end;
    update troupe.triggers x set dead_in_row = x.dead_in_row + 1 where x.id = t.id;
    if reason is not null and t.enabled then
      update troupe.triggers x set enabled = false, disabled_reason = reason, updated_at = now() where x.id = t.id;
      insert into troupe.audit_log (project_id, actor_kind, action, target, data)
        values (t.project_id, 'system', 'trigger.disabled', t.id::text, jsonb_build_object('name', t.name, 'reason', reason));
      return jsonb_build_object('ok', true, 'disabled', reason);
    end if;
  end if;
  return '{"ok": true}';
end $function$;

CREATE OR REPLACE FUNCTION troupe.end_run(p_run uuid, p_reason text, p_by text, p_absorber uuid, p_event text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  thread uuid; is_serial boolean; v_door text; data jsonb; told jsonb;
begin
  select r.thread_id, r.serial, r.door into thread, is_serial, v_door from troupe.runs r where r.id = p_run;
  -- From here on nothing that the worker still sends passes the fence, and how far it came stays as it is.
  update troupe.run_heads h set worker_id = null, epoch = h.epoch + 1, version = h.version + 1 where h.run_id = p_run;
  if v_door = 'space' then
    perform troupe.lock_spaces(array[p_run], null);
  end if;
  perform 1 from troupe.threads t where t.id = thread for no key update;
  perform troupe.close_calls(p_run, thread, 'canceled', 'canceled',
    'The run was canceled before this call ended; a call that was already running may have taken effect.', p_by);
  update troupe.runs r set status = 'canceled', cancel_reason = p_reason::troupe.cancel_reason, epoch = r.epoch + 1, worker_id = null,
    step = coalesce(h.step, r.step), input_tokens = coalesce(h.input_tokens, r.input_tokens), output_tokens = coalesce(h.output_tokens, r.output_tokens),
    cost = coalesce(h.cost, r.cost), open_calls = 0, wait_state = null, wait_deadline = null, absorbed_by = p_absorber, canceled_at = now(), updated_at = now()
    from (select p_run as id) x left join troupe.run_heads h on h.run_id = x.id where r.id = x.id;
  data := jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'by', p_by, 'absorbedBy', p_absorber));
  told := jsonb_build_array(jsonb_build_object('type', p_event, 'data', data));
  -- A run that only waited for its turn ends no turn, and one that gives way to another does not end the session's work.
  if p_reason <> 'superseded' and exists (select from troupe.threads t join troupe.runs r on r.id = p_run
      where t.id = thread and case t.kind when 'session' then is_serial and coalesce(t.active_run_id, p_run) = p_run else t.kind = 'run' and r.door = 'session' end) then
    told := jsonb_build_array(jsonb_build_object('type', 'session.canceled', 'data', data)) || told;
  end if;
  perform troupe.append(thread, p_run, null, told);
  if is_serial then
    perform troupe.promote(thread, p_run);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION troupe.end_tasks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.joins (what, task_id) select 'cancel', t.id from troupe.tasks t where t.chat_id = new.id and t.status in ('pending', 'running', 'waiting');
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.end_tasks_of_space()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.joins (what, task_id) select 'delete', t.id from troupe.tasks t where t.chat_id = old.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.end_wait(p_run uuid, p_call text, p_how text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  w troupe.reply_waits; r troupe.runs; told jsonb; v_step int; queued boolean;
begin
  delete from troupe.reply_waits x where x.run_id = p_run and x.call_id = p_call returning * into w;
  if not found then
    return false;
  end if;
  select * into r from troupe.runs x where x.id = p_run;
  told := jsonb_build_object('success', true, 'messageId', w.message_id, 'status', p_how, 'replies', w.replies, 'waitingFor', w.waiting_for,
    'waitDuration', round(extract(epoch from now() - w.started_at) * 1000));
  update troupe.tool_calls c set status = 'completed', output = told, waits_for = null, deadline = null, settled_at = now(), settled_by = 'reply'
    where c.run_id = p_run and c.call_id = p_call and c.waits_for is not null returning c.step into v_step;
  if not found then
    return false;
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  perform troupe.append(r.thread_id, p_run,
    jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', p_call, 'step', v_step, 'content', jsonb_build_object('result', told, 'error', null))),
    jsonb_build_array(jsonb_build_object('type', 'tool.completed', 'message', 0, 'step', v_step, 'data', jsonb_build_object('id', p_call, 'status', 'completed', 'by', 'reply'))));
  queued := r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 1;
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status else x.status end, run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status in ('waiting_tool', 'waiting_reply') then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null)) else x.wait_deadline end, updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION troupe.enter_space(p_run uuid, p_epoch integer, p_worker uuid, p_space uuid, p_limit integer)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs; place troupe.spaces; last_seq bigint; history jsonb; about jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found or not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select s.* into place from troupe.spaces s join troupe.memberships m on m.space_id = s.id and m.entity_id = r.entity_id where s.id = p_space and s.project_id = r.project_id;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  perform 1 from troupe.threads t where t.id in (p_space, r.active_space_id) order by t.id for no key update;
  select t.last_message_seq into last_seq from troupe.threads t where t.id = p_space;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  if p_space is distinct from r.active_space_id then
    update troupe.runs x set active_space_id = p_space, updated_at = now() where x.id = p_run;
    about := jsonb_build_object('entityId', r.entity_id, 'agentName', (select e.display_name from troupe.entities e where e.id = r.entity_id));
    if p_space is distinct from r.space_id then
      perform troupe.append(p_space, p_run, null, jsonb_build_array(jsonb_build_object('type', 'agent.active', 'data', about)));
    end if;
    if r.active_space_id is not null and r.active_space_id is distinct from r.space_id and exists (select from troupe.spaces s where s.id = r.active_space_id) then
      perform troupe.append(r.active_space_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'agent.inactive', 'data', about)));
    end if;
  end if;
  history := troupe.space_history(p_space, r.entity_id, last_seq, p_limit, 60000);
  perform troupe.note_history(p_run, p_space, history);
  return jsonb_build_object('ok', true, 'spaceId', p_space, 'spaceName', place.name, 'history', history, 'total', last_seq, 'left', r.active_space_id,
    'members', (select jsonb_agg(jsonb_build_object('entityId', e.id, 'name', coalesce(e.display_name, e.external_id), 'type', e.type) order by m.joined_at, e.id)
      from troupe.memberships m join troupe.entities e on e.id = m.entity_id where m.space_id = p_space));
end $function$;

CREATE OR REPLACE FUNCTION troupe.erase_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  with erased as (
    update troupe.trigger_deliveries d set erased = true, before = case when d.ended_at is null then d.before end, after = case when d.ended_at is null then d.after end
      where tg_table_name = 'entities' and d.user_id = old.id or tg_table_name <> 'entities' and d.chat_id = old.id returning d.id)
  update troupe.trigger_attempts a set response = a.response - 'body' from erased where a.delivery_id = erased.id and a.response ? 'body';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.expire(p_limit integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ids uuid[]; r record; c record; left_open int; over boolean; replies boolean; expired int := 0; canceled int := 0; queued int := 0;
begin
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.status in ('waiting_tool', 'waiting_reply') and x.wait_deadline <= now()
    order by x.wait_deadline limit p_limit for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return jsonb_build_object('runs', 0);
  end if;
  if exists (select from troupe.runs x where x.id = any(ids) and x.door = 'space') then
    perform troupe.lock_spaces(ids, null);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids)) order by t.id for no key update;
  for r in select x.id, x.thread_id, x.status, x.deadline_at from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    over := r.deadline_at <= now();
    if over then
      perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
      canceled := canceled + 1;
      continue;
    end if;
    -- Replies that did not come are no failure: the call ends with those that did. Its wait may be gone with its space; then it expires.
    for c in select x.call_id, jsonb_array_length(w.replies) > 0 as some from troupe.tool_calls x join troupe.reply_waits w on w.run_id = x.run_id and w.call_id = x.call_id
      where x.run_id = r.id and x.waits_for = 'reply' and x.deadline <= now() order by x.call_id loop
      perform troupe.end_wait(r.id, c.call_id, case when c.some then 'partial_timeout' else 'timeout' end);
      expired := expired + 1;
    end loop;
    for c in update troupe.tool_calls x set status = 'expired', waits_for = null, deadline = null, settled_at = now(),
        error = jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
      where x.run_id = r.id and x.waits_for is not null and x.deadline <= now() returning x.call_id, x.step, x.error, x.edited, x.args loop
      perform troupe.append(r.thread_id, r.id,
        jsonb_build_array(jsonb_build_object('role', 'tool_result', 'callId', c.call_id, 'step', c.step,
          'content', jsonb_build_object('result', null, 'error', c.error)
            || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
        jsonb_build_array(jsonb_build_object('type', 'tool.failed', 'message', 0, 'step', c.step,
          'data', jsonb_build_object('id', c.call_id, 'status', 'expired', 'code', 'expired'))));
      expired := expired + 1;
    end loop;
    -- The last wait for a reply that ends queues the run by itself.
    if exists (select from troupe.runs x where x.id = r.id and x.status = 'queued') then
      queued := queued + 1;
      continue;
    end if;
    select count(*) into left_open from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null;
    replies := left_open > 0 and r.status = 'waiting_tool' and not exists (
      select from troupe.tool_calls x where x.run_id = r.id and x.waits_for is not null and x.waits_for <> 'reply');
    update troupe.runs x set open_calls = left_open,
      status = case when left_open = 0 then 'queued'::troupe.run_status when replies then 'waiting_reply' else x.status end,
      run_at = case when left_open = 0 then now() else x.run_at end,
      wait_state = case when left_open = 0 then null else x.wait_state end,
      wait_deadline = case when left_open = 0 then null else least(x.deadline_at,
        (select min(o.deadline) from troupe.tool_calls o where o.run_id = x.id and o.waits_for is not null)) end,
      updated_at = now()
      where x.id = r.id;
    if left_open = 0 then
      queued := queued + 1;
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
    elsif replies then
      perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.waiting_reply')));
    end if;
  end loop;
  return jsonb_build_object('runs', cardinality(ids), 'expired', expired, 'canceled', canceled, 'queued', queued);
end $function$;

CREATE OR REPLACE FUNCTION troupe.expire_unclaimed(p_code text[], p_limit integer)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ids uuid[]; r record;
begin
  if p_code <> '{}' then
    insert into troupe.code_tools as c (names) values (p_code)
      on conflict (names) do update set seen_at = now() where c.seen_at < now() - interval '1 second';
  end if;
  with waiting as (
    select x.id, x.code_tools, x.run_at, x.deadline_at, x.wall_ms from troupe.runs x
      where x.status = 'queued' and x.ready and x.lane is null and x.code_tools is not null and x.run_at <= now()
    union all
    select x.id, x.code_tools, x.run_at, x.deadline_at, x.wall_ms from troupe.runs x
      where x.lane is not null and x.status in ('queued', 'running') and x.status = 'queued' and x.ready and x.code_tools is not null and x.run_at <= now()),
  -- Few sets, however many runs.
  lost as (
    select x.code_tools, (select max(c.seen_at) from troupe.code_tools c where c.names @> x.code_tools) as seen_at
      from (select distinct code_tools from waiting) x
      where not exists (select from troupe.workers w where not w.draining and w.code_tools @> x.code_tools)),
  over as (
    select x.id from waiting x join lost l on l.code_tools = x.code_tools
      where coalesce(x.deadline_at, greatest(x.run_at, l.seen_at) + make_interval(secs => x.wall_ms::float8 / 1000)) <= now() limit p_limit)
  select coalesce(array_agg(id order by id), '{}') into ids from (
    select x.id from troupe.runs x where x.id in (select id from over) and x.status = 'queued' for no key update skip locked) y;
  if cardinality(ids) = 0 then
    return ids;
  end if;
  if exists (select from troupe.runs x where x.id = any(ids) and x.door = 'space') then
    perform troupe.lock_spaces(ids, null);
  end if;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(ids)) order by t.id for no key update;
  for r in select x.id from troupe.runs x where x.id = any(ids) order by x.thread_id, x.id loop
    perform troupe.end_run(r.id, 'timeout', null, null, 'run.canceled');
  end loop;
  return ids;
end $function$;

CREATE OR REPLACE FUNCTION troupe.expired()
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select jsonb_build_object('code', 'expired', 'message', 'Nobody settled this call before its deadline.')
$function$;

CREATE OR REPLACE FUNCTION troupe.field(p_name text, p_value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when p_value is null or p_value = 'null' then '{}'::jsonb else jsonb_build_object(p_name, p_value) end
$function$;

CREATE OR REPLACE FUNCTION troupe.find_code_tools()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.code_tools := troupe.code_tools_of(new.compiled);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION troupe.fire_plan(p_plan uuid, p_version integer, p_next timestamp with time zone, p_item jsonb, p_why text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  p troupe.plans; item jsonb := p_item; started jsonb;
begin
  select * into p from troupe.plans x where x.id = p_plan for no key update;
  if not found or p.status <> 'pending' or p.version <> p_version or p.next_run_at > now() then
    return jsonb_build_object('ok', false);
  end if;
  if item is null then
    insert into troupe.audit_log (project_id, actor_kind, action, target, data)
      values (p.project_id, 'system', 'plan.skipped', p.id, jsonb_build_object('name', p.name, 'dueAt', p.next_run_at, 'why', p_why));
  else
    item := jsonb_set(item, '{run,trigger}', jsonb_build_object('planId', p.id, 'planName', p.name, 'instruction', p.instruction,
      'scheduledAt', to_char(p.next_run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    started := troupe.start(item);
    if not (started->>'ok')::boolean then
      raise exception 'the run of plan % could not be started: %', p_plan, started->>'code';
    end if;
  end if;
  update troupe.plans x set status = case when p_next is null then 'completed' else 'pending' end, next_run_at = p_next, version = x.version + 1, updated_at = now(),
    last_run_at = case when started is null then x.last_run_at else now() end, last_run_id = coalesce((started->>'run')::uuid, x.last_run_id)
    where x.id = p_plan;
  return jsonb_build_object('ok', true, 'run', started->'run');
end $function$;

CREATE OR REPLACE FUNCTION troupe.folded(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select translate(normalize(name, nfkc),
    'ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĴĶĹĻĽŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲉᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺᾼῈῊῌῘῙῚῨῩῪῬῸῺῼℲↃⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟋꟌ꟎Ꟑ꟒꟔ꟖꟘꟚꟜꟵ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𖺠𖺡𖺢𖺣𖺤𖺥𖺦𖺧𖺨𖺩𖺪𖺫𖺬𖺭𖺮𖺯𖺰𖺱𖺲𖺳𖺴𖺵𖺶𖺷𖺸𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
    'abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽᲊაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰᾳὲὴῃῐῑὶῠῡὺῥὸὼῳⅎↄⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊɤꟍ꟏ꟑꟓꟕꟗꟙꟛƛꟶ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𖺻𖺼𖺽𖺾𖺿𖻀𖻁𖻂𖻃𖻄𖻅𖻆𖻇𖻈𖻉𖻊𖻋𖻌𖻍𖻎𖻏𖻐𖻑𖻒𖻓𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃')
$function$;

CREATE OR REPLACE FUNCTION troupe.follow_run()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  t troupe.tasks; ended boolean := new.status in ('completed', 'failed', 'canceled'); asked text; now_is text; told jsonb;
begin
  select * into t from troupe.tasks x where x.id = new.task_id and x.run_id = new.id for no key update;
  if not found then
    return null;
  end if;
  if new.status in ('waiting_tool', 'waiting_reply') then
    select c.args->>'question' into asked from troupe.tool_calls c where c.run_id = new.id and c.waits_for::text = 'answer' order by c.step, c.position limit 1;
  end if;
  now_is := case when new.status = 'completed' then 'success' when ended then new.status::text when asked is not null then 'waiting'
    when new.status = 'queued' and new.started_at is null then 'pending' else 'running' end;
  if now_is = t.status and asked is not distinct from t.question then
    return null;
  end if;
  update troupe.tasks x set status = now_is, question = asked, told = x.told + (ended or asked is not null)::int, updated_at = now(),
    result = case when now_is = 'success' then coalesce(new.outcome->>'text', '') else x.result end,
    error = case when now_is = 'failed' then new.error
      when now_is = 'canceled' then jsonb_build_object('code', 'canceled', 'message', format('It was canceled (%s).', new.cancel_reason)) end
    where x.id = t.id returning * into t;
  if t.sub_agent_id is not null then
    update troupe.sub_agents x set updated_at = now(),
      status = case now_is when 'success' then 'completed' when 'failed' then 'failed' when 'canceled' then 'failed' when 'waiting' then 'waiting_for_user' else 'active' end,
      iteration_count = case when ended then (select coalesce(sum(y.step), 0) from troupe.runs y where y.task_id = t.id and y.status in ('completed', 'failed', 'canceled'))
        else x.iteration_count end,
      summary = case when now_is = 'success' then troupe.shortened(regexp_replace(btrim(t.result), '\s+', ' ', 'g'), 200) else x.summary end
      where x.id = t.sub_agent_id;
  end if;
  -- Taken up again by hand, after whoever waited for it was told of its end: from here on nobody's call does.
  if old.status in ('failed', 'canceled') and not ended and not exists (
      select from troupe.tool_calls c where c.run_id = new.parent_run_id and c.call_id = new.parent_call_id and c.waits_for = 'task') then
    update troupe.runs x set parent_call_id = null where x.id = new.id and x.parent_call_id is not null;
    update troupe.tasks x set quiet = false where x.id = t.id and x.quiet;
  end if;
  told := jsonb_strip_nulls(jsonb_build_object('status', now_is, 'question', asked, 'result', case when now_is = 'success' then t.result end, 'error', t.error));
  if asked is not null then
    insert into troupe.joins (what, task_id, told, data) values ('question', t.id, t.told, told);
  elsif ended and new.parent_call_id is null then
    insert into troupe.joins (what, task_id, told, data) values ('end', t.id, t.told, told);
  end if;
  -- Nobody is left who could answer them, or want what they find.
  if ended then
    insert into troupe.joins (what, task_id) select 'cancel', x.id from troupe.tasks x where x.parent_task_id = t.id and x.status in ('pending', 'running', 'waiting');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.forget_budgets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from troupe.budgets b where b.scope = tg_argv[0] and b.scope_id = old.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.forget_prompts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from troupe.run_prompts x where x.space_id = old.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.fork(p_source uuid, p_step integer, p_thread uuid, p_run uuid, p_snapshot uuid, p_edits jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r troupe.runs; upto bigint; edited bigint := (select min((e.v->>'seq')::bigint) from jsonb_array_elements(p_edits) e(v));
begin
  lock table troupe.runs in row exclusive mode;
  -- Steps whose calls are settled never change again: nothing of the run has to be locked. The thread's lock is for two forks with the same ids.
  select * into r from troupe.runs x where x.id = p_source;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if exists (select from troupe.runs x where x.id = p_run) then
    return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'duplicate', true);
  end if;
  if troupe.missing_for(r.project_id, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), null) is not null then
    return jsonb_build_object('ok', false, 'code', 'snapshot_not_found');
  end if;
  r.step := coalesce((select h.step from troupe.run_heads h where h.run_id = p_source), r.step);
  if p_step < 0 or p_step > r.step then
    return jsonb_build_object('ok', false, 'code', 'step_not_found', 'step', r.step);
  elsif exists (select from troupe.tool_calls c where c.run_id = p_source and c.step <= p_step
      and (c.status in ('requested', 'running') or c.waits_for is not null)) then
    return jsonb_build_object('ok', false, 'code', 'step_not_settled', 'step', p_step);
  end if;
  -- Everything up to the step's last message; without a step, up to the trigger.
  select greatest(max(m.seq), coalesce(r.trigger_seq, 0)) into upto from troupe.messages m
    where m.thread_id = r.thread_id and m.run_id = p_source and m.step <= p_step;
  upto := coalesce(upto, r.trigger_seq, 0);
  insert into troupe.threads (id, project_id, kind, last_message_seq) values (p_thread, r.project_id, 'run', upto);
  insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata, created_at)
  select p_thread, m.seq, troupe.new_id(), m.role, coalesce(e.v->'content', m.content), m.tool_call_id, m.sender_id,
    case when m.run_id = p_source then p_run else m.run_id end, m.step,
    -- What a model thought of what stands otherwise now is not its thought any more.
    case when m.seq >= edited then m.metadata - 'troupe:reasoning' else m.metadata end, m.created_at
  from troupe.messages m left join jsonb_array_elements(p_edits) e(v) on (e.v->>'seq')::bigint = m.seq
  where m.thread_id = r.thread_id and m.seq <= upto;
  perform troupe.copy_files(r.thread_id, p_thread);
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id, trigger_type, trigger_seq, trigger,
    chain_depth, step, wall_ms, history_limit, budget_ids, metadata, owner_id)
  values (p_run, r.project_id, r.door, r.agent_id, r.entity_id, coalesce(p_snapshot, r.snapshot_id), p_thread, null, p_run, 'fork', r.trigger_seq,
    r.trigger || jsonb_build_object('forkedFrom', p_source, 'forkedAtStep', p_step), r.chain_depth, p_step, r.wall_ms, r.history_limit, r.budget_ids,
    r.metadata || jsonb_build_object('forkedFrom', p_source), troupe.owner_of(p_source, r.entity_id));
  perform troupe.append(p_thread, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('forkedFrom', p_source, 'step', p_step))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', p_thread, 'messages', upto);
end $function$;

CREATE OR REPLACE FUNCTION troupe.hand_over(p_run uuid, p_call text, p_epoch integer, p_worker uuid, p_waits_for text, p_deadline_ms bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from troupe.runs r where r.id = p_run for no key update;
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  update troupe.tool_calls c set status = 'requested', waits_for = p_waits_for::troupe.waits_for, deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where c.run_id = p_run and c.call_id = p_call and c.status = 'running';
  -- Not found: it was handed over before, and may be settled by now.
  if found then
    update troupe.runs r set open_calls = r.open_calls + 1, updated_at = now() where r.id = p_run;
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION troupe.hand_up(j troupe.joins)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  t troupe.tasks; child troupe.runs; answer jsonb;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  select * into child from troupe.runs x where x.id = t.run_id;
  if child.parent_call_id is null then
    return null;
  end if;
  perform 1 from troupe.runs x where x.id in (child.id, child.parent_run_id) order by x.id for no key update;
  if not exists (select from troupe.tasks x where x.id = t.id and x.status = 'waiting' and x.told = j.told)
    or not exists (select from troupe.runs x where x.id = child.id and x.parent_call_id = child.parent_call_id and x.parent_run_id = child.parent_run_id) then
    return '{}';
  end if;
  answer := troupe.settle(child.parent_run_id, child.parent_call_id, jsonb_build_object('status', 'completed', 'output', jsonb_build_object('status', 'waiting',
    'taskId', t.id, 'subAgentId', t.sub_agent_id, 'question', t.question)), 'run:' || child.id, troupe.new_id());
  -- A call that is over has noted so itself, and its child is canceled.
  if not (answer->>'ok')::boolean then
    return '{}';
  end if;
  update troupe.runs x set parent_call_id = null where x.id = child.id;
  return answer || jsonb_build_object('settled', child.parent_run_id, 'how', 'completed');
end $function$;

CREATE OR REPLACE FUNCTION troupe.has_run(p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION troupe.id_from(p_key text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  select (overlay(overlay(substr(x.hex, 1, 32) placing '8' from 13) placing 'a' from 17))::uuid from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as hex) x
$function$;

CREATE OR REPLACE FUNCTION troupe.id_from(p_key text, p_near uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select (left(p_near::text, 13) || '-8' || substr(d, 14, 3) || '-a' || substr(d, 18, 3) || '-' || substr(d, 21, 12))::uuid
  from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as d) x
$function$;

CREATE OR REPLACE FUNCTION troupe.is_captured(p_project uuid, p_collection text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return exists (select from troupe.triggers t where t.project_id = p_project and t.enabled and p_collection = any (t.collections));
end $function$;

CREATE OR REPLACE FUNCTION troupe.is_thread_captured(p_thread uuid, p_collections text[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  -- A thread that this transaction deletes is looked at all the same.
  return exists (select from troupe.threads h join troupe.triggers t on t.project_id = h.project_id where h.id = p_thread and t.enabled and t.collections && p_collections)
    or not exists (select from troupe.threads h where h.id = p_thread);
end $function$;

CREATE OR REPLACE FUNCTION troupe.is_tidied()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from troupe.captured x join pg_trigger g on g.tgname = x.trigger_name and g.tgrelid = ('troupe.' || x.table_name)::regclass
      join pg_locks l on l.locktype = 'relation' and l.relation = g.tgrelid and l.granted and l.mode = 'ShareUpdateExclusiveLock'
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
    where g.tgenabled = 'D' and exists (select from troupe.triggers t where t.enabled and t.collections && x.collections))
$function$;

CREATE OR REPLACE FUNCTION troupe.join_child(p_join bigint, p_current jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET lock_timeout TO '250ms'
AS $function$
declare
  j troupe.joins; child troupe.runs; open boolean; most bigint := 262144; outcome jsonb; answer jsonb;
begin
  if exists (select from troupe.joins x where x.id = p_join and x.what is not null) then
    return troupe.join_task(p_join, p_current);
  end if;
  delete from troupe.joins x where x.id = (select y.id from troupe.joins y where y.id = p_join for update skip locked) returning * into j;
  if not found then
    return null;
  end if;
  select * into child from troupe.runs x where x.parent_run_id = j.run_id and x.parent_call_id = j.call_id;
  if not found then
    return '{}';
  end if;
  open := exists (select from troupe.tool_calls x where x.run_id = j.run_id and x.call_id = j.call_id and x.waits_for = 'task');
  if child.status in ('completed', 'failed', 'canceled') then
    if not open then
      return '{}';
    end if;
    if octet_length(child.outcome::text) > 1000 then
      select coalesce((s.compiled->'limits'->>'toolOutputBytes')::bigint, most) into most
        from troupe.runs p join troupe.compiled_snapshots s on s.id = p.snapshot_id where p.id = j.run_id;
    end if;
    outcome := troupe.task_outcome(child, most);
    answer := troupe.settle(j.run_id, j.call_id, outcome, 'run:' || child.id, troupe.new_id());
    return case when (answer->>'ok')::boolean then answer || jsonb_build_object('settled', j.run_id, 'how', outcome->'status') else '{}' end;
  elsif not open then
    answer := troupe.cancel(child.id, 'parent', null);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', child.id, 'thread', answer->'thread') else '{}' end;
  end if;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION troupe.join_task(p_join bigint, p_current jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  j troupe.joins; answer jsonb; v_run uuid;
begin
  select * into j from troupe.joins x where x.id = p_join;
  if j.what = 'event' then
    return troupe.tell_chat(j.thread_id);
  elsif j.what in ('question', 'end') then
    -- As `start` does, before the first row.
    lock table troupe.runs in row exclusive mode;
  end if;
  delete from troupe.joins x where x.id = (select y.id from troupe.joins y where y.id = p_join for update skip locked) returning * into j;
  if not found then
    return null;
  elsif j.what = 'cancel' then
    select t.run_id into v_run from troupe.tasks t where t.id = j.task_id;
    answer := troupe.cancel(v_run, 'parent', null);
    return case when (answer->>'ok')::boolean then jsonb_build_object('canceled', v_run, 'thread', answer->'thread') else '{}' end;
  elsif j.what = 'delete' then
    return troupe.delete_task(j.task_id);
  elsif j.what = 'question' then
    answer := troupe.hand_up(j);
  end if;
  return coalesce(answer, troupe.tell_giver(j, p_current));
end $function$;

CREATE OR REPLACE FUNCTION troupe.keep_prompt(p_run uuid, p_epoch integer, p_worker uuid, p_step integer, p_system text, p_space uuid, p_from bigint, p_upto bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  insert into troupe.run_prompts as x (run_id, step, space_id, system) values (p_run, p_step, p_space, p_system)
    on conflict (run_id, step) do update set space_id = excluded.space_id, system = excluded.system, created_at = excluded.created_at;
  return p_from is null or troupe.show_prompt(p_run, p_epoch, p_worker, p_space, p_from, p_upto);
end $function$;

CREATE OR REPLACE FUNCTION troupe.keep_used()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION troupe.lease_budget(p_budget uuid, p_worker uuid, p_known bigint, p_want bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  b troupe.budgets; l troupe.budget_leases; free bigint; more bigint;
begin
  select * into b from troupe.budgets x where x.id = p_budget for no key update;
  if not found then
    return jsonb_build_object('granted', 0, 'unlimited', true);
  end if;
  select * into l from troupe.budget_leases x where x.budget_id = p_budget and x.worker_id = p_worker;
  more := coalesce(l.granted, 0) - p_known;
  free := b.amount - b.spent - b.leased;
  if more <= 0 then
    more := greatest(0, least(free, p_want));
    if more > 0 then
      update troupe.budgets x set leased = x.leased + more, updated_at = now() where x.id = p_budget;
      insert into troupe.budget_leases (budget_id, worker_id, granted) values (p_budget, p_worker, more)
        on conflict (budget_id, worker_id) do update set granted = budget_leases.granted + excluded.granted returning * into l;
    end if;
  end if;
  return jsonb_build_object('granted', more, 'unit', b.unit, 'onExhausted', b.on_exhausted, 'amount', b.amount,
    'others', b.leased - (coalesce(l.granted, 0) - coalesce(l.spent, 0) - coalesce(l.returned, 0)) + case when more > 0 then more else 0 end);
end $function$;

CREATE OR REPLACE FUNCTION troupe.leave(p_run uuid, p_thread uuid, p_mode text, p_attempt integer, p_model integer, p_outside integer, p_target text, p_extra jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  is_serial boolean; promoted boolean; delay interval := make_interval(secs => (p_extra->>'delayMs')::float8 / 1000);
begin
  -- The budget that a run is about to wait for was raised meanwhile: the next sweep has it ask again.
  if p_mode = 'parked' and p_extra->'waitState' ? 'budget' then
    perform 1 from troupe.budgets b where b.id = (p_extra->'waitState'->>'budget')::uuid for share;
    perform 1 from troupe.budgets b where b.id = (p_extra->'waitState'->>'budget')::uuid and b.amount > (p_extra->'waitState'->>'amount')::bigint;
    if found then
      delay := '0';
    end if;
  end if;
  update troupe.runs r set
    step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens, cost = h.cost,
    -- A head that is ahead has taken a step since: both count from there.
    takeovers = case when h.step > r.step then 0 else r.takeovers end,
    attempt = coalesce(p_attempt, case when h.step > r.step then 0 else r.attempt end),
    model_index = coalesce(p_model, r.model_index),
    open_calls = case when p_mode = 'ended' then 0 else r.open_calls + p_outside end,
    status = case p_mode when 'parked' then case when p_target is null and not exists (
        select from troupe.tool_calls c where c.run_id = p_run and c.waits_for is not null and c.waits_for <> 'reply') then 'waiting_reply' else 'waiting_tool' end
      when 'go' then 'running' else p_target end::troupe.run_status,
    worker_id = case when p_mode = 'go' then r.worker_id end,
    run_at = case when p_mode = 'released' then now() + coalesce(delay, '0') else r.run_at end,
    wait_state = case when p_mode = 'parked' then p_extra->'waitState' end,
    wait_deadline = case when p_mode = 'parked' then least(r.deadline_at, now() + delay,
      (select min(c.deadline) from troupe.tool_calls c where c.run_id = r.id and c.waits_for is not null)) end,
    outcome = case when p_mode = 'ended' then p_extra->'outcome' else r.outcome end,
    error = case when p_extra ? 'error' then p_extra->'error' when p_mode = 'ended' then null else r.error end,
    cancel_reason = case when p_mode = 'ended' then (p_extra->>'cancelReason')::troupe.cancel_reason end,
    completed_at = case when p_mode = 'ended' and p_target <> 'canceled' then now() end,
    canceled_at = case when p_mode = 'ended' and p_target = 'canceled' then now() end,
    updated_at = now()
  from troupe.run_heads h where r.id = p_run and h.run_id = p_run returning r.serial into is_serial;
  -- Let the next run of a serial thread in; true where there was one.
  promoted := is_serial and p_mode = 'ended' and troupe.promote(p_thread, p_run);
  if is_serial and p_mode = 'ended' and p_target = 'failed' and not promoted then
    update troupe.threads t set failed_run_id = p_run where t.id = p_thread and t.active_run_id is null;
  end if;
  return promoted;
end $function$;

CREATE OR REPLACE FUNCTION troupe.live_again()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.lives := old.lives + 1;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION troupe.lock_plans(p_entity uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_advisory_xact_lock(hashtextextended('troupe.plans:' || p_entity, 0))
$function$;

CREATE OR REPLACE FUNCTION troupe.lock_space(p_project uuid, p_space uuid, p_by uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  v_role text;
begin
  perform 1 from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for no key update;
  if not found then
    return 'space_not_found';
  end if;
  if p_by is null then
    return null;
  end if;
  select m.role into v_role from troupe.memberships m where m.space_id = p_space and m.entity_id = p_by;
  return case when v_role is null then 'space_not_found' when v_role <> 'admin' then 'not_an_admin' end;
end $function$;

CREATE OR REPLACE FUNCTION troupe.lock_spaces(p_runs uuid[], p_spaces uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from troupe.threads t where t.id in (
    select r.space_id from troupe.runs r where r.id = any(p_runs)
    union select r.active_space_id from troupe.runs r where r.id = any(p_runs)
    union select (c.shown->>'spaceId')::uuid from troupe.tool_calls c where c.run_id = any(p_runs) and c.shown is not null and c.status in ('requested', 'running', 'in_doubt')
    union select troupe.space_of_call(c.run_id, c.call_id) from troupe.tool_calls c where c.run_id = any(p_runs) and c.tool = 'send_message' and c.status in ('requested', 'running', 'in_doubt')
    union select x.space_id from troupe.run_shown x where x.run_id = any(p_runs)
    union select unnest(p_spaces)) order by t.id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION troupe.mark_read(p_project uuid, p_space uuid, p_entity uuid, p_message uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  v_seq bigint; last_seq bigint; marker record; moved boolean;
begin
  select t.last_message_seq into last_seq from troupe.threads t where t.id = p_space and t.project_id = p_project and t.kind = 'space' for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  select e.type, m.last_seen_seq, m.last_seen_message_id, m.joined_seq into marker from troupe.memberships m join troupe.entities e on e.id = m.entity_id
    where m.space_id = p_space and m.entity_id = p_entity;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  elsif marker.type <> 'human' then
    return jsonb_build_object('ok', false, 'code', 'not_a_person');
  end if;
  select m.seq into v_seq from troupe.messages m where m.id = p_message and m.thread_id = p_space;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'message_not_found');
  end if;
  moved := v_seq > marker.last_seen_seq;
  if moved then
    update troupe.memberships m set last_seen_seq = v_seq, last_seen_message_id = p_message where m.space_id = p_space and m.entity_id = p_entity;
    perform troupe.append(p_space, null, null, jsonb_build_array(jsonb_build_object('type', 'space.read', 'data',
      jsonb_build_object('entityId', p_entity, 'messageId', p_message, 'sequence', v_seq))));
  end if;
  return jsonb_build_object('ok', true, 'moved', moved, 'lastSeenMessageId', case when moved then p_message else marker.last_seen_message_id end,
    'unread', last_seq - greatest(v_seq, marker.last_seen_seq, marker.joined_seq));
end $function$;

CREATE OR REPLACE FUNCTION troupe.member_entity(p_project uuid, p_member jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
declare
  found_id uuid;
begin
  if p_member ? 'user' then
    insert into troupe.entities (id, project_id, type, external_id) values (troupe.new_id(), p_project, 'human', p_member->>'user')
      on conflict (project_id, external_id) where external_id is not null do nothing;
  end if;
  select e.id into found_id from troupe.entities e where e.project_id = p_project
    and case when p_member ? 'user' then e.external_id = p_member->>'user' when p_member ? 'agentId' then e.agent_id = (p_member->>'agentId')::uuid
      else e.id = (p_member->>'entityId')::uuid end
    for key share;
  return found_id;
end $function$;

CREATE OR REPLACE FUNCTION troupe.member_event(p_type text, p_entity uuid, p_role text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('type', p_type, 'data', jsonb_build_object('entityId', e.id, 'name', coalesce(e.display_name, e.external_id), 'type', e.type, 'role', p_role))
  from troupe.entities e where e.id = p_entity
$function$;

CREATE OR REPLACE FUNCTION troupe.membership_document(m troupe.memberships)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', m.space_id || ':' || m.entity_id, 'spaceId', m.space_id, 'entityId', m.entity_id, 'type', e.type,
    'name', coalesce(e.display_name, e.external_id), 'agentId', e.agent_id, 'role', m.role, 'ordering', m.ordering, 'lastSeenMessageId', m.last_seen_message_id,
    'lastProcessedMessageId', m.last_processed_message_id, 'joinedAt', troupe.milliseconds(m.joined_at)))
  from (select 1) one left join troupe.entities e on e.id = m.entity_id
$function$;

CREATE OR REPLACE FUNCTION troupe.membership_path(m troupe.memberships)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select 'spaces/' || m.space_id || '/memberships' $function$;

CREATE OR REPLACE FUNCTION troupe.mentions(p_text text, p_name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  select troupe.folded(p_text) ~ ('(^|[^[:alnum:]_])@' || regexp_replace(troupe.folded(p_name), '([^[:alnum:][:space:]])', '\\\1', 'g') || '(?![[:alnum:]_])')
$function$;

CREATE OR REPLACE FUNCTION troupe.message_collection(m troupe.messages)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select (troupe.place_of_thread(m.thread_id)).collection
$function$;

CREATE OR REPLACE FUNCTION troupe.message_document(m troupe.messages)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case (p).collection when 'messages' then troupe.message_document(m, p) when 'sub_agent_messages' then troupe.sub_agent_message_document(m, p) end
  from (select troupe.place_of_thread(m.thread_id) as p offset 0) x
$function$;

CREATE OR REPLACE FUNCTION troupe.message_document(m troupe.messages, p troupe.place)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', m.id, 'userId', coalesce((p).user_id, troupe.user_of_message(m)), 'chatId', (p).chat_id, 'sequence', m.seq, 'role', m.role,
    'content', case m.role when 'tool_call' then coalesce(m.content->>'text', '')
      when 'tool_result' then coalesce(nullif(m.content->'result', 'null') #>> '{}', m.content->'error'->>'message', '') else coalesce(m.content->>'text', '') end,
    'toolCallId', m.tool_call_id, 'name', case when m.role = 'tool_call' then coalesce(m.content->>'name', m.content->'tool'->>'name') end,
    'senderId', coalesce(m.sender_id, case when m.role in ('assistant', 'tool_call') then (select r.entity_id from troupe.runs r where r.id = m.run_id) end),
    'runId', coalesce(m.metadata->>'troupe:run', m.run_id::text), 'step', m.step, 'createdAt', troupe.milliseconds(m.created_at)))
    || troupe.field('parts', m.content->'parts')
    || case when m.role = 'tool_call' then troupe.field('arguments', m.content->'arguments') || troupe.field('tool', m.content->'tool') else '{}' end
    || case when m.role = 'tool_result' then troupe.field('error', m.content->'error') else '{}' end
    || jsonb_build_object('metadata', troupe.own_metadata(m.metadata))
$function$;

CREATE OR REPLACE FUNCTION troupe.message_json(m troupe.messages)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content, 'callId', m.tool_call_id,
    'sender', m.sender_id, 'runId', m.run_id, 'step', m.step, 'metadata', m.metadata)
$function$;

CREATE OR REPLACE FUNCTION troupe.message_path(m troupe.messages)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case (p).collection when 'messages' then troupe.chat_path(coalesce((p).user_id, troupe.user_of_message(m)), (p).chat_id, 'messages')
    when 'sub_agent_messages' then troupe.chat_path((p).user_id, (p).chat_id, 'sub-agents/' || (p).sub_agent_id || '/messages') end
  from (select troupe.place_of_thread(m.thread_id) as p offset 0) x
$function$;

CREATE OR REPLACE FUNCTION troupe.milliseconds(p_time timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select floor(extract(epoch from p_time) * 1000)::bigint
$function$;

CREATE OR REPLACE FUNCTION troupe.missing_for(p_project uuid, p_agent uuid, p_entity uuid, p_snapshot uuid, p_parent uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when not exists (select from troupe.projects p where p.id = p_project) then 'project'
    when not exists (select from troupe.compiled_snapshots s where s.id = p_snapshot and s.project_id = p_project) then 'snapshot'
    when p_agent is not null and not exists (select from troupe.agents a where a.id = p_agent and a.project_id = p_project) then 'agent'
    when p_entity is not null and not exists (select from troupe.entities e where e.id = p_entity and e.project_id = p_project) then 'entity'
    when p_parent is not null and not exists (select from troupe.runs r where r.id = p_parent and r.project_id = p_project) then 'parent run'
  end
$function$;

CREATE OR REPLACE FUNCTION troupe.new_id()
 RETURNS uuid
 LANGUAGE sql
AS $function$
  select encode(
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    || set_byte(substring(r from 1 for 2), 0, (get_byte(r, 0) & 15) | 112)
    || set_byte(substring(r from 3 for 8), 0, (get_byte(r, 2) & 63) | 128), 'hex')::uuid
  from (select uuid_send(gen_random_uuid()) as r offset 0) x
$function$;

CREATE OR REPLACE FUNCTION troupe.note_answer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update troupe.runs r set deadline_at = r.deadline_at - greatest(old.deadline - now(), '0') where r.id = new.run_id;
  if new.status <> 'canceled' then
    update troupe.tasks t set status = 'running', question = null, updated_at = now() where t.run_id = new.run_id and t.status = 'waiting';
    update troupe.sub_agents s set status = 'active', updated_at = now() from troupe.tasks t where t.run_id = new.run_id and s.id = t.sub_agent_id and s.status = 'waiting_for_user';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.note_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.ended_runs (run_id, lives) values (new.id, new.lives) on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.note_history(p_run uuid, p_space uuid, p_history jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into troupe.run_shown as x (run_id, space_id, seqs)
    select p_run, p_space, range_agg(int8range((m->>'seq')::bigint, (m->>'seq')::bigint, '[]')) from jsonb_array_elements(p_history) m having count(*) > 0
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs
$function$;

CREATE OR REPLACE FUNCTION troupe.note_join()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_table_name = 'runs' then
    insert into troupe.joins (run_id, call_id) values (new.parent_run_id, new.parent_call_id);
  elsif tg_op = 'DELETE' then
    insert into troupe.joins (run_id, call_id) values (old.run_id, old.call_id);
  else
    insert into troupe.joins (run_id, call_id) values (new.run_id, new.call_id);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.note_shown(p_run uuid, p_space uuid, p_from bigint, p_to bigint)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into troupe.run_shown as x (run_id, space_id, seqs) values (p_run, p_space, int8multirange(int8range(p_from, p_to, '[]')))
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs
$function$;

CREATE OR REPLACE FUNCTION troupe.note_task()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.joins (what, task_id, thread_id, data) values ('event', new.id, new.chat_thread_id, jsonb_build_object(
    'type', case tg_op when 'INSERT' then 'task.created' else 'task.updated' end,
    'data', jsonb_strip_nulls(jsonb_build_object('id', new.id, 'type', new.type, 'name', new.name, 'status', new.status, 'subAgentId', new.sub_agent_id,
      'parentTaskId', new.parent_task_id, 'triggerMessageId', new.trigger_message_id, 'background', new.background, 'runId', new.run_id,
      'question', troupe.shortened(new.question, 2000), 'result', case when new.status = 'success' then troupe.shortened(new.result, 2000) end,
      'code', new.error->'code', 'error', troupe.shortened(new.error->>'message', 2000)))));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.note_waiting()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into troupe.joins (what, task_id, thread_id, data) select 'event', t.id, t.chat_thread_id, jsonb_build_object('type', 'task.waiting',
      'data', jsonb_strip_nulls(jsonb_build_object('id', t.id, 'subAgentId', t.sub_agent_id, 'runId', new.run_id, 'callId', new.call_id, 'tool', new.tool, 'waitsFor', new.waits_for)))
    from troupe.runs r join troupe.tasks t on t.id = r.task_id where r.id = new.run_id and t.chat_thread_id is not null;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.noted_depth(p_metadata jsonb)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when p_metadata->>'troupe:depth' ~ '^[0-9]{1,4}$' then (p_metadata->>'troupe:depth')::int end
$function$;

CREATE OR REPLACE FUNCTION troupe.open_files(p_thread uuid, p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  if p_run is not null then
    perform 1 from troupe.run_heads h where h.run_id = p_run and h.epoch = p_epoch and h.worker_id = p_worker for share;
    if not found then
      return 'run_lost';
    end if;
  end if;
  -- So that who deletes the thread comes before or after, and never leaves a file behind.
  perform 1 from troupe.threads t where t.id = p_thread for key share;
  if not found then
    return 'thread_not_found';
  end if;
  insert into troupe.file_totals (thread_id) values (p_thread) on conflict do nothing;
  perform 1 from troupe.file_totals t where t.thread_id = p_thread for update;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.own_metadata(p_metadata jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when p_metadata is null or p_metadata = '{}' then '{}'::jsonb else
    (select coalesce(jsonb_object_agg(x.key, x.value), '{}') from jsonb_each(p_metadata) x where x.key not like 'troupe:%' and x.key <> 'runContext') end
$function$;

CREATE OR REPLACE FUNCTION troupe.owner_of(p_run uuid, p_entity uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  with recursive line as (
    select r.id, r.thread_id, r.owner_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id) as origin, 0 as back from troupe.runs r where r.id = p_run
    union all
    select r.id, r.thread_id, r.owner_id, coalesce((r.trigger->>'forkedFrom')::uuid, r.parent_run_id), l.back + 1 from line l join troupe.runs r on r.id = l.origin
      where l.owner_id is null)
  select case
    when known.back is not null then coalesce(known.owner, p_entity)
    when exists (select from line l where l.origin is null) then p_entity end
  from (select 1) one left join lateral (
    select l.back, coalesce(l.owner_id, s.entity_id) as owner from line l left join troupe.sessions s on s.thread_id = l.thread_id
    where l.owner_id is not null or s.id is not null order by l.back limit 1) known on true
$function$;

CREATE OR REPLACE FUNCTION troupe.pass(r troupe.runs)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if r.status = 'queued' and not r.ready then
    perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
    perform troupe.promote(r.thread_id, null);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION troupe.place_of(p_run uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  r troupe.runs; t troupe.tasks; s troupe.sessions; space uuid; person uuid; direct boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run;
  for hops in 1 .. 100 loop
    if r.task_id is not null then
      select * into t from troupe.tasks x where x.id = r.task_id;
      if found then
        return jsonb_build_object('chat', t.chat_id, 'thread', t.chat_thread_id, 'user', t.user_id, 'message', t.trigger_message_id,
          'task', t.id, 'depth', t.depth, 'direct', false);
      end if;
    end if;
    select * into s from troupe.sessions x where x.thread_id = r.thread_id;
    if found then
      return jsonb_build_object('chat', s.id, 'thread', s.thread_id, 'user', s.entity_id, 'message', r.trigger_message_id, 'depth', 0, 'direct', direct);
    elsif r.door = 'space' then
      -- One that was started to be told of a task answers for where that was given, as long as that is there.
      select x.* into t from troupe.tasks x join troupe.threads h on h.id = x.chat_thread_id where x.id = (r.trigger->>'taskId')::uuid;
      if found then
        return jsonb_build_object('chat', t.chat_id, 'thread', t.chat_thread_id, 'user', t.user_id, 'message', t.trigger_message_id, 'depth', 0, 'direct', direct);
      end if;
      space := coalesce(r.active_space_id, r.space_id);
      select m.sender_id into person from troupe.messages m join troupe.entities e on e.id = m.sender_id and e.type = 'human'
        where m.id = coalesce(r.origin_id, (r.trigger->>'messageId')::uuid);
      return jsonb_build_object('chat', coalesce(space, r.id), 'thread', coalesce(space, r.thread_id), 'user', coalesce(person, r.entity_id),
        'message', r.trigger->'messageId', 'depth', 0, 'direct', direct);
    end if;
    exit when r.parent_call_id is null;
    direct := false;
    select * into r from troupe.runs x where x.id = r.parent_run_id;
  end loop;
  return jsonb_build_object('chat', r.id, 'thread', r.thread_id, 'user', r.owner_id, 'message', r.trigger_message_id, 'depth', 0, 'direct', false);
end $function$;

CREATE OR REPLACE FUNCTION troupe.place_of_thread(p_thread uuid)
 RETURNS troupe.place
 LANGUAGE sql
 STABLE
AS $function$
  select x.* from (
    select 'messages', s.project_id, s.entity_id, s.id, null::uuid from troupe.sessions s where s.thread_id = p_thread
    union all select 'messages', s.project_id, null, s.id, null from troupe.spaces s where s.id = p_thread
    union all select 'sub_agent_messages', a.project_id, a.user_id, a.chat_id, a.id from troupe.sub_agents a where a.thread_id = p_thread
    union all select case when x.collection = 'sub_agents' then 'sub_agent_messages' else 'messages' end, x.project_id, x.entity_id, x.chat_id,
        case when x.collection = 'sub_agents' then x.id::uuid end
      from troupe.tombstones x where x.place_id = p_thread and x.collection in ('sessions', 'spaces', 'sub_agents')) x
  limit 1
$function$;

CREATE OR REPLACE FUNCTION troupe.plan_armed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    perform troupe.arm_plan(old.id, null);
  elsif tg_op = 'INSERT' or new.next_run_at is distinct from old.next_run_at then
    perform troupe.arm_plan(new.id, new.next_run_at);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.post(item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  thread uuid := (item->>'thread')::uuid; policy text := item->>'policy'; active uuid; r troupe.runs; now_active uuid; message jsonb := item->'message';
  stored troupe.messages; seq bigint;
begin
  if item ? 'createThread' then
    insert into troupe.threads (id, project_id, kind) values (thread, (item->>'project')::uuid, (item->>'createThread')::troupe.thread_kind) on conflict do nothing;
  end if;
  -- The active run is locked before the thread, so it must be looked up before either. Posts that depend on it go one
  -- at a time, so that many at once do not keep overtaking each other; only the run's own end can still come between.
  if policy <> 'queue' then
    perform pg_advisory_xact_lock(hashtextextended('troupe.post:' || thread::text, 0));
    select t.active_run_id into active from troupe.threads t where t.id = thread and t.project_id = (item->>'project')::uuid;
    select * into r from troupe.runs x where x.id = active for no key update;
    if policy = 'interrupt' then
      perform 1 from troupe.run_heads h where h.run_id = active for no key update;
    end if;
  end if;
  select t.active_run_id into now_active from troupe.threads t where t.id = thread and t.project_id = (item->>'project')::uuid for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'thread_not_found');
  end if;
  select * into stored from troupe.messages m where m.id = (message->>'id')::uuid;
  if stored.thread_id <> thread then
    return jsonb_build_object('ok', false, 'code', 'message_id_taken');
  elsif stored.id is not null then
    return jsonb_build_object('ok', true, 'outcome', 'duplicate', 'thread', thread, 'seq', stored.seq, 'run', stored.run_id,
      'started', (select x.id from troupe.runs x where x.entity_id = (item->'run'->>'entity')::uuid and x.trigger_message_id = stored.id));
  end if;
  if policy <> 'queue' then
    if now_active is distinct from active then
      raise exception 'the active run of the thread changed' using errcode = '40001';
    end if;
    if active is not null then
      if policy = 'reject' then
        return jsonb_build_object('ok', false, 'code', 'busy', 'run', active);
      elsif policy = 'steer' then
        seq := 1 + troupe.append(thread, active, jsonb_build_array(message),
          jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0, 'data', jsonb_build_object('id', message->'id', 'role', message->'role'))));
        update troupe.runs x set steers = x.steers + 1, updated_at = now() where x.id = active;
        return jsonb_build_object('ok', true, 'outcome', 'steered', 'thread', thread, 'seq', seq, 'run', active, 'worker', r.worker_id, 'createdAt', now());
      end if;
      perform troupe.end_run(active, 'superseded', item->>'by', null, 'run.canceled');
      return troupe.start(item) || jsonb_build_object('outcome', 'interrupted', 'canceled', active, 'worker', r.worker_id);
    end if;
  end if;
  return troupe.start(item) || jsonb_build_object('outcome', 'started');
end $function$;

CREATE OR REPLACE FUNCTION troupe.post_to_space(item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  v_space uuid := (item->>'space')::uuid;
  v_project uuid := (item->>'project')::uuid;
  message jsonb := item->'message';
  v_message uuid := (item->'message'->>'id')::uuid;
  v_sender uuid := (item->'message'->>'sender')::uuid;
  by_run uuid := (item->'by'->>'run')::uuid;
  wait jsonb := item->'wait';
  text_said text := item->'message'->'content'->>'text';
  speaker troupe.runs; place troupe.spaces; sender record; known record; w record; locked uuid[];
  base bigint; events_base bigint; v_seq bigint; depth int := 0; origin uuid := v_message; room int; two boolean;
  targets uuid[]; offered uuid[]; strangers uuid[]; refused uuid[] := '{}'; refusal text; folded jsonb := '[]'; replied jsonb := '[]'; resumed uuid[] := '{}'; waiters uuid[] := '{}';
  started jsonb := '[]'; events jsonb; about jsonb; e uuid; existing uuid; awaited jsonb; is_last boolean; recipients jsonb; written int;
begin
  -- Whoever deletes what a run names waits for this, or this waits and finds it gone (keep_used).
  lock table troupe.runs in row exclusive mode;
  -- 1. Runs that may be answered by this, and the one that speaks, in the order of their ids.
  locked := array(select x.run_id from troupe.reply_waits x where x.space_id = v_space and x.entity_id <> v_sender);
  if wait is not null then
    locked := locked || by_run;
  end if;
  if cardinality(locked) > 0 then
    perform 1 from troupe.runs r where r.id = any(locked) order by r.id for no key update;
  end if;
  if by_run is not null then
    if not troupe.has_run(by_run, (item->'by'->>'epoch')::int, (item->'by'->>'worker')::uuid) then
      return jsonb_build_object('ok', false, 'code', 'run_lost');
    end if;
    select * into speaker from troupe.runs r where r.id = by_run;
    depth := speaker.chain_depth + 1;
    origin := coalesce(speaker.origin_id, by_run);
  end if;

  -- 2. The space, and its lock.
  select t.last_message_seq, t.last_event_seq into base, events_base from troupe.threads t where t.id = v_space and t.project_id = v_project for update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'space_not_found');
  end if;
  select * into place from troupe.spaces s where s.id = v_space;
  select coalesce(jsonb_agg(jsonb_build_object('entityId', x.id, 'name', coalesce(x.display_name, x.external_id), 'type', x.type) order by m.joined_at, x.id), '[]'), count(*) = 1
    into recipients, two from troupe.memberships m join troupe.entities x on x.id = m.entity_id where m.space_id = v_space and m.entity_id <> v_sender;
  -- Said before: answered as it was, also to one who is no member any more.
  select m.seq, m.thread_id, m.sender_id, m.content, m.metadata, m.created_at into known from troupe.messages m where m.id = v_message;
  if found then
    if known.thread_id <> v_space or known.sender_id is distinct from v_sender then
      return jsonb_build_object('ok', false, 'code', 'message_id_taken');
    end if;
    return jsonb_build_object('ok', true, 'duplicate', true, 'seq', known.seq, 'createdAt', known.created_at, 'content', known.content, 'metadata', known.metadata, 'recipients', recipients,
      'runs', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'entity', r.entity_id) order by r.id), '[]') from troupe.runs r
        where r.space_id = v_space and r.trigger_message_id = v_message));
  end if;
  select m.entity_id, x.type, x.display_name, x.external_id into sender from troupe.memberships m join troupe.entities x on x.id = m.entity_id
    where m.space_id = v_space and m.entity_id = v_sender;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  v_seq := base + 1;
  -- Only members can answer.
  if jsonb_typeof(wait->'for') = 'array' then
    strangers := array(select x::uuid from jsonb_array_elements_text(wait->'for') x
      where x::uuid = v_sender or not exists (select from troupe.memberships m where m.space_id = v_space and m.entity_id = x::uuid));
    if cardinality(strangers) > 0 then
      return jsonb_build_object('ok', false, 'code', 'not_members', 'entities', to_jsonb(strangers));
    end if;
  end if;

  -- 3. Whom it is for.
  select coalesce(array_agg(x.id order by m.joined_at, x.id), '{}') into targets
    from troupe.memberships m join troupe.entities x on x.id = m.entity_id join troupe.agents a on a.id = x.agent_id
    where m.space_id = v_space and x.id <> v_sender and a.status = 'active' and coalesce((item->>'starts')::boolean, true)
      and case place.policy when 'all' then true when 'humans' then sender.type = 'human'
        else two or item->'mentions' ? x.id::text or troupe.mentions(text_said, x.display_name) end;

  -- 4. Who waits for a reply goes on with it and is not started. What somebody waits for is decided here and nowhere else.
  for w in select x.*, r.status, r.entity_id as waiter from troupe.reply_waits x join troupe.runs r on r.id = x.run_id
      where x.space_id = v_space and x.entity_id <> v_sender and x.message_seq < v_seq
        and (x.any_reply or x.waiting_for @> jsonb_build_array(jsonb_build_object('entityId', v_sender, 'responded', false)))
      order by x.run_id, x.call_id loop
    if not w.run_id = any(locked) then
      perform 1 from troupe.runs r where r.id = w.run_id for no key update skip locked;
      if not found then
        raise exception 'troupe.post_to_space: a run began to wait just now' using errcode = 'serialization_failure';
      end if;
      locked := locked || w.run_id;
    end if;
    continue when w.status not in ('running', 'queued', 'waiting_tool', 'waiting_reply');
    select coalesce(jsonb_agg(case when x->>'entityId' = v_sender::text then x || '{"responded": true}' else x end), '[]') into awaited from jsonb_array_elements(w.waiting_for) x;
    update troupe.reply_waits x set waiting_for = awaited, replies = x.replies || jsonb_build_array(jsonb_build_object('entityId', v_sender,
        'entityName', coalesce(sender.display_name, sender.external_id), 'text', left(text_said, 20000), 'messageId', v_message, 'timestamp', now()))
      where x.run_id = w.run_id and x.call_id = w.call_id;
    perform troupe.note_shown(w.run_id, v_space, v_seq, v_seq);
    is_last := w.any_reply or not awaited @> '[{"responded": false}]';
    -- One that goes on waiting for others is not started for this either.
    waiters := waiters || w.waiter;
    if is_last then
      resumed := resumed || w.run_id;
    end if;
    replied := replied || jsonb_build_array(jsonb_build_object('run', w.run_id, 'call', w.call_id, 'entity', w.waiter, 'done', is_last));
  end loop;
  select coalesce(array_agg(t order by k), '{}') into targets from unnest(targets) with ordinality x(t, k) where not t = any(waiters);

  -- 5. Agents are limited; a person never is.
  if sender.type = 'agent' and cardinality(targets) > 0 then
    if depth > place.chain_depth then
      refused := targets; targets := '{}'; refusal := 'chain_depth';
    else
      -- One chain can go on in several spaces at once.
      perform pg_advisory_xact_lock(hashtextextended('troupe.chain:' || origin, 0));
      room := greatest(0, place.agent_runs - (select count(*)::int from troupe.runs r where r.origin_id = origin and r.chain_depth > 0));
      if room < cardinality(targets) then
        refused := targets[room + 1 :]; targets := targets[: room]; refusal := 'agent_runs';
      end if;
    end if;
  end if;

  -- 6. One at a time: what is said to an agent whose next run has yet to begin is for that run.
  for e in select t from unnest(targets) t join troupe.memberships m on m.space_id = v_space and m.entity_id = t where m.ordering = 'serial' loop
    existing := null;
    select r.id into existing from troupe.runs r where r.entity_id = e and r.door = 'space' and r.space_id = v_space and r.status = 'queued' and r.started_at is null
      and r.lane = 'space:' || v_space || ':' || e order by r.id desc limit 1 for no key update skip locked;
    if existing is not null then
      insert into troupe.folded_messages (entity_id, message_id, run_id, space_id) values (e, v_message, existing, v_space);
      folded := folded || jsonb_build_array(jsonb_build_object('run', existing, 'entity', e));
      targets := array_remove(targets, e);
    end if;
  end loop;

  -- 7. What each of them runs with.
  offered := array(select (a->>'entity')::uuid from jsonb_array_elements(item->'agents') a);
  if not targets <@ offered then
    -- Nothing may stay of what was written above.
    raise exception 'troupe.post_to_space: the members have changed' using errcode = 'TR002';
  end if;

  -- 8. The runs.
  about := jsonb_build_object('spaceId', v_space, 'spaceName', place.name, 'messageId', v_message, 'sequence', v_seq, 'text', left(text_said, 20000),
    'senderId', v_sender, 'senderName', coalesce(sender.display_name, sender.external_id), 'senderType', sender.type, 'createdAt', now());
  if cardinality(targets) > 0 then
    with chosen as materialized (
      select t as entity, k, troupe.new_id() as run, troupe.new_id() as thread, (a->>'agent')::uuid as agent, (a->>'snapshot')::uuid as snapshot, (a->>'wallMs')::bigint as wall,
        m.ordering = 'serial' as serial
      from unnest(targets) with ordinality x(t, k)
        join jsonb_array_elements(item->'agents') a on (a->>'entity')::uuid = t
        join troupe.memberships m on m.space_id = v_space and m.entity_id = t),
    threads as (insert into troupe.threads (id, project_id, kind, last_event_seq) select c.thread, v_project, 'run', 1 from chosen c),
    runs as (
      insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id, trigger_type, trigger_message_id, trigger,
        chain_depth, lane, lane_limit, wall_ms, history_limit, space_id, active_space_id, origin_id)
      select c.run, v_project, 'space', c.agent, c.entity, c.snapshot, c.thread, by_run, coalesce(speaker.root_run_id, c.run), 'space_message', v_message, about,
        depth, case when c.serial then 'space:' || v_space || ':' || c.entity end, case when c.serial then 1 end, c.wall, 1000000, v_space, v_space, origin
      from chosen c),
    told as (insert into troupe.events (thread_id, seq, type, run_id) select c.thread, 1, 'run.queued', c.run from chosen c)
    select jsonb_agg(jsonb_build_object('id', c.run, 'entity', c.entity, 'thread', c.thread) order by c.k) into started from chosen c;
  end if;

  -- 9. What is said and told.
  insert into troupe.messages (thread_id, seq, id, role, content, sender_id, run_id, step, metadata)
    values (v_space, v_seq, v_message, (message->>'role')::troupe.message_role, message->'content', v_sender, by_run, (item->'by'->>'step')::int, message->'metadata');
  events := jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('type', 'message.created', 'message', 1, 'run', by_run, 'data',
    jsonb_build_object('id', v_message, 'role', message->'role', 'senderId', v_sender, 'streamId', case when by_run is not null then v_message end,
      'folded', case when folded <> '[]' then folded end, 'replies', case when replied <> '[]' then replied end))));
  events := events || coalesce((select jsonb_agg(jsonb_build_object('type', 'run.queued', 'run', s->'id', 'data', jsonb_build_object('entityId', s->'entity', 'messageId', v_message)) order by k)
    from jsonb_array_elements(started) with ordinality x(s, k)), '[]');
  if refusal is not null then
    events := events || jsonb_build_array(jsonb_build_object('type', 'run.refused', 'run', by_run, 'data', jsonb_build_object('reason', refusal, 'messageId', v_message,
      'entityIds', to_jsonb(refused), 'limit', case refusal when 'chain_depth' then place.chain_depth else place.agent_runs end)));
  end if;
  written := jsonb_array_length(events);
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id)
    select v_space, events_base + k, x->>'type', x->'data', case when x ? 'message' then v_seq end, (x->>'run')::uuid from jsonb_array_elements(events) with ordinality y(x, k);
  update troupe.threads t set last_message_seq = v_seq, last_event_seq = events_base + written where t.id = v_space;
  if by_run is not null then
    perform troupe.note_shown(by_run, v_space, v_seq, v_seq);
  elsif sender.type = 'human' then
    update troupe.memberships m set last_seen_seq = v_seq, last_seen_message_id = v_message where m.space_id = v_space and m.entity_id = v_sender;
  end if;

  -- 10. Who goes on, and who begins to wait.
  for w in select x->>'run' as run, x->>'call' as call from jsonb_array_elements(replied) x where (x->>'done')::boolean loop
    perform troupe.end_wait(w.run::uuid, w.call, 'resolved');
  end loop;
  if wait is not null then
    perform troupe.begin_wait(by_run, item->'by'->>'call', v_space, v_message, v_seq, wait);
  end if;
  return jsonb_build_object('ok', true, 'duplicate', false, 'seq', v_seq, 'createdAt', now(), 'runs', started, 'folded', folded, 'replied', replied,
    'resumed', to_jsonb(resumed), 'refused', case when refusal is not null then jsonb_build_object('reason', refusal, 'entities', to_jsonb(refused),
      'limit', case refusal when 'chain_depth' then place.chain_depth else place.agent_runs end) end,
    'spaceName', place.name, 'recipients', recipients);
end $function$;

CREATE OR REPLACE FUNCTION troupe.promote(thread uuid, ended uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  next uuid;
begin
  update troupe.threads t set active_run_id = null, failed_run_id = null where t.id = thread and (t.active_run_id = ended or t.active_run_id is null);
  if not found then
    return false;
  end if;
  select r.id into next from troupe.runs r
    where r.thread_id = thread and r.status = 'queued' and not r.ready
    order by r.trigger_seq, r.id limit 1 for no key update skip locked;
  if found then
    update troupe.threads t set active_run_id = next where t.id = thread;
    update troupe.runs r set ready = true, run_at = greatest(r.run_at, now()) where r.id = next;
    return true;
  end if;
  return false;
end $function$;

CREATE OR REPLACE FUNCTION troupe.put_file(p_thread uuid, p_path text, p_content bytea, p_type text, p_most_files integer, p_most_bytes bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  before bigint; has troupe.file_totals; size bigint := octet_length(p_content); since timestamptz; changed timestamptz;
begin
  select octet_length(f.content) into before from troupe.files f where f.thread_id = p_thread and f.path = p_path;
  if before is null then
    if exists (select from troupe.files f where f.thread_id = p_thread and starts_with(f.path, p_path || '/')) then
      return jsonb_build_object('ok', false, 'code', 'is_a_directory');
    elsif exists (select from troupe.files f where f.thread_id = p_thread and starts_with(p_path, f.path || '/')) then
      return jsonb_build_object('ok', false, 'code', 'not_a_directory');
    end if;
  end if;
  select * into has from troupe.file_totals t where t.thread_id = p_thread;
  if before is null and has.files >= p_most_files then
    return jsonb_build_object('ok', false, 'code', 'too_many_files');
  elsif has.bytes - coalesce(before, 0) + size > p_most_bytes and size > coalesce(before, 0) then
    return jsonb_build_object('ok', false, 'code', 'files_full');
  end if;
  insert into troupe.files (thread_id, path, content, type) values (p_thread, p_path, p_content, p_type)
    on conflict (thread_id, path) do update set content = excluded.content, type = excluded.type, updated_at = now()
    returning created_at, updated_at into since, changed;
  update troupe.file_totals t set files = t.files + case when before is null then 1 else 0 end, bytes = t.bytes - coalesce(before, 0) + size
    where t.thread_id = p_thread;
  return jsonb_build_object('ok', true, 'created', before is null, 'createdAt', since, 'updatedAt', changed);
end $function$;

CREATE OR REPLACE FUNCTION troupe.raise_budget(p_budget uuid, p_amount bigint)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
AS $function$
declare
  raised uuid[]; r record;
begin
  select coalesce(array_agg(x.id), '{}') into raised from (select y.id from troupe.runs y
    where y.status = 'waiting_tool' and y.open_calls = 0 and y.wait_state->>'budget' = p_budget::text order by y.id for no key update) x;
  perform 1 from troupe.threads t where t.id in (select x.thread_id from troupe.runs x where x.id = any(raised)) order by t.id for no key update;
  update troupe.budgets b set amount = p_amount, updated_at = now() where b.id = p_budget;
  update troupe.runs x set status = 'queued', run_at = now(), wait_state = null, wait_deadline = null, updated_at = now() where x.id = any(raised);
  for r in select x.id, x.thread_id from troupe.runs x where x.id = any(raised) order by x.thread_id, x.id loop
    perform troupe.append(r.thread_id, r.id, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  end loop;
  return query select unnest(raised);
end $function$;

CREATE OR REPLACE FUNCTION troupe.reactivate_task(p_parent uuid, p_call text, p_epoch integer, p_worker uuid, p_task jsonb, p_item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; t troupe.tasks; last uuid; place jsonb; started jsonb; child uuid := (p_item->'run'->>'id')::uuid;
  v_sub uuid := (p_task->>'subAgent')::uuid; in_background boolean := (p_task->>'background')::boolean; v_thread uuid := (p_item->>'thread')::uuid; done jsonb;
begin
  lock table troupe.runs in row exclusive mode;
  select x.run_id into last from troupe.tasks x where x.sub_agent_id = v_sub;
  perform 1 from troupe.runs x where x.id in (p_parent, last) order by x.id for no key update;
  select * into r from troupe.runs x where x.id = p_parent;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  t := troupe.task_for(r, v_sub);
  done := jsonb_build_object('ok', true, 'run', child, 'thread', v_thread, 'parentThread', r.thread_id, 'task', t.id, 'subAgent', v_sub);
  if exists (select from troupe.runs x where x.id = child) then
    return done || '{"duplicate": true}';
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  elsif t.id is null then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_not_found');
  elsif t.run_id is distinct from last then
    raise exception 'troupe.reactivate_task: somebody was faster' using errcode = 'serialization_failure';
  elsif t.status in ('pending', 'running', 'waiting') then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_busy', 'status', t.status);
  end if;
  place := troupe.place_of(p_parent);
  if in_background and not (place->>'direct')::boolean then
    return jsonb_build_object('ok', false, 'code', 'no_background');
  end if;
  perform 1 from troupe.threads x where x.id in (r.thread_id, v_thread) order by x.id for update;
  started := troupe.start_task_run(r, p_call, p_item, t.id, in_background, (p_task->'most'->>'runs')::int);
  if not (started->>'ok')::boolean then
    return started;
  end if;
  update troupe.tasks x set status = 'running', run_id = child, parent_run_id = p_parent, parent_call_id = p_call, background = in_background, error = null,
    quiet = false, updated_at = now() where x.id = t.id;
  update troupe.sub_agents x set status = 'active', updated_at = now() where x.id = v_sub;
  if not in_background then
    perform troupe.wait_for_task(r, c, (p_task->>'deadlineMs')::bigint, child);
  end if;
  return done || '{"duplicate": false}';
end $function$;

CREATE OR REPLACE FUNCTION troupe.read_space(p_run uuid, p_epoch integer, p_worker uuid, p_space uuid, p_limit integer, p_offset bigint, p_search text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  v_entity uuid; v_project uuid; last_seq bigint; history jsonb;
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select x.entity_id, x.project_id into v_entity, v_project from troupe.runs x where x.id = p_run;
  select t.last_message_seq into last_seq from troupe.threads t join troupe.memberships m on m.space_id = t.id and m.entity_id = v_entity
    where t.id = p_space and t.project_id = v_project;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  if p_search is null then
    history := troupe.space_history(p_space, v_entity, last_seq - p_offset, p_limit, 60000);
  else
    select coalesce(jsonb_agg(h order by (h->>'seq')::bigint), '[]') into history from (
      select m.seq from troupe.messages m where m.thread_id = p_space and position(lower(p_search) in lower(m.content->>'text')) > 0
      order by m.seq desc offset p_offset limit p_limit) f
      cross join lateral jsonb_array_elements(troupe.space_history(p_space, v_entity, f.seq, 1, 0)) h;
  end if;
  perform troupe.note_history(p_run, p_space, history);
  return jsonb_build_object('ok', true, 'spaceId', p_space, 'history', history, 'total', last_seq);
end $function$;

CREATE OR REPLACE FUNCTION troupe.reap(p_worker uuid, p_beat bigint, p_hung boolean)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  found_beat bigint; n int; lease record; used bigint; ids uuid[];
begin
  if not p_hung and not pg_try_advisory_xact_lock(troupe.worker_lock(p_worker)) then
    return null;
  end if;
  select w.beat into found_beat from troupe.workers w where w.incarnation = p_worker for no key update;
  if found_beat is distinct from p_beat then
    return null;
  end if;
  delete from troupe.workers w where w.incarnation = p_worker;

  perform 1 from troupe.runs r where r.worker_id = p_worker and r.status = 'running' order by r.id for no key update;
  perform 1 from troupe.run_heads h where h.run_id in (select r.id from troupe.runs r where r.worker_id = p_worker and r.status = 'running')
    order by h.run_id for no key update;
  -- The heads as well: from here on nothing that the worker still sends passes the fence.
  with back as (
    update troupe.runs r set status = 'queued', worker_id = null, run_at = now(), updated_at = now(),
      takeovers = case when h.step > r.step then 1 else r.takeovers + 1 end, takeovers_in_all = r.takeovers_in_all + 1
    from troupe.run_heads h where h.run_id = r.id and r.worker_id = p_worker and r.status = 'running' returning r.id)
  update troupe.run_heads h set worker_id = null from back where h.run_id = back.id;
  get diagnostics n = row_count;

  -- Its share of budgets: what its committed steps spent and it had not yet reported is spent, the rest is free again.
  for lease in select l.* from troupe.budget_leases l where l.worker_id = p_worker order by l.budget_id loop
    perform 1 from troupe.budgets b where b.id = lease.budget_id for no key update;
    select coalesce(sum(case b.unit when 'tokens' then s.input_tokens + s.output_tokens else s.cost end), 0) into used
      from troupe.budgets b, troupe.run_steps s join troupe.runs r on r.id = s.run_id
      where b.id = lease.budget_id and s.worker_id = p_worker and s.budgeted and lease.budget_id = any(r.budget_ids);
    update troupe.budgets b set spent = b.spent + greatest(0, used - lease.spent),
      leased = greatest(0, b.leased - (lease.granted - lease.spent - lease.returned)), updated_at = now()
      where b.id = lease.budget_id;
    delete from troupe.budget_leases l where l.budget_id = lease.budget_id and l.worker_id = p_worker;
  end loop;
  return n;
end $function$;

CREATE OR REPLACE FUNCTION troupe.rearm_plans(p_late interval)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  late uuid; armed int := 0;
begin
  for late in select p.id from troupe.plans p where p.status = 'pending' and p.next_run_at < now() - p_late
      and not exists (select from graphile_worker.jobs j where j.key = 'plan:' || p.id and j.attempts < j.max_attempts)
    order by p.next_run_at limit 1000 loop
    perform troupe.arm_plan(late, now());
    armed := armed + 1;
  end loop;
  perform graphile_worker.complete_jobs(array(select j.id from graphile_worker.jobs j
    where j.task_identifier = 'fire_plan' and j.key is null and j.locked_at is null and j.attempts >= j.max_attempts));
  return armed;
end $function$;

CREATE OR REPLACE FUNCTION troupe.remove_files(p_thread uuid, p_path text, p_recursive boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  gone int; freed bigint;
begin
  with gone as (delete from troupe.files f where f.thread_id = p_thread and f.path = p_path returning octet_length(f.content) as size)
    select count(*), coalesce(sum(size), 0) into gone, freed from gone;
  if gone = 0 and exists (select from troupe.files f where f.thread_id = p_thread and starts_with(f.path, rtrim(p_path, '/') || '/')) then
    if not p_recursive then
      return jsonb_build_object('ok', false, 'code', 'is_a_directory');
    end if;
    with gone as (delete from troupe.files f where f.thread_id = p_thread and starts_with(f.path, rtrim(p_path, '/') || '/') returning octet_length(f.content) as size)
      select count(*), coalesce(sum(size), 0) into gone, freed from gone;
  end if;
  if gone = 0 then
    return jsonb_build_object('ok', false, 'code', 'file_not_found');
  end if;
  update troupe.file_totals t set files = t.files - gone, bytes = t.bytes - freed where t.thread_id = p_thread;
  return jsonb_build_object('ok', true, 'deleted', gone);
end $function$;

CREATE OR REPLACE FUNCTION troupe.remove_member(p_project uuid, p_space uuid, p_by uuid, p_entity uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  locked uuid[]; refused text; v_role text; w troupe.reply_waits; awaited jsonb; ended int := 0;
begin
  -- Runs before spaces, in the order of their ids, as everywhere.
  locked := array(select distinct x.run_id from troupe.reply_waits x join troupe.runs r on r.id = x.run_id
    where x.space_id = p_space and r.project_id = p_project);
  perform 1 from troupe.runs r where r.id = any(locked) order by r.id for no key update;
  refused := troupe.lock_space(p_project, p_space, p_by);
  if refused is not null and not (refused = 'not_an_admin' and p_by = p_entity) then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  delete from troupe.memberships m where m.space_id = p_space and m.entity_id = p_entity returning m.role into v_role;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'not_a_member');
  end if;
  perform troupe.append(p_space, null, null, jsonb_build_array(troupe.member_event('space.member.left', p_entity, v_role)));
  for w in select x.* from troupe.reply_waits x where x.space_id = p_space and (x.entity_id = p_entity
      or x.waiting_for @> jsonb_build_array(jsonb_build_object('entityId', p_entity, 'responded', false))) order by x.run_id, x.call_id loop
    if not w.run_id = any(locked) then
      raise exception 'troupe.remove_member: a run began to wait just now' using errcode = 'serialization_failure';
    end if;
    if w.entity_id <> p_entity then
      select coalesce(jsonb_agg(x), '[]') into awaited from jsonb_array_elements(w.waiting_for) x where x->>'entityId' <> p_entity::text;
      update troupe.reply_waits x set waiting_for = awaited where x.run_id = w.run_id and x.call_id = w.call_id;
      continue when awaited @> '[{"responded": false}]';
    end if;
    perform troupe.end_wait(w.run_id, w.call_id, case when w.entity_id <> p_entity and w.replies <> '[]' then 'resolved' else 'left' end);
    ended := ended + 1;
  end loop;
  return jsonb_build_object('ok', true, 'resumed', ended);
end $function$;

CREATE OR REPLACE FUNCTION troupe.reply_to_task(p_parent uuid, p_call text, p_epoch integer, p_worker uuid, p_sub_agent uuid, p_content text, p_deadline_ms bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; child troupe.runs; t troupe.tasks; asked text; working uuid; by_call text := 'run:' || p_parent || ':' || p_call; done jsonb; answer jsonb;
begin
  select x.run_id into working from troupe.tasks x where x.sub_agent_id = p_sub_agent;
  perform 1 from troupe.runs x where x.id in (p_parent, working) order by x.id for no key update;
  select * into r from troupe.runs x where x.id = p_parent;
  if not found or not troupe.has_run(p_parent, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_parent], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_parent and x.call_id = p_call for no key update;
  t := troupe.task_for(r, p_sub_agent);
  if t.id is null then
    return jsonb_build_object('ok', false, 'code', 'sub_agent_not_found');
  elsif t.run_id is distinct from working then
    raise exception 'troupe.reply_to_task: somebody was faster' using errcode = 'serialization_failure';
  end if;
  select * into child from troupe.runs x where x.id = working;
  done := jsonb_build_object('ok', true, 'run', child.id, 'thread', child.thread_id, 'parentThread', r.thread_id, 'task', t.id, 'subAgent', p_sub_agent,
    'waits', not t.background);
  if exists (select from troupe.tool_calls x where x.run_id = working and x.settled_by = by_call) then
    return done || jsonb_build_object('duplicate', true, 'waits', c.waits_for is not null or c.status <> 'running');
  elsif c.status is distinct from 'running' then
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status);
  end if;
  select x.call_id into asked from troupe.tool_calls x where x.run_id = working and x.waits_for::text = 'answer' order by x.step, x.position limit 1;
  -- A call that still waits for it is told of the question first: it would wait for ever.
  if t.status <> 'waiting' or asked is null or child.parent_call_id is not null then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status);
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = working and x.call_id = asked for no key update;
  perform 1 from troupe.threads x where x.id in (r.thread_id, child.thread_id) order by x.id for no key update;
  answer := troupe.settle(working, asked, jsonb_build_object('status', 'completed', 'output', jsonb_build_object('answer', p_content)), by_call, troupe.new_id());
  if not (answer->>'ok')::boolean then
    return jsonb_build_object('ok', false, 'code', 'not_asked', 'status', t.status);
  end if;
  if not t.background then
    update troupe.runs x set parent_run_id = p_parent, parent_call_id = p_call where x.id = working;
    update troupe.tasks x set parent_run_id = p_parent, parent_call_id = p_call where x.id = t.id;
    perform troupe.wait_for_task(r, c, p_deadline_ms, working);
  end if;
  return done || '{"duplicate": false}';
end $function$;

CREATE OR REPLACE FUNCTION troupe.report_budgets(p_worker uuid, p_entries jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  e record; l troupe.budget_leases;
begin
  for e in select (v->>'budget')::uuid as budget, (v->>'spent')::bigint as spent, (v->>'returned')::bigint as returned
    from jsonb_array_elements(p_entries) v order by 1 loop
    perform 1 from troupe.budgets b where b.id = e.budget for no key update;
    select * into l from troupe.budget_leases x where x.budget_id = e.budget and x.worker_id = p_worker;
    -- A lease that is no longer there was settled by whoever reaped this worker.
    continue when not found;
    update troupe.budgets b set spent = b.spent + e.spent - l.spent,
      leased = greatest(0, b.leased - (e.spent - l.spent) - (e.returned - l.returned)), updated_at = now() where b.id = e.budget;
    update troupe.budget_leases x set spent = e.spent, returned = e.returned where x.budget_id = e.budget and x.worker_id = p_worker;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION troupe.retry(p_run uuid, p_with jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs; active uuid; is_ready boolean := true;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif r.status not in ('failed', 'canceled') or r.cancel_reason = 'absorbed' then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'run_not_retryable', 'status', r.status, 'reason', r.cancel_reason);
  elsif r.task_id is not null and not exists (select from troupe.tasks t where t.id = r.task_id and t.run_id = p_run) then
    return jsonb_build_object('ok', false, 'code', 'task_went_on', 'status', r.status);
  end if;
  select t.active_run_id into active from troupe.threads t where t.id = r.thread_id for no key update;
  is_ready := not r.serial or active is null;
  update troupe.runs x set status = 'queued', ready = is_ready, run_at = now(), attempt = 0, model_index = 0, takeovers = 0, error = null, outcome = null,
    cancel_reason = null, completed_at = null, canceled_at = null, deadline_at = null, updated_at = now(),
    snapshot_id = coalesce((p_with->>'snapshot')::uuid, x.snapshot_id), wall_ms = coalesce((p_with->>'wallMs')::bigint, x.wall_ms),
    history_limit = coalesce((p_with->>'historyLimit')::int, x.history_limit),
    metadata = x.metadata || case when p_with ? 'modelId' then jsonb_build_object('modelId', p_with->'modelId') else '{}' end
  where x.id = p_run;
  if r.serial and is_ready then
    update troupe.threads t set active_run_id = p_run, failed_run_id = null where t.id = r.thread_id;
  end if;
  perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('retry', true))));
  return jsonb_build_object('ok', true, 'run', p_run, 'thread', r.thread_id, 'ready', is_ready);
end $function$;

CREATE OR REPLACE FUNCTION troupe.run_document(r troupe.runs)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', r.id, 'door', r.door, 'agentId', r.agent_id, 'entityId', r.entity_id,
    'sessionId', (select s.id from troupe.sessions s where s.thread_id = r.thread_id), 'spaceId', r.space_id, 'activeSpaceId', r.active_space_id, 'networkId', r.network_id,
    'taskId', r.task_id, 'status', r.status, 'step', r.step, 'triggerType', r.trigger_type, 'triggerMessageId', r.trigger_message_id, 'chainDepth', r.chain_depth,
    'parentRunId', case when r.parent_call_id is not null then r.parent_run_id end, 'absorbedBy', r.absorbed_by, 'cancelReason', r.cancel_reason,
    'inputTokens', r.input_tokens, 'outputTokens', r.output_tokens, 'cost', r.cost::numeric / 1000000, 'error', r.error->>'message', 'code', r.error->>'code',
    'createdAt', troupe.milliseconds(r.created_at), 'startedAt', troupe.milliseconds(r.started_at), 'completedAt', troupe.milliseconds(r.completed_at),
    'canceledAt', troupe.milliseconds(r.canceled_at))) || troupe.field('outcome', r.outcome)
$function$;

CREATE OR REPLACE FUNCTION troupe.run_path(r troupe.runs)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select 'runs' $function$;

CREATE OR REPLACE FUNCTION troupe.see(p_space uuid, p_entity uuid, p_seqs int8multirange)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  known int8multirange; upto bigint; next bigint; joined bigint;
begin
  select m.seen + p_seqs, m.last_processed_seq, m.joined_seq into known, upto, joined from troupe.memberships m
    where m.space_id = p_space and m.entity_id = p_entity for no key update;
  if not found then
    return;
  end if;
  loop
    select upper(r) - 1 into next from unnest(known) r where r @> (upto + 1);
    if not found then
      select m.seq into next from troupe.messages m where m.thread_id = p_space and m.seq = upto + 1 and m.sender_id = p_entity;
      exit when not found;
    end if;
    upto := next;
  end loop;
  update troupe.memberships m set seen = known, last_processed_seq = upto,
    last_processed_message_id = case when upto > m.last_processed_seq then (select x.id from troupe.messages x where x.thread_id = p_space and x.seq = upto) else m.last_processed_message_id end
    where m.space_id = p_space and m.entity_id = p_entity;
end $function$;

CREATE OR REPLACE FUNCTION troupe.session_document(s troupe.sessions)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', s.id, 'userId', s.entity_id, 'agentId', s.agent_id, 'title', s.title, 'modelId', s.model_id, 'policy', s.policy,
    'createdAt', troupe.milliseconds(s.created_at), 'updatedAt', troupe.milliseconds(s.updated_at)))
    || jsonb_build_object('tags', s.tags, 'metadata', s.metadata)
$function$;

CREATE OR REPLACE FUNCTION troupe.session_path(s troupe.sessions)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select 'sessions' $function$;

CREATE OR REPLACE FUNCTION troupe.set_code_tools()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  select s.code_tools into new.code_tools from troupe.compiled_snapshots s where s.id = new.snapshot_id;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION troupe.set_goals(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most integer, p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  held int;
  fresh int;
  missing jsonb;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.goals:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  select jsonb_agg(i->'id') into missing from jsonb_array_elements(p_items) i
    where (i->>'known')::boolean and not exists (select from troupe.goals g
      where g.id = (i->>'id')::uuid and g.entity_id = p_entity and g.owner_id = p_owner);
  if missing is not null then
    return jsonb_build_object('ok', false, 'code', 'not_found', 'ids', missing);
  end if;
  select count(*) into held from troupe.goals g where g.entity_id = p_entity and g.owner_id = p_owner;
  select count(*) into fresh from jsonb_array_elements(p_items) i
    where not (i->>'known')::boolean and not exists (select from troupe.goals g where g.id = (i->>'id')::uuid);
  if fresh > 0 and held + fresh > p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
  end if;
  insert into troupe.goals (id, project_id, entity_id, owner_id, description, status, priority)
    select (i->>'id')::uuid, p_project, p_entity, p_owner, i->>'description', coalesce(i->>'status', 'active'),
        coalesce((i->>'priority')::int, 3)
      from jsonb_array_elements(p_items) i where not (i->>'known')::boolean
    on conflict (id) do nothing;
  update troupe.goals g set description = coalesce(i->>'description', g.description), status = coalesce(i->>'status', g.status),
      priority = coalesce((i->>'priority')::int, g.priority), updated_at = now()
    from jsonb_array_elements(p_items) i
    where (i->>'known')::boolean and g.id = (i->>'id')::uuid;
  return jsonb_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION troupe.set_memories(p_project uuid, p_entity uuid, p_owner uuid, p_items jsonb, p_most integer, p_run uuid, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  held int;
  fresh int;
begin
  perform pg_advisory_xact_lock(hashtextextended('troupe.memories:' || p_entity || ':' || p_owner, 0));
  if p_run is not null and not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif p_owner is null then
    return jsonb_build_object('ok', false, 'code', 'owner_unknown');
  end if;
  select count(*) into held from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner;
  select count(*) into fresh from jsonb_array_elements(p_items) i
    where not exists (select from troupe.memories m where m.entity_id = p_entity and m.owner_id = p_owner and m.key = i->>'key');
  if fresh > 0 and held + fresh > p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
  end if;
  insert into troupe.memories (project_id, entity_id, owner_id, key, value)
    select p_project, p_entity, p_owner, i->>'key', i->>'value' from jsonb_array_elements(p_items) i order by i->>'key'
    on conflict (entity_id, owner_id, key) do update set value = excluded.value, updated_at = now();
  return jsonb_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION troupe.set_plans(p_project uuid, p_agent uuid, p_entity uuid, p_items jsonb, p_most integer, p_run uuid, p_epoch integer, p_worker uuid, p_call text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  held int; twice text; by_call text := p_run || ':' || p_call;
begin
  perform troupe.lock_plans(p_entity);
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  end if;
  select min(i->>'name') into twice from jsonb_array_elements(p_items) i group by troupe.folded(i->>'name') having count(*) > 1 limit 1;
  if twice is not null then
    return jsonb_build_object('ok', false, 'code', 'name_twice', 'name', twice);
  end if;
  if not exists (select from troupe.plans p where p.entity_id = p_entity and p.set_by = by_call) then
    select count(*) into held from troupe.plans p where p.entity_id = p_entity and p.status = 'pending'
      and troupe.folded(p.name) not in (select troupe.folded(i->>'name') from jsonb_array_elements(p_items) i);
    if held + jsonb_array_length(p_items) > p_most then
      return jsonb_build_object('ok', false, 'code', 'too_many', 'held', held);
    end if;
    insert into troupe.plans as p (id, project_id, agent_id, entity_id, name, instruction, run_after, scheduled_at, cron, time_zone, next_run_at, set_by)
      select (i->>'id')::uuid, p_project, p_agent, p_entity, i->>'name', coalesce(i->>'instruction', ''), i->>'runAfter', (i->>'scheduledAt')::timestamptz,
        i->>'cron', i->>'timeZone', (i->>'nextRunAt')::timestamptz, by_call
      from jsonb_array_elements(p_items) i
      on conflict (entity_id, troupe.folded(name)) do update set name = excluded.name, run_after = excluded.run_after, scheduled_at = excluded.scheduled_at,
        cron = excluded.cron, time_zone = excluded.time_zone, next_run_at = excluded.next_run_at, status = 'pending', set_by = by_call,
        -- What is not said of it stays.
        instruction = coalesce((select i->>'instruction' from jsonb_array_elements(p_items) i where i->>'id' = excluded.id::text), p.instruction),
        version = p.version + 1, updated_at = now();
  end if;
  return jsonb_build_object('ok', true, 'plans', (
    select jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'nextRunAt', p.next_run_at, 'created', p.id = (i->>'id')::uuid) order by o)
    from jsonb_array_elements(p_items) with ordinality x(i, o) join troupe.plans p on p.entity_id = p_entity and troupe.folded(p.name) = troupe.folded(i->>'name')));
end $function$;

CREATE OR REPLACE FUNCTION troupe.settle(p_run uuid, p_call text, p_outcome jsonb, p_by text, p_message uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; target text := p_outcome->>'status'; queued boolean; is_edited boolean; replies boolean;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_run], null);
  end if;
  select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = p_call for no key update;
  if not found then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_found');
  elsif c.waits_for is null or c.waits_for = 'reply' or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', c.status, 'output', c.output, 'error', c.error, 'settledBy', c.settled_by);
  elsif c.deadline <= now() then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'call_not_open', 'status', 'expired', 'output', null, 'error', troupe.expired(), 'settledBy', null);
  end if;
  perform 1 from troupe.threads t where t.id = r.thread_id for no key update;
  if target = 'proceed' then
    -- The same arguments once more are no edit. A call in doubt was tried before.
    is_edited := p_outcome ? 'args' and p_outcome->'args' <> c.args;
    update troupe.tool_calls x set status = 'requested', waits_for = null, deadline = null, settled_by = p_by, error = null,
      args = coalesce(p_outcome->'args', x.args), edited = x.edited or is_edited, attempt = x.attempt + case when x.status = 'in_doubt' then 1 else 0 end
      where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'tool.approved', 'step', c.step,
      'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'by', p_by, 'edited', case when is_edited then true end)))));
  else
    update troupe.tool_calls x set status = target::troupe.call_status, output = p_outcome->'output', error = p_outcome->'error', waits_for = null, deadline = null,
      settled_by = p_by, settled_at = now() where x.run_id = p_run and x.call_id = p_call;
    perform troupe.append(r.thread_id, p_run,
      jsonb_build_array(jsonb_build_object('id', p_message, 'role', 'tool_result', 'callId', p_call, 'step', c.step,
        'content', jsonb_build_object('result', p_outcome->'output', 'error', p_outcome->'error')
          || case when c.edited then jsonb_build_object('calledWith', c.args) else '{}' end)),
      jsonb_build_array(jsonb_build_object('type', case target when 'completed' then 'tool.completed' else 'tool.failed' end, 'message', 0,
        'step', c.step, 'data', jsonb_strip_nulls(jsonb_build_object('id', p_call, 'status', target, 'by', p_by)))));
  end if;
  queued := r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 1;
  replies := not queued and r.status = 'waiting_tool' and not exists (
    select from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null and o.waits_for <> 'reply');
  update troupe.runs x set open_calls = x.open_calls - 1,
    status = case when queued then 'queued'::troupe.run_status when replies then 'waiting_reply' else x.status end,
    run_at = case when queued then now() else x.run_at end,
    wait_state = case when queued then null else x.wait_state end,
    wait_deadline = case when queued then null when x.status in ('waiting_tool', 'waiting_reply') then least(x.deadline_at,
      (select min(o.deadline) from troupe.tool_calls o where o.run_id = p_run and o.waits_for is not null)) else x.wait_deadline end,
    updated_at = now()
    where x.id = p_run;
  if queued then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.queued', 'data', jsonb_build_object('settled', true))));
  elsif replies then
    perform troupe.append(r.thread_id, p_run, null, jsonb_build_array(jsonb_build_object('type', 'run.waiting_reply')));
  end if;
  return jsonb_build_object('ok', true, 'queued', queued, 'status', case when queued then 'queued'::troupe.run_status when replies then 'waiting_reply' else r.status end,
    'openCalls', r.open_calls - 1, 'thread', r.thread_id);
end $function$;

CREATE OR REPLACE FUNCTION troupe.settle_all(p_run uuid, p_items jsonb, p_by text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r troupe.runs; c troupe.tool_calls; item jsonb; refused jsonb := '[]'; repeated int := 0; answer jsonb; told jsonb;
begin
  select * into r from troupe.runs x where x.id = p_run for no key update;
  if not found then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  end if;
  if r.door = 'space' then
    perform troupe.lock_spaces(array[p_run], null);
  end if;
  perform 1 from troupe.tool_calls x where x.run_id = p_run and x.call_id in (select i->>'call' from jsonb_array_elements(p_items) i)
    order by x.call_id for no key update;
  for item in select i from jsonb_array_elements(p_items) i loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    told := jsonb_build_object('call', item->'call', 'status', c.status, 'waitsFor', c.waits_for, 'settledBy', c.settled_by, 'run', r.status);
    if c.call_id is null then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_found'));
    elsif c.waits_for is null and c.settled_by = p_by and c.status::text = item->'outcome'->>'status'
      and c.output is not distinct from item->'outcome'->'output' and c.error is not distinct from item->'outcome'->'error' then
      repeated := repeated + 1;
    elsif c.waits_for is null or c.waits_for = 'reply' or r.status not in ('running', 'waiting_tool', 'waiting_reply', 'queued') then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open'));
    elsif c.deadline <= now() then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'call_not_open', 'status', 'expired', 'waitsFor', null));
    elsif c.waits_for::text <> item->>'waitsFor' then
      refused := refused || jsonb_build_array(told || jsonb_build_object('code', 'wrong_settlement'));
    end if;
  end loop;
  if jsonb_array_length(refused) > 0 then
    perform troupe.pass(r);
    return jsonb_build_object('ok', false, 'code', 'refused', 'refused', refused);
  end if;
  answer := jsonb_build_object('ok', true, 'queued', false, 'thread', r.thread_id);
  for item in select i from jsonb_array_elements(p_items) i order by i->>'call' loop
    select * into c from troupe.tool_calls x where x.run_id = p_run and x.call_id = item->>'call';
    continue when c.waits_for is null;
    answer := troupe.settle(p_run, item->>'call', item->'outcome', p_by, (item->>'message')::uuid);
  end loop;
  return answer || jsonb_build_object('repeated', repeated);
end $function$;

CREATE OR REPLACE FUNCTION troupe.shortened(p_text text, p_most integer)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when length(p_text) > p_most then left(p_text, p_most) || '…' else p_text end
$function$;

CREATE OR REPLACE FUNCTION troupe.show_call()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  v_space uuid := (new.shown->>'spaceId')::uuid; v_message uuid := (new.shown->>'messageId')::uuid;
  state text := troupe.shown_state(new.status, new.waits_for); before text; ended boolean; line text; told jsonb; about jsonb;
  v_seq bigint; event_base bigint; said int := 0;
begin
  if tg_op = 'UPDATE' then
    before := troupe.shown_state(old.status, old.waits_for);
    if before = state and old.args = new.args then
      return null;
    end if;
  end if;
  ended := state in ('complete', 'error');
  -- Shown by its result alone: nothing of it is there before.
  if not ended and new.shown->>'when' = 'result' then
    return null;
  end if;
  line := new.tool || case when (new.shown->>'input')::boolean then '(' || troupe.shortened(new.args::text, 200) || ')' else '' end
    || case state when 'complete' then case when (new.shown->>'output')::boolean then ' → ' || troupe.shortened(coalesce(new.output::text, 'null'), 500) else ' → done' end
      when 'error' then ' → failed: ' || troupe.shortened(coalesce(new.error->>'message', new.status::text), 500)
      when 'requires_action' then ' → waits for an answer' else ' …' end;
  told := jsonb_build_object('text', line, 'tool', jsonb_build_object('callId', new.call_id, 'name', new.tool, 'status', state)
    || case when (new.shown->>'input')::boolean then jsonb_build_object('arguments', new.args) else '{}' end
    || case when state = 'complete' and (new.shown->>'output')::boolean then jsonb_build_object('result', new.output) else '{}' end
    || case when state = 'error' then jsonb_build_object('error', jsonb_build_object('code', coalesce(new.error->>'code', new.status::text),
      'message', coalesce(new.error->>'message', new.status::text))) else '{}' end
    || case when new.shown ? 'customUI' then jsonb_build_object('customUI', new.shown->'customUI') else '{}' end);
  update troupe.messages m set content = told where m.id = v_message and m.thread_id = v_space returning m.seq into v_seq;
  said := case when found then 0 else 1 end;
  -- Whoever saw it before has not seen this of it.
  if said = 0 then
    update troupe.memberships m set seen = m.seen - int8multirange(int8range(v_seq, v_seq, '[]'))
      where m.space_id = v_space and m.seen @> v_seq and m.entity_id <> (select r.entity_id from troupe.runs r where r.id = new.run_id);
    -- Nor has a run that is at work, and was shown what it was before.
    update troupe.run_shown x set seqs = x.seqs - int8multirange(int8range(v_seq, v_seq, '[]'))
      where x.space_id = v_space and x.seqs @> v_seq and x.run_id <> new.run_id and x.run_id in (
        select r.id from troupe.runs r where r.space_id = v_space and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')
        union select r.id from troupe.runs r where r.active_space_id = v_space and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply'));
  end if;
  -- What a model calls a space may be anything: nothing is said where its agent is no member, and nothing where there is none.
  if v_seq is null and not exists (select from troupe.memberships m join troupe.runs r on r.id = new.run_id and r.entity_id = m.entity_id where m.space_id = v_space) then
    return null;
  end if;
  update troupe.threads t set last_message_seq = t.last_message_seq + said, last_event_seq = t.last_event_seq + 1 where t.id = v_space
    returning case when said = 1 then t.last_message_seq else v_seq end, t.last_event_seq into v_seq, event_base;
  if said = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step)
      select v_space, v_seq, v_message, 'tool_call', told, new.call_id, r.entity_id, new.run_id, new.step from troupe.runs r where r.id = new.run_id;
    perform troupe.note_shown(new.run_id, v_space, v_seq, v_seq);
  end if;
  about := jsonb_build_object('id', new.call_id, 'tool', new.tool)
    || case when state = 'requires_action' then jsonb_build_object('waitsFor', new.waits_for, 'deadlineMs', round(extract(epoch from new.deadline - now()) * 1000)) else '{}' end
    || case when state = 'error' then jsonb_build_object('status', new.status, 'code', coalesce(new.error->>'code', new.status::text)) else '{}' end;
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step) values (v_space, event_base,
    case state when 'complete' then 'tool.completed' when 'error' then 'tool.failed' when 'requires_action' then 'tool.waiting' else 'tool.started' end,
    about, v_seq, new.run_id, new.step);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.show_prompt(p_run uuid, p_epoch integer, p_worker uuid, p_space uuid, p_from bigint, p_upto bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  insert into troupe.run_shown as x (run_id, space_id, seqs, prompt_upto) values (p_run, p_space, int8multirange(int8range(p_from, p_upto, '[]')), p_upto)
    on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs, prompt_upto = coalesce(x.prompt_upto, excluded.prompt_upto);
  -- What began the run is in its prompt, however long ago it was said.
  perform troupe.note_shown(p_run, p_space, (r.trigger->>'sequence')::bigint, (r.trigger->>'sequence')::bigint)
    from troupe.runs r where r.id = p_run and r.space_id = p_space and r.trigger ? 'sequence';
  return true;
end $function$;

CREATE OR REPLACE FUNCTION troupe.shown_state(p_status troupe.call_status, p_waits_for troupe.waits_for)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when p_status = 'completed' then 'complete' when p_waits_for is not null and p_waits_for <> 'task' then 'requires_action'
    when p_status in ('requested', 'running') then 'running' else 'error' end
$function$;

CREATE OR REPLACE FUNCTION troupe.space_document(s troupe.spaces)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', s.id, 'name', s.name, 'description', s.description, 'policy', s.policy, 'chainDepth', s.chain_depth,
    'agentRuns', s.agent_runs, 'createdAt', troupe.milliseconds(s.created_at), 'updatedAt', troupe.milliseconds(s.updated_at)))
    || jsonb_build_object('metadata', s.metadata)
$function$;

CREATE OR REPLACE FUNCTION troupe.space_history(p_space uuid, p_entity uuid, p_upto bigint, p_limit integer, p_units integer)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content - 'parts',
    'pictures', (select count(*) from jsonb_array_elements(m.content->'parts') x where x->>'type' = 'image'), 'senderId', m.sender_id, 'senderName', coalesce(e.display_name, e.external_id), 'senderType', e.type, 'runId', m.run_id, 'metadata', m.metadata, 'createdAt', m.created_at,
    'seen', m.sender_id is not distinct from p_entity or coalesce(s.seen @> m.seq, false)) order by m.seq), '[]')
  from (select n.*, sum(least(length(n.content->>'text'), 10000) + coalesce(length(n.metadata::text), 0) + 300) over (order by n.seq desc) as units, row_number() over (order by n.seq desc) as place
      from (select * from troupe.messages x where x.thread_id = p_space and x.seq <= p_upto order by x.seq desc limit p_limit) n) m
    left join troupe.entities e on e.id = m.sender_id
    left join troupe.memberships s on s.space_id = p_space and s.entity_id = p_entity
  where m.units <= p_units or m.place = 1
$function$;

CREATE OR REPLACE FUNCTION troupe.space_of_call(p_run uuid, p_call text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((
    select case when e.args->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (e.args->>'spaceId')::uuid else '00000000-0000-0000-0000-000000000000' end
    from troupe.tool_calls c join troupe.tool_calls e on e.run_id = c.run_id and e.tool = 'enter_space' and (e.step, e.position) < (c.step, c.position)
    where c.run_id = p_run and c.call_id = p_call and (e.step = c.step or e.status = 'completed' and e.output @> '{"success": true}')
    order by e.step desc, e.position desc limit 1),
    (select r.space_id from troupe.runs r where r.id = p_run))
$function$;

CREATE OR REPLACE FUNCTION troupe.space_path(s troupe.spaces)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select 'spaces' $function$;

CREATE OR REPLACE FUNCTION troupe.stamp_memberships()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update troupe.memberships m set xid = pg_current_xact_id()::text::bigint where m.entity_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.stamp_xid()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.xid := pg_current_xact_id()::text::bigint;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION troupe.start(item jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  thread uuid := (item->>'thread')::uuid;
  message jsonb := item->'message';
  message_id uuid := (item->'message'->>'id')::uuid;
  run jsonb := item->'run';
  new_run uuid := (item->'run'->>'id')::uuid;
  v_entity uuid := (item->'run'->>'entity')::uuid;
  active uuid; failed uuid; message_base bigint; event_base bigint; message_seq bigint; existing uuid; serial boolean; is_ready boolean := true; made boolean := false;
  found_in uuid; messages int := 0; events int := 0; taker uuid; started jsonb := '[]'; window_from bigint; absent text;
begin
  -- Before looking: whoever deletes what the run names waits for this start, or this one waits and finds it gone (keep_used).
  lock table troupe.runs in row exclusive mode;
  if run is not null then
    absent := troupe.missing_for((item->>'project')::uuid, (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid, (run->>'parent')::uuid);
  elsif not exists (select from troupe.projects p where p.id = (item->>'project')::uuid) then
    absent := 'project';
  end if;
  if absent is not null then
    raise exception 'the project has no such %', absent using errcode = 'foreign_key_violation';
  end if;
  -- 1. The thread, and its lock.
  if item ? 'createThread' then
    insert into troupe.threads as t (id, project_id, kind) values (thread, (item->>'project')::uuid, (item->>'createThread')::troupe.thread_kind)
      on conflict do nothing;
    made := found;
  end if;
  if made then
    message_base := 0; event_base := 0;
  else
    select t.active_run_id, t.failed_run_id, t.last_message_seq, t.last_event_seq into active, failed, message_base, event_base from troupe.threads t
      where t.id = thread and t.project_id = (item->>'project')::uuid for update;
    if not found then
      return jsonb_build_object('ok', false, 'code', 'thread_not_found');
    end if;
  end if;
  -- 2. The message: where it is there already, only what is missing of the rest is done.
  if message is not null then
    select m.seq, m.thread_id into message_seq, found_in from troupe.messages m where m.id = message_id;
    if found_in <> thread then
      -- The same start may come again with another name for the thread that it makes.
      if made then
        delete from troupe.threads t where t.id = thread;
        select r.id, r.thread_id into existing, thread from troupe.runs r
          where r.thread_id = found_in and (r.id = new_run or r.entity_id = v_entity and r.trigger_message_id = message_id);
        if existing is not null then
          return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate', true);
        end if;
      end if;
      return jsonb_build_object('ok', false, 'code', 'message_id_taken');
    elsif found_in is not null then
      message := null;
    else
      message_seq := message_base + 1; messages := 1; events := 1;
    end if;
  end if;
  -- 3. The run. Where it is there already it is found by a look, which waits for nobody: an insert that meets it would wait for whoever is changing it
  -- just then, and `claim` does so before it asks for this thread.
  if run is not null and messages = 0 then
    select r.id, r.thread_id into existing, found_in from troupe.runs r where r.id = new_run;
    if existing is null then
      select r.id, r.thread_id into existing, found_in from troupe.runs r where r.entity_id = v_entity and r.trigger_message_id = message_id;
    end if;
    if existing is not null then
      if made then
        delete from troupe.threads t where t.id = thread;
      elsif found_in <> thread then
        return jsonb_build_object('ok', false, 'code', 'message_id_taken');
      end if;
      return jsonb_build_object('ok', true, 'run', existing, 'thread', found_in, 'seq', message_seq, 'duplicate', true);
    end if;
  end if;
  if run is not null then
    serial := coalesce((run->>'serial')::boolean, false);
    is_ready := not serial or active is null;
    if failed is not null and messages = 1 and item ? 'unlessFailed' then
      return jsonb_build_object('ok', false, 'code', 'thread_failed', 'run', failed);
    end if;
    if item ? 'claim' and is_ready and not run ? 'lane' and not run ? 'delayMs' then
      taker := (item->'claim'->>'worker')::uuid; started := item->'claim'->'events';
    end if;
    insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id,
      trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, lane, lane_limit, run_at, wall_ms, history_limit, budget_ids, metadata,
      status, epoch, worker_id, started_at, deadline_at)
    values (new_run, (item->>'project')::uuid, run->>'door', (run->>'agent')::uuid, v_entity, (run->>'snapshot')::uuid, thread,
      (run->>'parent')::uuid, coalesce((run->>'root')::uuid, new_run), run->>'triggerType', message_id, message_seq,
      coalesce(run->'trigger', '{}'), coalesce((run->>'chainDepth')::int, 0), serial, is_ready, run->>'lane', (run->>'laneLimit')::int,
      now() + make_interval(secs => coalesce((run->>'delayMs')::float8, 0) / 1000), (run->>'wallMs')::bigint,
      coalesce((run->>'historyLimit')::int, 50),
      case when run ? 'budgets' then array(select value::uuid from jsonb_array_elements_text(run->'budgets')) end,
      coalesce(run->'metadata', '{}'),
      case when taker is null then 'queued'::troupe.run_status else 'running' end, case when taker is null then 0 else 1 end, taker,
      case when taker is not null then now() end,
      case when taker is not null then now() + make_interval(secs => (run->>'wallMs')::float8 / 1000) end)
    on conflict do nothing;
    if not found then
      -- The same message for the same entity by another way, since we looked.
      if made then
        delete from troupe.threads t where t.id = thread;
      end if;
      select r.id, r.thread_id into existing, thread from troupe.runs r where r.id = new_run;
      if existing is null then
        select r.id, r.thread_id into existing, thread from troupe.runs r where r.entity_id = v_entity and r.trigger_message_id = message_id;
      end if;
      -- By another thread, since we looked.
      if not made and thread <> (item->>'thread')::uuid then
        return jsonb_build_object('ok', false, 'code', 'message_id_taken');
      end if;
      return jsonb_build_object('ok', true, 'run', existing, 'thread', thread, 'seq', message_seq, 'duplicate', true);
    end if;
    events := events + case when taker is null then 1 else 3 + jsonb_array_length(started) end;
  end if;
  -- 4. What is said and told.
  update troupe.threads t set last_message_seq = message_base + messages, last_event_seq = event_base + events,
    active_run_id = case when serial and is_ready then new_run else t.active_run_id end,
    failed_run_id = case when serial then null else t.failed_run_id end where t.id = thread;
  if messages = 1 then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata)
      values (thread, message_seq, message_id, (message->>'role')::troupe.message_role, message->'content', message->>'callId',
        (message->>'sender')::uuid, (message->>'run')::uuid, (message->>'step')::int, message->'metadata');
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id)
      values (thread, event_base + 1, 'message.created', jsonb_build_object('id', message_id, 'role', message->'role'), message_seq, new_run);
  end if;
  if run is not null then
    event_base := event_base + messages;
    insert into troupe.events (thread_id, seq, type, run_id) values (thread, event_base + 1, 'run.queued', new_run);
  end if;
  if taker is not null then
    insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost) values (new_run, taker, 1, 1, 0, 0, 0, 0);
    insert into troupe.events (thread_id, seq, type, run_id, step) values
      (thread, event_base + 2, 'run.started', new_run, null), (thread, event_base + 3 + jsonb_array_length(started), 'step.started', new_run, 1);
    for k in 1 .. jsonb_array_length(started) loop
      insert into troupe.events (thread_id, seq, type, run_id) values (thread, event_base + 2 + k, started->>(k - 1), new_run);
    end loop;
    window_from := coalesce(message_seq, message_base) - coalesce((run->>'historyLimit')::int, 50);
    return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', true, 'duplicate', false, 'createdAt', now(),
      'lastSeq', message_base + messages,
      'claimed', case when made and messages = 1 then null else (
        select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m where m.thread_id = thread and m.seq > window_from) end);
  end if;
  return jsonb_build_object('ok', true, 'run', new_run, 'thread', thread, 'seq', message_seq, 'ready', is_ready,
    'duplicate', run is null and messages = 0, 'createdAt', now());
end $function$;

CREATE OR REPLACE FUNCTION troupe.start_many(items jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  verdicts jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(items)]);
  o int;
begin
  for o in select x.o from jsonb_array_elements(items) with ordinality x(v, o) order by (v->>'thread')::uuid, x.o loop
    verdicts[o] := troupe.start(items->(o-1));
  end loop;
  return to_jsonb(verdicts);
end $function$;

CREATE OR REPLACE FUNCTION troupe.start_networks(items jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  verdicts jsonb := troupe.start_many(items);
begin
  update troupe.runs r
    set network_id = (x.run->'network'->>'id')::uuid, network_version = (x.run->'network'->>'version')::int,
      sealed = nullif(x.run->'network'->'sealed', 'null')
    from (select v->'run' as run from jsonb_array_elements(items) v where v->'run' ? 'network') x
    where r.id = (x.run->>'id')::uuid and r.network_id is null;
  return verdicts;
end $function$;

CREATE OR REPLACE FUNCTION troupe.start_task_run(p_parent troupe.runs, p_call text, p_item jsonb, p_task uuid, p_background boolean, p_most integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  started jsonb; child uuid := (p_item->'run'->>'id')::uuid;
begin
  -- Two that begin the last one at the same time count one after the other. After calls, before threads, as everywhere.
  perform pg_advisory_xact_lock(27, hashtext(p_parent.root_run_id::text));
  if (select count(*) from troupe.runs x where x.root_run_id = p_parent.root_run_id and x.parent_call_id is not null)
    + (select count(*) from troupe.runs x where x.root_run_id = p_parent.root_run_id and x.task_id is not null and x.parent_call_id is null) >= p_most then
    return jsonb_build_object('ok', false, 'code', 'too_many_runs', 'limit', p_most);
  end if;
  started := troupe.start(p_item || jsonb_build_object('run', (p_item->'run')
    || jsonb_build_object('parent', p_parent.id, 'root', p_parent.root_run_id, 'chainDepth', p_parent.chain_depth + 1, 'triggerType', 'task')
    || case when p_parent.budget_ids is null then '{}' else jsonb_build_object('budgets', to_jsonb(p_parent.budget_ids)) end));
  if not (started->>'ok')::boolean then
    raise exception 'the run of a task was not started: %', started->>'code';
  end if;
  update troupe.runs x set task_id = p_task, parent_call_id = case when not p_background then p_call end where x.id = child;
  return jsonb_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION troupe.starts(p_taker uuid, p_count integer[], p_project uuid[], p_thread uuid[], p_kind troupe.thread_kind[], p_takes boolean[], p_events integer[], m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_sender uuid[], m_metadata jsonb[], r_id uuid[], r_door text[], r_agent uuid[], r_entity uuid[], r_snapshot uuid[], r_parent uuid[], r_root uuid[], r_type text[], r_trigger jsonb[], r_depth integer[], r_serial boolean[], r_wall bigint[], r_history integer[], r_metadata jsonb[], e_item integer[], e_place integer[], e_type text[], e_step integer[])
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  n constant int := cardinality(r_id);
  made int := 0; done int; message_base bigint[]; event_base bigint[]; free boolean[]; failed boolean;
begin
  -- 1. Threads, and their locks.
  if p_kind is not null then
    insert into troupe.threads (id, project_id, kind, last_message_seq, last_event_seq, active_run_id)
      select p_thread[x.i], p_project[x.i], p_kind[x.i], 1, case when p_takes[x.i] then p_events[x.i] else 2 end, case when r_serial[x.i] then r_id[x.i] end
      from generate_series(1, n) x(i) where p_kind[x.i] is not null on conflict do nothing;
    get diagnostics made = row_count;
  end if;
  if made = n then
    message_base := array_fill(0::bigint, array[n]); event_base := message_base; free := array_fill(true, array[n]);
  else
    with placed as (
      update troupe.threads t set last_message_seq = t.last_message_seq + 1,
          last_event_seq = t.last_event_seq + case when p_takes[x.i] and (t.active_run_id is null or not r_serial[x.i]) then p_events[x.i] else 2 end,
          active_run_id = case when r_serial[x.i] then coalesce(t.active_run_id, r_id[x.i]) else t.active_run_id end
        from unnest(p_count) x(i) where x.i between 1 and n and t.id = p_thread[x.i] and t.project_id = p_project[x.i] and p_kind[x.i] is null
        returning x.i, t.last_message_seq - 1 as messages, t.last_event_seq as events, not r_serial[x.i] or t.active_run_id = r_id[x.i] as free,
          t.failed_run_id is not null as failed)
    select array_agg(coalesce(p.messages, 0) order by x.i), array_agg(coalesce(p.free, true) order by x.i), count(p.i),
        array_agg(coalesce(p.events - case when p_takes[x.i] and p.free then p_events[x.i] else 2 end, 0) order by x.i), bool_or(p.failed)
      into message_base, free, done, event_base, failed from generate_series(1, n) x(i) left join placed p on p.i = x.i;
    if failed then
      raise exception 'troupe.starts: a thread has failed' using errcode = 'TR001';
    end if;
    if made + done < n then
      raise exception 'troupe.starts: a thread is there already, or is not' using errcode = 'TR001';
    end if;
  end if;

  -- 2. The message and the run. What is there already has been started before.
  insert into troupe.messages (thread_id, seq, id, role, content, sender_id, metadata)
    select p_thread[x.i], message_base[x.i] + 1, m_id[x.i], m_role[x.i], m_content->(x.i - 1), m_sender[x.i], m_metadata[x.i]
    from generate_series(1, n) x(i) on conflict do nothing;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.starts: a message is there already' using errcode = 'TR001';
  end if;
  insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, parent_run_id, root_run_id,
    trigger_type, trigger_message_id, trigger_seq, trigger, chain_depth, serial, ready, wall_ms, history_limit, metadata,
    status, epoch, worker_id, started_at, deadline_at)
    select r_id[x.i], p_project[x.i], r_door[x.i], r_agent[x.i], r_entity[x.i], r_snapshot[x.i], p_thread[x.i], r_parent[x.i], coalesce(r_root[x.i], r_id[x.i]),
      r_type[x.i], m_id[x.i], message_base[x.i] + 1, coalesce(r_trigger[x.i], '{}'), r_depth[x.i], r_serial[x.i], free[x.i], r_wall[x.i], r_history[x.i],
      coalesce(r_metadata[x.i], '{}'), case when y.taken then 'running'::troupe.run_status else 'queued' end, y.taken::int,
      case when y.taken then p_taker end, case when y.taken then now() end, case when y.taken then now() + make_interval(secs => r_wall[x.i]::float8 / 1000) end
    from generate_series(1, n) x(i), lateral (select p_takes[x.i] and free[x.i] as taken) y
    where exists (select from troupe.projects p where p.id = p_project[x.i])
      and exists (select from troupe.compiled_snapshots s where s.id = r_snapshot[x.i] and s.project_id = p_project[x.i])
      and (r_agent[x.i] is null or exists (select from troupe.agents a where a.id = r_agent[x.i] and a.project_id = p_project[x.i]))
      and (r_entity[x.i] is null or exists (select from troupe.entities e where e.id = r_entity[x.i] and e.project_id = p_project[x.i]))
      and (r_parent[x.i] is null or exists (select from troupe.runs r where r.id = r_parent[x.i] and r.project_id = p_project[x.i]))
    on conflict do nothing;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.starts: a run is there already, or names what is not' using errcode = 'TR001';
  end if;

  -- 3. What is told.
  if p_taker is not null then
    insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost)
      select r_id[x.i], p_taker, 1, 1, 0, 0, 0, 0 from generate_series(1, n) x(i) where p_takes[x.i] and free[x.i];
  end if;
  insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
    select p_thread[e_item[k]], event_base[e_item[k]] + e_place[k], e_type[k],
      case when e_place[k] = 1 then jsonb_build_object('id', m_id[e_item[k]], 'role', m_role[e_item[k]]) end,
      case when e_place[k] = 1 then message_base[e_item[k]] + 1 end, r_id[e_item[k]], e_step[k]
    from generate_series(1, cardinality(e_item)) k where e_place[k] <= 2 or free[e_item[k]];
  return (select jsonb_agg(jsonb_build_array(message_base[x.i] + 1, now(), free[x.i], case when p_takes[x.i] and free[x.i] and p_kind[x.i] is null then (
      select jsonb_agg(troupe.message_json(m) order by m.seq) from troupe.messages m
      where m.thread_id = p_thread[x.i] and m.seq > message_base[x.i] + 1 - r_history[x.i]) end) order by x.i)
    from generate_series(1, n) x(i));
end $function$;

CREATE OR REPLACE FUNCTION troupe.steps(p_worker uuid, p_count integer[], p_order integer[], p_run uuid[], p_thread uuid[], p_epoch integer[], p_version integer[], p_known bigint[], p_messages integer[], p_events integer[], p_ends boolean[], x_item integer[], x_id text[], x_status troupe.call_status[], x_output jsonb, x_error jsonb, m_item integer[], m_place integer[], m_id uuid[], m_role troupe.message_role[], m_content jsonb, m_call text[], m_step integer[], e_item integer[], e_place integer[], e_type text[], e_data jsonb, e_message integer[], e_step integer[], c_item integer[], c_place integer[], c_id text[], c_tool text[], c_args jsonb, c_effect troupe.tool_effect[], s_step integer[], s_input bigint[], s_output bigint[], s_cost bigint[], s_provider text[], s_model text[], s_attempt integer[], s_started double precision[], s_first double precision[], s_finished double precision[], s_finish text[], s_budgeted boolean[], f_item integer[], f_steers integer[], f_outcome jsonb[])
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  n constant int := cardinality(p_run);
  done int; message_base bigint[]; event_base bigint[]; foreigners boolean; verdicts jsonb; i int; told uuid[];
begin
  -- 1. Runs that end: their rows, with what might keep them going.
  if f_item is not null then
    select count(*), array_agg(y.id) filter (where y.door = 'space') into done, told from (
      select r.id, r.door from unnest(p_count) k join troupe.runs r on r.id = p_run[f_item[k]]
        where k between 1 and cardinality(f_item) and r.steers <= f_steers[k] for no key update of r) y;
    if done < cardinality(f_item) then
      raise exception 'troupe.steps: a run was steered' using errcode = 'TR001';
    end if;
  end if;

  -- 2. Heads: the fence.
  if s_step is null then
    update troupe.run_heads h set version = h.version + 1
      from unnest(p_order) x(i)
      where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i] and h.worker_id = p_worker;
  else
    update troupe.run_heads h set version = h.version + 1, worker_id = case when p_ends[x.i] then null else h.worker_id end, step = coalesce(s_step[x.i], h.step),
      input_tokens = h.input_tokens + s_input[x.i], output_tokens = h.output_tokens + s_output[x.i], cost = h.cost + s_cost[x.i]
      from unnest(p_order) x(i)
      where x.i between 1 and n and h.run_id = p_run[x.i] and h.version = p_version[x.i] and h.epoch = p_epoch[x.i] and h.worker_id = p_worker;
  end if;
  get diagnostics done = row_count;
  if done < n then
    raise exception 'troupe.steps: somebody else has a run' using errcode = 'TR001';
  end if;

  -- What was to be said and will not be is told as well. Any call that went wrong may be such a one: that is seldom, and asking costs little.
  if x_item is not null and ('completed' <> any(x_status) or x_output @> '[{"success": false}]') then
    told := p_run;
  end if;
  -- Where spaces are told of something, they come before the threads of runs.
  if told is not null then
    perform troupe.lock_spaces(told, null);
  end if;

  -- 3. Calls that end. One that was handed over meanwhile is not the worker's to end.
  if x_item is not null then
    update troupe.tool_calls c set status = x_status[k], output = case when x_status[k] = 'completed' then x_output->(k - 1) end, error = nullif(x_error->(k - 1), 'null'), settled_at = now()
      from unnest(p_count) k
      where k between 1 and cardinality(x_item) and c.run_id = p_run[x_item[k]] and c.call_id = x_id[k] and c.status = 'running';
    get diagnostics done = row_count;
    if done < cardinality(x_item) then
      raise exception 'troupe.steps: a call is not open' using errcode = 'TR003';
    end if;
  end if;

  -- 4. Threads, in the order of their ids: place messages and events behind what is there.
  with placed as (
    update troupe.threads t set last_message_seq = t.last_message_seq + p_messages[x.i], last_event_seq = t.last_event_seq + p_events[x.i],
        active_run_id = case when p_ends[x.i] and t.active_run_id = p_run[x.i] then null else t.active_run_id end
      from unnest(p_count) x(i) where x.i between 1 and n and t.id = p_thread[x.i]
      returning x.i, t.last_message_seq - p_messages[x.i] as messages, t.last_event_seq - p_events[x.i] as events)
  select array_agg(p.messages order by p.i), array_agg(p.events order by p.i), bool_or(p.messages > p_known[p.i])
    into message_base, event_base, foreigners from placed p;
  if coalesce(cardinality(message_base), 0) < n then
    raise exception 'troupe.steps: a thread is not there';
  end if;

  -- 5. Everything that hangs on them.
  if m_item is not null then
    insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step)
      select p_thread[m_item[k]], message_base[m_item[k]] + m_place[k], m_id[k], m_role[k], m_content->(k - 1), m_call[k], p_run[m_item[k]], m_step[k]
      from generate_series(1, cardinality(m_item)) k;
  end if;
  if e_item is not null then
    insert into troupe.events (thread_id, seq, type, data, message_seq, run_id, step)
      select p_thread[e_item[k]], event_base[e_item[k]] + e_place[k], e_type[k], nullif(e_data->(k - 1), 'null'), message_base[e_item[k]] + e_message[k], p_run[e_item[k]], e_step[k]
      from generate_series(1, cardinality(e_item)) k;
  end if;
  if c_item is not null then
    insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, epoch)
      select p_run[c_item[k]], c_id[k], s_step[c_item[k]], c_place[k], c_tool[k], c_args->(k - 1), c_effect[k], 'running', p_epoch[c_item[k]]
      from generate_series(1, cardinality(c_item)) k;
  end if;
  if s_step is not null then
    insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, first_token_at, finished_at,
      input_tokens, output_tokens, cost, finish_reason, budgeted)
      select p_run[x.i], s_step[x.i], s_provider[x.i], s_model[x.i], p_worker, p_epoch[x.i], s_attempt[x.i], to_timestamp(s_started[x.i] / 1000),
        to_timestamp(s_first[x.i] / 1000), to_timestamp(s_finished[x.i] / 1000), s_input[x.i], s_output[x.i], s_cost[x.i], s_finish[x.i], s_budgeted[x.i]
      from generate_series(1, n) x(i) where s_step[x.i] is not null;
  end if;

  -- 6. Runs that end. A head that is ahead has taken a step since the row was written: both count from there.
  if f_item is not null then
    update troupe.runs r set status = 'completed', worker_id = null, step = h.step, input_tokens = h.input_tokens, output_tokens = h.output_tokens,
      cost = h.cost, takeovers = case when h.step > r.step then 0 else r.takeovers end, attempt = case when h.step > r.step then 0 else r.attempt end,
      open_calls = 0, wait_state = null, wait_deadline = null, outcome = f_outcome[k], error = null, cancel_reason = null,
      completed_at = now(), canceled_at = null, updated_at = now()
      from unnest(p_count) k, troupe.run_heads h
      where k between 1 and cardinality(f_item) and r.id = p_run[f_item[k]] and h.run_id = p_run[f_item[k]];
  end if;

  verdicts := to_jsonb(message_base);
  -- Seldom: another run waits for its turn in the thread.
  if f_item is not null then
    for i in select f_item[k] from generate_series(1, cardinality(f_item)) k
      where exists (select from troupe.runs w where w.thread_id = p_thread[f_item[k]] and w.status = 'queued' and not w.ready)
        and (select r.serial from troupe.runs r where r.id = p_run[f_item[k]]) loop
      verdicts := jsonb_set(verdicts, array[(i - 1)::text], jsonb_build_object('seq', message_base[i],
        'promoted', troupe.promote(p_thread[i], p_run[i])));
    end loop;
  end if;
  -- Seldom: what others put into the thread meanwhile. The count of steering messages is read under the thread's lock,
  -- so that it fits the messages.
  if foreigners then
    for i in 1 .. n loop
      continue when message_base[i] <= p_known[i];
      verdicts := jsonb_set(verdicts, array[(i - 1)::text], jsonb_build_object('seq', message_base[i], 'promoted', verdicts->(i - 1)->'promoted',
        'foreign', (select coalesce(jsonb_agg(troupe.message_json(m) order by m.seq), '[]') from troupe.messages m
          where m.thread_id = p_thread[i] and m.seq > p_known[i] and m.seq <= message_base[i]),
        'steers', (select r.steers from troupe.runs r where r.id = p_run[i]),
        'openCalls', (select r.open_calls from troupe.runs r where r.id = p_run[i])));
    end loop;
  end if;
  return verdicts;
end $function$;

CREATE OR REPLACE FUNCTION troupe.stop_run(p_target uuid, p_by uuid, p_epoch integer, p_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  target troupe.runs; asking troupe.runs;
begin
  if p_target = p_by then
    return jsonb_build_object('ok', false, 'code', 'cannot_stop_itself');
  end if;
  perform 1 from troupe.runs r where r.id in (p_target, p_by) order by r.id for no key update;
  select * into target from troupe.runs r where r.id = p_target;
  select * into asking from troupe.runs r where r.id = p_by;
  if not troupe.has_run(p_by, p_epoch, p_worker) then
    return jsonb_build_object('ok', false, 'code', 'run_lost');
  elsif target.id is null or target.project_id <> asking.project_id then
    return jsonb_build_object('ok', false, 'code', 'run_not_found');
  elsif target.entity_id is distinct from asking.entity_id then
    return jsonb_build_object('ok', false, 'code', 'not_your_run');
  elsif target.status in ('completed', 'failed', 'canceled') then
    return jsonb_build_object('ok', false, 'code', 'run_ended', 'status', target.status, 'reason', target.cancel_reason);
  end if;
  perform troupe.end_run(p_target, 'user', 'run:' || p_by, null, 'run.canceled');
  return jsonb_build_object('ok', true, 'worker', target.worker_id, 'thread', target.thread_id, 'spaces', to_jsonb(array[target.space_id, target.active_space_id]));
end $function$;

CREATE OR REPLACE FUNCTION troupe.sub_agent_document(a troupe.sub_agents)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', a.id, 'userId', coalesce(a.user_id::text, ''), 'chatId', a.chat_id, 'taskId', a.task_id, 'agentId', a.agent_id, 'role', a.role,
    'status', a.status, 'iterationCount', a.iteration_count, 'summary', a.summary,
    'createdAt', troupe.milliseconds(a.created_at), 'updatedAt', troupe.milliseconds(a.updated_at)))
$function$;

CREATE OR REPLACE FUNCTION troupe.sub_agent_message_document(m troupe.messages, p troupe.place)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when troupe.begins_document(m) then
    jsonb_strip_nulls(jsonb_build_object('id', m.id, 'userId', coalesce((p).user_id::text, ''), 'chatId', (p).chat_id, 'subAgentId', (p).sub_agent_id, 'sequence', m.seq,
      'role', case m.role when 'tool_call' then 'assistant' when 'tool_result' then 'tool' else m.role::text end,
      'content', case m.role when 'tool_call' then '' when 'tool_result' then coalesce(nullif(m.content->'result', 'null') #>> '{}', m.content->'error'->>'message', '')
        else coalesce(m.content->>'text', '') end,
      'toolCallId', case when m.role = 'tool_result' then troupe.call_document_id(m.run_id, m.tool_call_id) end,
      'name', case when m.role = 'tool_result' then (select c.tool from troupe.tool_calls c where c.run_id = m.run_id and c.call_id = m.tool_call_id) end,
      'createdAt', troupe.milliseconds(m.created_at)))
    || case when m.role in ('assistant', 'tool_call') then troupe.field('toolCalls', (
      select jsonb_agg(jsonb_build_object('id', troupe.call_document_id(x.run_id, x.tool_call_id), 'type', 'function', 'function',
        jsonb_build_object('name', x.content->>'name', 'arguments', x.content->'arguments' #>> '{}')) order by x.seq)
      from troupe.messages x where x.thread_id = m.thread_id and x.seq between m.seq and m.seq + 1000 and x.run_id = m.run_id and x.step = m.step and x.role = 'tool_call'))
      else '{}' end end
$function$;

CREATE OR REPLACE FUNCTION troupe.sub_agent_path(a troupe.sub_agents)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select troupe.chat_path(a.user_id, a.chat_id, 'sub-agents') $function$;

CREATE OR REPLACE FUNCTION troupe.sync_generation()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  cluster text := '';
begin
  begin
    cluster := (select system_identifier from pg_control_system()) || ':' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when insufficient_privilege or object_not_in_prerequisite_state then
    null;
  end;
  return left(md5(cluster || ':' || (select d.oid from pg_database d where d.datname = current_database()) || ':' || 'troupe.tombstones'::regclass::oid), 12);
end $function$;

CREATE OR REPLACE FUNCTION troupe.task_document(t troupe.tasks)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', t.id, 'userId', coalesce(t.user_id::text, ''), 'chatId', t.chat_id, 'type', t.type, 'name', t.name, 'instruction', t.instruction,
    'subAgentId', t.sub_agent_id, 'triggerMessageId', coalesce(t.trigger_message_id::text, ''), 'status', t.status, 'result', t.result, 'error', t.error->>'message', 'code', t.error->>'code',
    'question', t.question, 'background', t.background, 'depth', t.depth, 'parentTaskId', t.parent_task_id, 'parentRunId', t.parent_run_id, 'runId', t.run_id,
    'createdAt', troupe.milliseconds(t.created_at), 'updatedAt', troupe.milliseconds(t.updated_at))) || troupe.field('args', t.args)
$function$;

CREATE OR REPLACE FUNCTION troupe.task_for(p_run troupe.runs, p_sub_agent uuid)
 RETURNS troupe.tasks
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  t troupe.tasks; place jsonb := troupe.place_of(p_run.id);
begin
  select x.* into t from troupe.tasks x join troupe.sub_agents s on s.task_id = x.id join troupe.runs g on g.id = x.parent_run_id
    where s.id = p_sub_agent and x.project_id = p_run.project_id and x.chat_id = (place->>'chat')::uuid
      and x.parent_task_id is not distinct from (place->>'task')::uuid and g.agent_id is not distinct from p_run.agent_id;
  return t;
end $function$;

CREATE OR REPLACE FUNCTION troupe.task_news(t troupe.tasks, p_data jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select format('Task %s (%s%s) ', t.id, t.name, case when t.sub_agent_id is null then '' else ', sub-agent ' || t.sub_agent_id end)
    || case p_data->>'status'
      when 'waiting' then format(E'waits for an answer. The sub-agent asks:\n\n%s', p_data->>'question')
      when 'success' then format(E'is done. Its result:\n\n%s', p_data->>'result')
      when 'failed' then format('failed: %s (%s)', p_data->'error'->>'message', p_data->'error'->>'code')
      else format('was canceled. %s', p_data->'error'->>'message') end
$function$;

CREATE OR REPLACE FUNCTION troupe.task_outcome(child troupe.runs, p_most bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  given jsonb; sub uuid; who text := '';
begin
  if child.task_id is not null then
    select t.sub_agent_id into sub from troupe.tasks t where t.id = child.task_id;
    who := format(' (sub-agent %s)', sub);
  end if;
  case child.status
    when 'completed' then
      given := case when child.task_id is not null then jsonb_build_object('status', 'success', 'taskId', child.task_id, 'subAgentId', sub, 'result', child.outcome->'text')
        when child.outcome ? 'response' then child.outcome->'response' when child.outcome ? 'output' then child.outcome->'output'
        else child.outcome->'text' end;
      if octet_length(given::text) > p_most then
        return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'output_too_large',
          'message', format('The task%s ended with %s bytes; at most %s are taken. Ask for less.', who, octet_length(given::text), p_most)));
      end if;
      return jsonb_build_object('status', 'completed', 'output', coalesce(given, 'null'));
    when 'failed' then
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', coalesce(child.error->>'code', 'task_failed'),
        'message', format('The task%s failed: ', who) || coalesce(child.error->>'message', 'it did not say why.')));
    else
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'task_canceled',
        'message', format('The task%s was canceled (%s) before it ended.', who, child.cancel_reason)));
  end case;
end $function$;

CREATE OR REPLACE FUNCTION troupe.task_path(t troupe.tasks)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select troupe.chat_path(t.user_id, t.chat_id, 'tasks') $function$;

CREATE OR REPLACE FUNCTION troupe.tell_batch()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update troupe.network_batch_items i set
    status = case when new.status in ('waiting_tool', 'waiting_reply') then 'running' else new.status::text end,
    input_tokens = new.input_tokens, output_tokens = new.output_tokens, cost = new.cost,
    canceling = i.canceling and new.status not in ('completed', 'failed', 'canceled'),
    started_at = coalesce(new.started_at, i.started_at),
    ended_at = case when new.status in ('completed', 'failed', 'canceled') then now() end
  where i.run_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.tell_chat(p_thread uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  told jsonb;
begin
  perform 1 from troupe.threads t where t.id = p_thread for no key update;
  with gone as (delete from troupe.joins j where j.what = 'event' and j.thread_id = p_thread returning j.id, j.data)
    select jsonb_agg(g.data order by g.id) into told from gone g;
  if told is null then
    return null;
  elsif exists (select from troupe.threads t where t.id = p_thread) then
    perform troupe.append(p_thread, null, null, told);
  end if;
  return jsonb_build_object('told', p_thread, 'queued', false);
end $function$;

CREATE OR REPLACE FUNCTION troupe.tell_giver(j troupe.joins, p_current jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  t troupe.tasks; giver troupe.runs; v_run uuid; about jsonb; failed uuid; message jsonb; started jsonb; chain int; silent boolean; v_how jsonb;
begin
  select * into t from troupe.tasks x where x.id = j.task_id;
  -- Within sub-agents nothing is told: whoever gave it is at work, and sees how it stands.
  if not found or t.depth > 1 or (j.what = 'question' and (t.status <> 'waiting' or t.told <> j.told)) then
    return '{}';
  end if;
  select top.* into giver from troupe.runs g join troupe.runs top on top.id = g.root_run_id where g.id = t.parent_run_id;
  select x.chain_depth + 1 into chain from troupe.runs x where x.id = t.parent_run_id;
  -- Whoever ended everything wants no answer, and an agent that is told of tasks, gives more and is told of those must come to an end without a person.
  silent := t.quiet or not exists (select from troupe.agents x where x.id = giver.agent_id and x.status = 'active')
    or chain > (select coalesce((s.compiled->'limits'->>'chainDepth')::int, 8) from troupe.compiled_snapshots s where s.id = giver.snapshot_id);
  v_run := troupe.id_from(t.id || ':told:' || j.told, t.id);
  about := jsonb_strip_nulls(jsonb_build_object('taskId', t.id, 'name', t.name, 'subAgentId', t.sub_agent_id, 'told', j.told)) || (j.data - 'result');
  v_how := jsonb_build_object('id', v_run, 'door', giver.door, 'agent', giver.agent_id, 'entity', giver.entity_id, 'chainDepth', chain,
    'snapshot', coalesce(p_current->'snapshot', to_jsonb(giver.snapshot_id)), 'wallMs', coalesce(p_current->'wallMs', to_jsonb(giver.wall_ms)),
    'historyLimit', case when giver.door = 'session' then coalesce(p_current->'historyLimit', to_jsonb(giver.history_limit)) else to_jsonb(giver.history_limit) end);
  if giver.door = 'space' then
    if silent or not exists (select from troupe.threads x where x.id = t.chat_thread_id) then
      return '{}';
    end if;
    started := troupe.start(jsonb_build_object('project', t.project_id, 'thread', troupe.id_from(v_run || ':thread', v_run), 'createThread', 'run',
      'run', v_how || jsonb_build_object('triggerType', 'service', 'trigger', jsonb_build_object('serviceName', 'task', 'taskId', t.id,
          'payload', jsonb_build_object('spaceId', t.chat_id, 'text', troupe.task_news(t, j.data)) || about))));
    return jsonb_build_object('told', started->'thread', 'queued', true);
  end if;
  perform 1 from troupe.sessions s where s.thread_id = t.chat_thread_id;
  if not found then
    return '{}';
  end if;
  select x.failed_run_id into failed from troupe.threads x where x.id = t.chat_thread_id for update;
  message := jsonb_build_object('id', troupe.id_from(v_run || ':message', v_run), 'role', 'system', 'content', jsonb_build_object('text', troupe.task_news(t, j.data)),
    'metadata', jsonb_build_object('task', about));
  -- A session that failed waits for a person.
  if silent or failed is not null then
    if not exists (select from troupe.messages m where m.id = (message->>'id')::uuid) then
      perform troupe.append(t.chat_thread_id, null, jsonb_build_array(message), jsonb_build_array(jsonb_build_object('type', 'message.created', 'message', 0,
        'data', jsonb_build_object('id', message->'id', 'role', 'system'))));
    end if;
    return jsonb_build_object('told', t.chat_thread_id, 'queued', false);
  end if;
  started := troupe.start(jsonb_build_object('project', t.project_id, 'thread', t.chat_thread_id, 'message', message || jsonb_build_object('run', v_run),
    'run', v_how || jsonb_build_object('triggerType', 'message', 'serial', true, 'trigger', jsonb_build_object('task', about))));
  return jsonb_build_object('told', t.chat_thread_id, 'queued', coalesce((started->>'ready')::boolean, false));
end $function$;

CREATE OR REPLACE FUNCTION troupe.tell_spaces()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  ended boolean := new.status in ('completed', 'failed', 'canceled');
  types text[] := case
    when new.status = 'running' and old.started_at is null then '{run.started,agent.active}'
    when new.status = 'running' then '{run.resumed}'
    when new.status = 'waiting_tool' then '{run.waiting_tool}'
    when new.status = 'waiting_reply' then '{run.waiting_reply}'
    when new.status = 'queued' and old.status in ('failed', 'canceled') then '{run.queued,agent.active}'
    when new.status = 'completed' then '{run.completed,agent.inactive}'
    when new.status = 'failed' then '{run.failed,agent.inactive}'
    when new.status = 'canceled' then array[case when new.absorbed_by is null then 'run.canceled' else 'run.absorbed' end, 'agent.inactive'] end;
  about jsonb; space uuid; shown record;
begin
  if types is not null and (new.space_id is not null or new.active_space_id is not null) then
    about := jsonb_build_object('entityId', new.entity_id, 'agentName', (select e.display_name from troupe.entities e where e.id = new.entity_id))
      || case new.status when 'failed' then jsonb_build_object('code', new.error->'code', 'message', new.error->'message')
        when 'canceled' then jsonb_strip_nulls(jsonb_build_object('reason', new.cancel_reason, 'absorbedBy', new.absorbed_by))
        when 'completed' then jsonb_build_object('silent', coalesce(new.outcome->'silent', 'false')) else '{}' end;
    for space in select s.id from troupe.spaces s where s.id in (new.space_id, new.active_space_id) order by s.id loop
      perform troupe.append(space, new.id, null, (select jsonb_agg(jsonb_build_object('type', t, 'data', about)) from unnest(types) t));
    end loop;
  end if;
  if not ended then
    return null;
  end if;
  delete from troupe.reply_waits w where w.run_id = new.id;
  if new.status = 'completed' then
    for shown in select x.space_id, x.seqs from troupe.run_shown x where x.run_id = new.id order by x.space_id loop
      perform troupe.see(shown.space_id, new.entity_id, shown.seqs);
    end loop;
  elsif new.absorbed_by is not null then
    -- What it was shown, and the messages that it was to answer, are its absorber's from here on.
    insert into troupe.run_shown as x (run_id, space_id, seqs)
      select new.absorbed_by, t.space_id, range_agg(t.seqs) from (
        select y.space_id, y.seqs from troupe.run_shown y where y.run_id = new.id
        union all
        select new.space_id, int8multirange(int8range((new.trigger->>'sequence')::bigint, (new.trigger->>'sequence')::bigint, '[]'))
          where new.space_id is not null and new.trigger ? 'sequence'
        union all
        select m.thread_id, int8multirange(int8range(m.seq, m.seq, '[]')) from troupe.folded_messages f join troupe.messages m on m.id = f.message_id
          where f.run_id = new.id) t
      group by t.space_id
      on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.tell_unsaid()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  r troupe.runs; v_space uuid; v_message uuid := troupe.id_from(new.run_id || ':' || new.call_id);
begin
  select * into r from troupe.runs x where x.id = new.run_id;
  if r.door <> 'space' or exists (select from troupe.messages m where m.id = v_message) then
    return null;
  end if;
  v_space := troupe.space_of_call(new.run_id, new.call_id);
  if exists (select from troupe.memberships m where m.space_id = v_space and m.entity_id = r.entity_id) then
    perform troupe.append(v_space, new.run_id, null, jsonb_build_array(jsonb_build_object('type', 'message.failed', 'step', new.step, 'data', jsonb_build_object(
      'streamId', v_message, 'entityId', r.entity_id, 'code', coalesce(new.error->>'code', new.output->>'code', new.status::text),
      'message', coalesce(new.error->>'message', new.output->>'error', new.status::text)))));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION troupe.tool_call_document(c troupe.tool_calls)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when (p).sub_agent_id is not null then troupe.tool_call_document(c, p) end
  from (select troupe.place_of_thread(r.thread_id) as p from troupe.runs r where r.id = c.run_id and r.task_id is not null offset 0) x
$function$;

CREATE OR REPLACE FUNCTION troupe.tool_call_document(c troupe.tool_calls, p troupe.place)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object('id', troupe.call_document_id(c.run_id, c.call_id), 'userId', coalesce((p).user_id::text, ''), 'chatId', (p).chat_id, 'subAgentId', (p).sub_agent_id,
    'runId', c.run_id, 'callId', c.call_id, 'step', c.step, 'toolName', c.tool,
    'status', case when c.status in ('requested', 'running') then 'pending' when c.status = 'completed' then 'success' else 'failed' end,
    'result', case when c.status = 'completed' then coalesce(c.output #>> '{}', '') end,
    'error', case when c.status not in ('requested', 'running', 'completed') then coalesce(c.error->>'message', c.status::text) end,
    'createdAt', troupe.milliseconds(c.created_at))) || jsonb_build_object('args', c.args)
$function$;

CREATE OR REPLACE FUNCTION troupe.tool_call_path(c troupe.tool_calls)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case when (p).sub_agent_id is not null then troupe.chat_path((p).user_id, (p).chat_id, 'sub-agents/' || (p).sub_agent_id || '/tool-calls') end
  from (select troupe.place_of_thread(r.thread_id) as p from troupe.runs r where r.id = c.run_id and r.task_id is not null offset 0) x
$function$;

CREATE OR REPLACE FUNCTION troupe.trigger_depth(p_run uuid)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  r troupe.runs; m troupe.messages; above uuid := p_run; depth int;
begin
  for i in 1..50 loop
    exit when above is null;
    select * into r from troupe.runs x where x.id = above;
    if not found then
      return 0;
    end if;
    m := null;
    if r.trigger_message_id is not null then
      select * into m from troupe.messages x where x.id = r.trigger_message_id;
    end if;
    depth := coalesce(troupe.noted_depth(r.metadata), troupe.noted_depth(m.metadata));
    if depth is not null then
      return depth;
    end if;
    above := coalesce(m.run_id, r.parent_run_id, nullif(r.root_run_id, r.id));
  end loop;
  return 0;
end $function$;

CREATE OR REPLACE FUNCTION troupe.update_space(p_project uuid, p_space uuid, p_by uuid, p_changes jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  old troupe.spaces; new troupe.spaces; fields jsonb;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  select * into old from troupe.spaces s where s.id = p_space;
  new := jsonb_populate_record(old, p_changes);
  select coalesce(jsonb_agg(distinct case when key in ('chain_depth', 'agent_runs') then 'limits' else key end), '[]') into fields
    from jsonb_object_keys(p_changes) key where to_jsonb(new)->key is distinct from to_jsonb(old)->key;
  if fields <> '[]' then
    update troupe.spaces s set name = new.name, description = new.description, policy = new.policy, chain_depth = new.chain_depth, agent_runs = new.agent_runs,
      metadata = new.metadata, updated_at = now() where s.id = p_space;
    perform troupe.append(p_space, null, null, jsonb_build_array(jsonb_build_object('type', 'space.updated', 'data',
      jsonb_build_object('name', new.name, 'policy', new.policy, 'fields', fields))));
  end if;
  return jsonb_build_object('ok', true, 'changed', fields <> '[]');
end $function$;

CREATE OR REPLACE FUNCTION troupe.user_of_message(m troupe.messages)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select o.sender_id from troupe.runs r join troupe.messages o on o.id = r.origin_id and o.thread_id = m.thread_id where r.id = m.run_id), m.sender_id,
    (select r.entity_id from troupe.runs r where r.id = m.run_id))
$function$;

CREATE OR REPLACE FUNCTION troupe.wait_for_task(p_run troupe.runs, p_call troupe.tool_calls, p_deadline_ms bigint, p_child uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update troupe.tool_calls x set status = 'requested', waits_for = 'task', deadline = now() + make_interval(secs => p_deadline_ms::float8 / 1000)
    where x.run_id = p_run.id and x.call_id = p_call.call_id;
  update troupe.runs x set open_calls = x.open_calls + 1, updated_at = now() where x.id = p_run.id;
  perform troupe.append(p_run.thread_id, p_run.id, null, jsonb_build_array(jsonb_build_object('type', 'tool.waiting', 'step', p_call.step,
    'data', jsonb_build_object('id', p_call.call_id, 'tool', p_call.tool, 'waitsFor', 'task', 'deadlineMs', p_deadline_ms, 'runId', p_child))));
end $function$;

CREATE OR REPLACE FUNCTION troupe.worker_lock(incarnation uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select hashtextextended('troupe.worker:' || incarnation::text, 0)
$function$;

CREATE OR REPLACE FUNCTION troupe.write_file(p_thread uuid, p_run uuid, p_epoch integer, p_worker uuid, p_path text, p_content bytea, p_type text, p_most_files integer, p_most_bytes bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  refused text := troupe.open_files(p_thread, p_run, p_epoch, p_worker);
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  return troupe.put_file(p_thread, p_path, p_content, p_type, p_most_files, p_most_bytes);
end $function$;

CREATE INDEX agent_tools_tool ON troupe.agent_tools USING btree (tool_id);
CREATE UNIQUE INDEX agents_name ON troupe.agents USING btree (project_id, troupe.folded(name));
CREATE INDEX agents_newest ON troupe.agents USING btree (project_id, id DESC);
CREATE INDEX agents_tags ON troupe.agents USING gin (tags);
CREATE INDEX api_keys_project ON troupe.api_keys USING btree (project_id, id);
CREATE INDEX audit_log_project ON troupe.audit_log USING btree (project_id, id DESC);
CREATE INDEX budgets_xid ON troupe.budgets USING btree (xid);
CREATE INDEX changes_path ON troupe.changes USING btree (path, id);
CREATE INDEX clients_entity ON troupe.clients USING btree (entity_id, id DESC);
CREATE INDEX ended_runs_oldest ON troupe.ended_runs USING btree (ended_at);
CREATE UNIQUE INDEX entities_external ON troupe.entities USING btree (project_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX folded_messages_run ON troupe.folded_messages USING btree (run_id);
CREATE INDEX folded_messages_space ON troupe.folded_messages USING btree (space_id);
CREATE INDEX goals_owner ON troupe.goals USING btree (entity_id, owner_id, priority, id);
CREATE INDEX idempotency_keys_age ON troupe.idempotency_keys USING btree (created_at);
CREATE UNIQUE INDEX llm_models_default ON troupe.llm_models USING btree (project_id) WHERE is_default;
CREATE UNIQUE INDEX llm_providers_name ON troupe.llm_providers USING btree (project_id, troupe.folded(name));
CREATE UNIQUE INDEX mcp_servers_name ON troupe.mcp_servers USING btree (project_id, troupe.folded(name));
CREATE INDEX mcp_servers_newest ON troupe.mcp_servers USING btree (project_id, id DESC);
CREATE INDEX memberships_entity ON troupe.memberships USING btree (entity_id);
CREATE INDEX memberships_xid ON troupe.memberships USING btree (xid);
CREATE UNIQUE INDEX messages_id ON troupe.messages USING btree (id);
CREATE INDEX messages_xid ON troupe.messages USING brin (xid) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX network_agent_tools_tool ON troupe.network_agent_tools USING btree (network_id, tool_id);
CREATE INDEX network_agents_agent ON troupe.network_agents USING btree (agent_id) WHERE (agent_id IS NOT NULL);
CREATE UNIQUE INDEX network_agents_default ON troupe.network_agents USING btree (network_id) WHERE is_default;
CREATE UNIQUE INDEX network_agents_key ON troupe.network_agents USING btree (network_id, lower(key));
CREATE INDEX network_batch_items_open ON troupe.network_batch_items USING btree (batch_id, row_number, iteration) WHERE (status = ANY (ARRAY['pending'::text, 'queued'::text, 'running'::text]));
CREATE INDEX network_batches_newest ON troupe.network_batches USING btree (project_id, network_id, id DESC);
CREATE INDEX network_routes_to ON troupe.network_routes USING btree (network_id, to_id);
CREATE INDEX network_tools_tool ON troupe.network_tools USING btree (tool_id);
CREATE UNIQUE INDEX networks_name ON troupe.networks USING btree (project_id, troupe.folded(name));
CREATE INDEX networks_newest ON troupe.networks USING btree (project_id, id DESC);
CREATE INDEX plans_agent ON troupe.plans USING btree (agent_id, id DESC);
CREATE INDEX plans_due ON troupe.plans USING btree (next_run_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX plans_name ON troupe.plans USING btree (entity_id, troupe.folded(name));
CREATE UNIQUE INDEX projects_name ON troupe.projects USING btree (troupe.folded(name));
CREATE INDEX reply_waits_space ON troupe.reply_waits USING btree (space_id);
CREATE INDEX run_prompts_age ON troupe.run_prompts USING brin (created_at) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX run_prompts_space ON troupe.run_prompts USING btree (space_id) WHERE (space_id IS NOT NULL);
CREATE INDEX run_shown_space ON troupe.run_shown USING btree (space_id);
CREATE INDEX run_steps_budgeted ON troupe.run_steps USING btree (worker_id) WHERE budgeted;
CREATE INDEX runs_active_space ON troupe.runs USING btree (active_space_id) WHERE ((active_space_id IS NOT NULL) AND (status = ANY (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status, 'waiting_tool'::troupe.run_status, 'waiting_reply'::troupe.run_status])));
CREATE INDEX runs_blocked ON troupe.runs USING btree (thread_id, trigger_seq) WHERE ((status = 'queued'::troupe.run_status) AND (NOT ready));
CREATE UNIQUE INDEX runs_children ON troupe.runs USING btree (parent_run_id, parent_call_id) WHERE (parent_call_id IS NOT NULL);
CREATE INDEX runs_ended ON troupe.runs USING btree (project_id, status, COALESCE(completed_at, canceled_at)) INCLUDE (id, agent_id, network_id, created_at, completed_at, canceled_at, input_tokens, output_tokens, cost) WHERE (status = ANY (ARRAY['completed'::troupe.run_status, 'failed'::troupe.run_status, 'canceled'::troupe.run_status]));
CREATE INDEX runs_held ON troupe.runs USING btree (worker_id) WHERE (status = 'running'::troupe.run_status);
CREATE INDEX runs_lane ON troupe.runs USING btree (lane, run_at) WHERE ((status = ANY (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status])) AND (lane IS NOT NULL));
CREATE INDEX runs_lane_waiting ON troupe.runs USING btree (lane) WHERE ((lane IS NOT NULL) AND (status = 'waiting_tool'::troupe.run_status));
CREATE INDEX runs_network ON troupe.runs USING btree (network_id, id DESC) WHERE (network_id IS NOT NULL);
CREATE INDEX runs_of_agent ON troupe.runs USING btree (entity_id, id DESC) WHERE (door = 'space'::text);
CREATE INDEX runs_of_root ON troupe.runs USING btree (root_run_id) WHERE (parent_call_id IS NOT NULL);
CREATE INDEX runs_origin ON troupe.runs USING btree (origin_id) WHERE ((origin_id IS NOT NULL) AND (chain_depth > 0));
CREATE INDEX runs_project ON troupe.runs USING btree (project_id, id);
CREATE INDEX runs_queued ON troupe.runs USING btree (run_at) WHERE ((status = 'queued'::troupe.run_status) AND ready AND (lane IS NULL) AND (code_tools IS NULL));
CREATE INDEX runs_queued_code ON troupe.runs USING btree (code_tools, run_at) WHERE ((status = 'queued'::troupe.run_status) AND ready AND (lane IS NULL) AND (code_tools IS NOT NULL));
CREATE INDEX runs_sealed ON troupe.runs USING btree (id) WHERE (sealed IS NOT NULL);
CREATE INDEX runs_space ON troupe.runs USING btree (space_id, id) WHERE (space_id IS NOT NULL);
CREATE INDEX runs_space_live ON troupe.runs USING btree (space_id) WHERE ((space_id IS NOT NULL) AND (status = ANY (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status, 'waiting_tool'::troupe.run_status, 'waiting_reply'::troupe.run_status])));
CREATE INDEX runs_task ON troupe.runs USING btree (task_id, id) WHERE (task_id IS NOT NULL);
CREATE INDEX runs_tasks_of_root ON troupe.runs USING btree (root_run_id) WHERE ((task_id IS NOT NULL) AND (parent_call_id IS NULL));
CREATE INDEX runs_thread ON troupe.runs USING btree (thread_id, created_at DESC);
CREATE UNIQUE INDEX runs_trigger ON troupe.runs USING btree (entity_id, trigger_message_id) WHERE (trigger_message_id IS NOT NULL);
CREATE INDEX runs_waiting ON troupe.runs USING btree (wait_deadline) WHERE (status = ANY (ARRAY['waiting_tool'::troupe.run_status, 'waiting_reply'::troupe.run_status]));
CREATE INDEX runs_xid ON troupe.runs USING btree (xid);
CREATE INDEX sessions_agent ON troupe.sessions USING btree (agent_id, id DESC);
CREATE INDEX sessions_entity ON troupe.sessions USING btree (entity_id, id DESC);
CREATE INDEX sessions_project ON troupe.sessions USING btree (project_id, created_at DESC);
CREATE INDEX sessions_xid ON troupe.sessions USING btree (xid);
CREATE INDEX spaces_project ON troupe.spaces USING btree (project_id, id DESC);
CREATE INDEX spaces_xid ON troupe.spaces USING btree (xid);
CREATE INDEX sub_agents_project ON troupe.sub_agents USING btree (project_id, id DESC);
CREATE UNIQUE INDEX sub_agents_task ON troupe.sub_agents USING btree (task_id);
CREATE INDEX sub_agents_user ON troupe.sub_agents USING btree (user_id, xid);
CREATE INDEX sub_agents_xid ON troupe.sub_agents USING btree (xid);
CREATE INDEX tasks_chat ON troupe.tasks USING btree (chat_id, id DESC);
CREATE INDEX tasks_parent ON troupe.tasks USING btree (parent_task_id) WHERE (parent_task_id IS NOT NULL);
CREATE INDEX tasks_project ON troupe.tasks USING btree (project_id, id DESC);
CREATE INDEX tasks_run ON troupe.tasks USING btree (run_id);
CREATE INDEX tasks_trigger_message ON troupe.tasks USING btree (trigger_message_id);
CREATE INDEX tasks_user ON troupe.tasks USING btree (user_id, xid);
CREATE INDEX tasks_xid ON troupe.tasks USING btree (xid);
CREATE INDEX tombstones_entity ON troupe.tombstones USING btree (entity_id, collection, xid) WHERE (entity_id IS NOT NULL);
CREATE INDEX tombstones_gone_at ON troupe.tombstones USING brin (gone_at) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX tombstones_place ON troupe.tombstones USING btree (place_id, collection, xid) WHERE (place_id IS NOT NULL);
CREATE INDEX tombstones_project ON troupe.tombstones USING btree (project_id, collection, xid);
CREATE INDEX tombstones_xid ON troupe.tombstones USING btree (xid);
CREATE INDEX tool_calls_waiting ON troupe.tool_calls USING btree (run_id) WHERE (waits_for IS NOT NULL);
CREATE INDEX tool_calls_xid ON troupe.tool_calls USING brin (xid) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX tools_mcp_server ON troupe.tools USING btree (mcp_server_id) WHERE (mcp_server_id IS NOT NULL);
CREATE UNIQUE INDEX tools_name ON troupe.tools USING btree (project_id, lower(name));
CREATE INDEX tools_newest ON troupe.tools USING btree (project_id, id DESC);
CREATE INDEX trigger_deliveries_chat ON troupe.trigger_deliveries USING btree (chat_id) WHERE (chat_id IS NOT NULL);
CREATE INDEX trigger_deliveries_dead ON troupe.trigger_deliveries USING btree (trigger_id) WHERE (status = 'dead'::text);
CREATE INDEX trigger_deliveries_document ON troupe.trigger_deliveries USING btree (project_id, document_id, id DESC);
CREATE INDEX trigger_deliveries_due ON troupe.trigger_deliveries USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX trigger_deliveries_ended ON troupe.trigger_deliveries USING btree (ended_at) WHERE (status = ANY (ARRAY['delivered'::text, 'dead'::text]));
CREATE INDEX trigger_deliveries_leased ON troupe.trigger_deliveries USING btree (lease_until) WHERE (status = 'sending'::text);
CREATE INDEX trigger_deliveries_made ON troupe.trigger_deliveries USING btree (trigger_id, ended_at) WHERE (status = 'delivered'::text);
CREATE INDEX trigger_deliveries_newest ON troupe.trigger_deliveries USING btree (project_id, id DESC);
CREATE INDEX trigger_deliveries_of ON troupe.trigger_deliveries USING btree (trigger_id, id DESC);
CREATE INDEX trigger_deliveries_order ON troupe.trigger_deliveries USING btree (trigger_id, path, change_id) WHERE (status = ANY (ARRAY['pending'::text, 'sending'::text]));
CREATE INDEX trigger_deliveries_path ON troupe.trigger_deliveries USING btree (project_id, path, id DESC);
CREATE INDEX trigger_deliveries_sending ON troupe.trigger_deliveries USING btree (trigger_id) WHERE (status = 'sending'::text);
CREATE INDEX trigger_deliveries_user ON troupe.trigger_deliveries USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE UNIQUE INDEX triggers_name ON troupe.triggers USING btree (project_id, lower(name));

CREATE TRIGGER agents_keep BEFORE DELETE ON troupe.agents FOR EACH ROW EXECUTE FUNCTION troupe.keep_used('agent_id');

CREATE TRIGGER audit_log_final BEFORE DELETE OR UPDATE ON troupe.audit_log FOR EACH ROW EXECUTE FUNCTION troupe.audit_is_final();

CREATE TRIGGER audit_log_kept BEFORE TRUNCATE ON troupe.audit_log FOR EACH STATEMENT EXECUTE FUNCTION troupe.audit_is_final();

CREATE TRIGGER compiled_snapshots_code_tools BEFORE INSERT ON troupe.compiled_snapshots FOR EACH ROW EXECUTE FUNCTION troupe.find_code_tools();

CREATE TRIGGER compiled_snapshots_keep BEFORE DELETE ON troupe.compiled_snapshots FOR EACH ROW EXECUTE FUNCTION troupe.keep_used('snapshot_id');

CREATE TRIGGER entities_erase AFTER DELETE ON troupe.entities FOR EACH ROW EXECUTE FUNCTION troupe.erase_deliveries();

CREATE TRIGGER entities_keep BEFORE DELETE ON troupe.entities FOR EACH ROW EXECUTE FUNCTION troupe.keep_used('entity_id');

CREATE TRIGGER entities_stamp AFTER UPDATE OF display_name, external_id ON troupe.entities FOR EACH ROW WHEN (((old.display_name IS DISTINCT FROM new.display_name) OR (old.external_id IS DISTINCT FROM new.external_id))) EXECUTE FUNCTION troupe.stamp_memberships();

CREATE TRIGGER memberships_bury AFTER DELETE ON troupe.memberships FOR EACH ROW EXECUTE FUNCTION troupe.bury();

CREATE TRIGGER memberships_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.memberships FOR EACH ROW EXECUTE FUNCTION troupe.capture_memberships();

CREATE TRIGGER memberships_stamp BEFORE UPDATE ON troupe.memberships FOR EACH ROW WHEN (((old.role IS DISTINCT FROM new.role) OR (old.ordering IS DISTINCT FROM new.ordering) OR (old.last_seen_message_id IS DISTINCT FROM new.last_seen_message_id) OR (old.last_processed_message_id IS DISTINCT FROM new.last_processed_message_id))) EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER messages_bury AFTER DELETE ON troupe.messages REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION troupe.bury_messages();

CREATE CONSTRAINT TRIGGER messages_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.messages DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION troupe.capture_messages();

CREATE TRIGGER messages_stamp BEFORE UPDATE ON troupe.messages FOR EACH ROW EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER plans_arm AFTER INSERT OR DELETE OR UPDATE ON troupe.plans FOR EACH ROW EXECUTE FUNCTION troupe.plan_armed();

CREATE TRIGGER projects_keep BEFORE DELETE ON troupe.projects FOR EACH ROW EXECUTE FUNCTION troupe.keep_used('project_id');

CREATE TRIGGER runs_bury AFTER DELETE ON troupe.runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION troupe.bury_runs();

CREATE TRIGGER runs_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.runs FOR EACH ROW EXECUTE FUNCTION troupe.capture_runs();

CREATE TRIGGER runs_check BEFORE INSERT OR UPDATE OF status, worker_id, wait_deadline, completed_at, cancel_reason, error, open_calls ON troupe.runs FOR EACH ROW EXECUTE FUNCTION troupe.check_run();

CREATE TRIGGER runs_code_tools BEFORE INSERT OR UPDATE OF snapshot_id ON troupe.runs FOR EACH ROW EXECUTE FUNCTION troupe.set_code_tools();

CREATE TRIGGER runs_end_tasks AFTER UPDATE OF status ON troupe.runs FOR EACH ROW WHEN ((((new.network_id IS NOT NULL) OR (new.trigger_type = 'fork'::text)) AND (new.parent_call_id IS NULL) AND (new.status IS DISTINCT FROM old.status) AND (new.status = ANY (ARRAY['completed'::troupe.run_status, 'failed'::troupe.run_status, 'canceled'::troupe.run_status])))) EXECUTE FUNCTION troupe.end_tasks();

CREATE TRIGGER runs_follow AFTER UPDATE OF status ON troupe.runs FOR EACH ROW WHEN (((new.task_id IS NOT NULL) AND (new.status IS DISTINCT FROM old.status))) EXECUTE FUNCTION troupe.follow_run();

CREATE TRIGGER runs_join AFTER UPDATE OF status ON troupe.runs FOR EACH ROW WHEN (((new.parent_call_id IS NOT NULL) AND (new.status IS DISTINCT FROM old.status) AND (new.status = ANY (ARRAY['completed'::troupe.run_status, 'failed'::troupe.run_status, 'canceled'::troupe.run_status])))) EXECUTE FUNCTION troupe.note_join();

CREATE TRIGGER runs_live_again BEFORE UPDATE OF status ON troupe.runs FOR EACH ROW WHEN (((old.status = ANY (ARRAY['failed'::troupe.run_status, 'canceled'::troupe.run_status])) AND (new.status = 'queued'::troupe.run_status))) EXECUTE FUNCTION troupe.live_again();

CREATE TRIGGER runs_note_end AFTER UPDATE OF status ON troupe.runs FOR EACH ROW WHEN (((new.status = ANY (ARRAY['failed'::troupe.run_status, 'canceled'::troupe.run_status])) AND (old.status <> new.status))) EXECUTE FUNCTION troupe.note_end();

CREATE TRIGGER runs_stamp BEFORE UPDATE ON troupe.runs FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.step IS DISTINCT FROM new.step) OR (old.active_space_id IS DISTINCT FROM new.active_space_id) OR (old.absorbed_by IS DISTINCT FROM new.absorbed_by) OR (old.cancel_reason IS DISTINCT FROM new.cancel_reason) OR (old.cost IS DISTINCT FROM new.cost) OR (old.input_tokens IS DISTINCT FROM new.input_tokens) OR (old.output_tokens IS DISTINCT FROM new.output_tokens) OR (old.completed_at IS DISTINCT FROM new.completed_at) OR (old.task_id IS DISTINCT FROM new.task_id))) EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER runs_tell AFTER UPDATE ON troupe.runs FOR EACH ROW WHEN (((new.door = 'space'::text) AND (new.status IS DISTINCT FROM old.status))) EXECUTE FUNCTION troupe.tell_spaces();

CREATE TRIGGER runs_tell_batch AFTER UPDATE OF status ON troupe.runs FOR EACH ROW WHEN (((new.lane ~~ 'batch:%'::text) AND (new.status IS DISTINCT FROM old.status))) EXECUTE FUNCTION troupe.tell_batch();

CREATE TRIGGER forget_budgets AFTER DELETE ON troupe.sessions FOR EACH ROW EXECUTE FUNCTION troupe.forget_budgets('session');

CREATE TRIGGER sessions_bury AFTER DELETE ON troupe.sessions FOR EACH ROW EXECUTE FUNCTION troupe.bury();

CREATE TRIGGER sessions_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.sessions FOR EACH ROW EXECUTE FUNCTION troupe.capture_sessions();

CREATE TRIGGER sessions_erase AFTER DELETE ON troupe.sessions FOR EACH ROW EXECUTE FUNCTION troupe.erase_deliveries();

CREATE TRIGGER sessions_stamp BEFORE UPDATE ON troupe.sessions FOR EACH ROW EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER forget_budgets AFTER DELETE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.forget_budgets('space');

CREATE TRIGGER spaces_bury AFTER DELETE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.bury();

CREATE TRIGGER spaces_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.capture_spaces();

CREATE TRIGGER spaces_end_tasks AFTER DELETE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.end_tasks_of_space();

CREATE TRIGGER spaces_erase AFTER DELETE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.erase_deliveries();

CREATE TRIGGER spaces_forget_prompts AFTER DELETE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.forget_prompts();

CREATE TRIGGER spaces_stamp BEFORE UPDATE ON troupe.spaces FOR EACH ROW EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER sub_agents_bury AFTER DELETE ON troupe.sub_agents FOR EACH ROW EXECUTE FUNCTION troupe.bury();

CREATE TRIGGER sub_agents_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.sub_agents FOR EACH ROW EXECUTE FUNCTION troupe.capture_sub_agents();

CREATE TRIGGER sub_agents_stamp BEFORE INSERT OR UPDATE ON troupe.sub_agents FOR EACH ROW EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER tasks_bury AFTER DELETE ON troupe.tasks FOR EACH ROW EXECUTE FUNCTION troupe.bury();

CREATE TRIGGER tasks_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.tasks FOR EACH ROW EXECUTE FUNCTION troupe.capture_tasks();

CREATE TRIGGER tasks_note AFTER INSERT ON troupe.tasks FOR EACH ROW WHEN ((new.chat_thread_id IS NOT NULL)) EXECUTE FUNCTION troupe.note_task();

CREATE TRIGGER tasks_note_change AFTER UPDATE OF status, question ON troupe.tasks FOR EACH ROW WHEN (((new.chat_thread_id IS NOT NULL) AND ((new.status IS DISTINCT FROM old.status) OR (new.question IS DISTINCT FROM old.question)))) EXECUTE FUNCTION troupe.note_task();

CREATE TRIGGER tasks_stamp BEFORE INSERT OR UPDATE ON troupe.tasks FOR EACH ROW EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER tool_calls_answer AFTER UPDATE OF waits_for ON troupe.tool_calls FOR EACH ROW WHEN ((((old.waits_for)::text = 'answer'::text) AND (new.waits_for IS NULL))) EXECUTE FUNCTION troupe.note_answer();

CREATE TRIGGER tool_calls_bury AFTER DELETE ON troupe.tool_calls REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION troupe.bury_tool_calls();

CREATE TRIGGER tool_calls_capture AFTER INSERT OR DELETE OR UPDATE ON troupe.tool_calls FOR EACH ROW EXECUTE FUNCTION troupe.capture_tool_calls();

CREATE TRIGGER tool_calls_join AFTER UPDATE OF waits_for ON troupe.tool_calls FOR EACH ROW WHEN (((old.waits_for = 'task'::troupe.waits_for) AND (new.waits_for IS NULL) AND (NOT ((new.status = ANY (ARRAY['completed'::troupe.call_status, 'failed'::troupe.call_status])) AND COALESCE((new.settled_by ~~ 'run:%'::text), false))))) EXECUTE FUNCTION troupe.note_join();

CREATE TRIGGER tool_calls_join_gone AFTER DELETE ON troupe.tool_calls FOR EACH ROW WHEN ((old.waits_for = 'task'::troupe.waits_for)) EXECUTE FUNCTION troupe.note_join();

CREATE TRIGGER tool_calls_note AFTER UPDATE OF waits_for ON troupe.tool_calls FOR EACH ROW WHEN (((new.waits_for = ANY (ARRAY['client'::troupe.waits_for, 'approval'::troupe.waits_for, 'person'::troupe.waits_for])) AND (old.waits_for IS DISTINCT FROM new.waits_for))) EXECUTE FUNCTION troupe.note_waiting();

CREATE TRIGGER tool_calls_note_new AFTER INSERT ON troupe.tool_calls FOR EACH ROW WHEN ((new.waits_for = ANY (ARRAY['client'::troupe.waits_for, 'approval'::troupe.waits_for, 'person'::troupe.waits_for]))) EXECUTE FUNCTION troupe.note_waiting();

CREATE TRIGGER tool_calls_show AFTER UPDATE OF status ON troupe.tool_calls FOR EACH ROW WHEN ((new.shown IS NOT NULL)) EXECUTE FUNCTION troupe.show_call();

CREATE TRIGGER tool_calls_show_first AFTER INSERT ON troupe.tool_calls FOR EACH ROW WHEN ((new.shown IS NOT NULL)) EXECUTE FUNCTION troupe.show_call();

CREATE TRIGGER tool_calls_stamp BEFORE UPDATE OF status, args ON troupe.tool_calls FOR EACH ROW EXECUTE FUNCTION troupe.stamp_xid();

CREATE TRIGGER tool_calls_unsaid AFTER UPDATE OF status ON troupe.tool_calls FOR EACH ROW WHEN (((new.tool = 'send_message'::text) AND (new.status <> old.status) AND ((new.status = ANY (ARRAY['failed'::troupe.call_status, 'canceled'::troupe.call_status, 'expired'::troupe.call_status, 'in_doubt'::troupe.call_status])) OR (new.output @> '{"success": false}'::jsonb)))) EXECUTE FUNCTION troupe.tell_unsaid();

CREATE TRIGGER tool_calls_unsaid_first AFTER INSERT ON troupe.tool_calls FOR EACH ROW WHEN (((new.tool = 'send_message'::text) AND (new.status = 'failed'::troupe.call_status))) EXECUTE FUNCTION troupe.tell_unsaid();

alter table troupe.memberships disable trigger memberships_capture;

alter table troupe.messages disable trigger messages_capture;

alter table troupe.runs disable trigger runs_capture;

alter table troupe.sessions disable trigger sessions_capture;

alter table troupe.spaces disable trigger spaces_capture;

alter table troupe.sub_agents disable trigger sub_agents_capture;

alter table troupe.tasks disable trigger tasks_capture;

alter table troupe.tool_calls disable trigger tool_calls_capture;
