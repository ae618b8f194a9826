-- The tables of the schema `troupe` after all migrations. Written by `npm run schema`; do not edit.
-- Functions and triggers are in functions/.
create schema troupe;

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
  id uuid not null, agent_id uuid not null, capability_id text not null, "position" integer not null,
  config jsonb not null default '{}'::jsonb, created_at timestamp with time zone not null default now(),
  constraint agent_capabilities_pkey PRIMARY KEY (id),
  constraint agent_capabilities_agent_id_capability_id_key UNIQUE (agent_id, capability_id),
  constraint agent_capabilities_agent_id_position_key UNIQUE (agent_id, "position") DEFERRABLE INITIALLY DEFERRED,
  constraint agent_capabilities_capability_id_check CHECK (((length(capability_id) >= 1) AND (length(capability_id) <=
    50))),
  constraint agent_capabilities_position_check CHECK (("position" >= 0))
);

create table troupe.agent_tools (
  agent_id uuid not null, tool_id uuid not null, "position" integer not null,
  constraint agent_tools_pkey PRIMARY KEY (agent_id, tool_id),
  constraint agent_tools_agent_id_position_key UNIQUE (agent_id, "position") DEFERRABLE INITIALLY DEFERRED,
  constraint agent_tools_position_check CHECK (("position" >= 0))
);

create table troupe.agent_versions (
  agent_id uuid not null, version integer not null, snapshot_id uuid not null, definition jsonb not null, notes text,
  created_at timestamp with time zone not null default now(),
  constraint agent_versions_pkey PRIMARY KEY (agent_id, version),
  constraint agent_versions_version_check CHECK ((version > 0))
);

create table troupe.agents (
  id uuid not null, project_id uuid not null, name text not null, status text not null default 'active'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), description text,
  system_prompt text not null default ''::text, default_model_id uuid, tags text[] not null default '{}'::text[],
  config jsonb not null default '{}'::jsonb, version integer not null default 0,
  constraint agents_pkey PRIMARY KEY (id),
  constraint agents_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint agents_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text])))
);

create table troupe.api_keys (
  id uuid not null, project_id uuid not null, name text not null, kind text not null, prefix text not null,
  hash bytea not null, scopes text[] not null default '{}'::text[], expires_at timestamp with time zone,
  last_used_at timestamp with time zone, revoked_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_hash_key UNIQUE (hash),
  constraint api_keys_hash_check CHECK ((length(hash) = 32)),
  constraint api_keys_kind_check CHECK ((kind = ANY (ARRAY['secret'::text, 'public'::text]))),
  constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

create table troupe.audit_log (
  id bigint not null generated always as identity, project_id uuid not null, actor_kind text not null, actor_id text,
  action text not null, target text, data jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'dev'::text,
    'system'::text])))
);

create table troupe.budget_leases (
  budget_id uuid not null, worker_id uuid not null, granted bigint not null default 0,
  spent bigint not null default 0, returned bigint not null default 0,
  constraint budget_leases_pkey PRIMARY KEY (budget_id, worker_id),
  constraint budget_leases_returned_check CHECK ((returned >= 0)),
  constraint budget_leases_spent_check CHECK ((spent >= 0))
);

create table troupe.budgets (
  id uuid not null, project_id uuid not null, scope text not null, scope_id uuid not null, unit text not null,
  amount bigint not null, spent bigint not null default 0, leased bigint not null default 0,
  on_exhausted text not null default 'stop'::text, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), xid bigint not null default troupe.stamp(),
  constraint budgets_pkey PRIMARY KEY (id),
  constraint budgets_scope_scope_id_unit_key UNIQUE (scope, scope_id, unit),
  constraint budgets_amount_check CHECK ((amount >= 0)),
  constraint budgets_leased_check CHECK ((leased >= 0)),
  constraint budgets_on_exhausted_check CHECK ((on_exhausted = ANY (ARRAY['stop'::text, 'fallback'::text,
    'wait'::text]))),
  constraint budgets_scope_check CHECK ((scope = ANY (ARRAY['project'::text, 'agent'::text, 'space'::text,
    'session'::text, 'run_tree'::text]))),
  constraint budgets_spent_check CHECK ((spent >= 0)),
  constraint budgets_unit_check CHECK ((unit = ANY (ARRAY['tokens'::text, 'cost'::text])))
);

create table troupe.captured (
  trigger_name text not null, table_name text not null, collections text[] not null,
  constraint captured_pkey PRIMARY KEY (trigger_name)
);

create table troupe.change_documents (
  change_id bigint not null, before jsonb, after jsonb,
  constraint change_documents_pkey PRIMARY KEY (change_id)
);

create table troupe.changes (
  id bigint not null generated always as identity, project_id uuid not null, collection text not null,
  path text not null, document_id text not null, user_id uuid, chat_id uuid, event text not null, before jsonb,
  after jsonb, depth integer not null, rules jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint changes_pkey PRIMARY KEY (id)
);

create table troupe.clients (
  id uuid not null, project_id uuid not null, entity_id uuid not null, client_key text not null, client_type text,
  display_name text, capabilities jsonb not null default '{}'::jsonb,
  last_seen_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint clients_pkey PRIMARY KEY (id),
  constraint clients_project_id_client_key_key UNIQUE (project_id, client_key),
  constraint clients_client_key_check CHECK (((length(client_key) >= 1) AND (length(client_key) <= 200)))
);

create table troupe.code_tools (
  names text[] not null, seen_at timestamp with time zone not null default now(),
  constraint code_tools_pkey PRIMARY KEY (names)
);

create table troupe.compiled_snapshots (
  id uuid not null, project_id uuid not null, checksum text not null, compiled jsonb not null,
  created_at timestamp with time zone not null default now(), code_tools text[],
  shared boolean not null default true,
  constraint compiled_snapshots_pkey PRIMARY KEY (id),
  constraint compiled_snapshots_checksum_check CHECK ((checksum ~ '^[0-9a-f]{64}$'::text))
);

create table troupe.deleted_threads (
  thread_id uuid not null,
  constraint deleted_threads_pkey PRIMARY KEY (thread_id)
);

create table troupe.doors (
  name text not null, cancel_events text[] not null,
  constraint doors_pkey PRIMARY KEY (name)
);

create unlogged table troupe.ended_runs (
  run_id uuid not null, lives integer not null, ended_at timestamp with time zone not null default now(),
  constraint ended_runs_pkey PRIMARY KEY (run_id, lives)
);

create table troupe.entities (
  id uuid not null, project_id uuid not null, type text not null, external_id text, display_name text, agent_id uuid,
  metadata jsonb not null default '{}'::jsonb, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint entities_pkey PRIMARY KEY (id),
  constraint entities_agent_id_key UNIQUE (agent_id),
  constraint entities_check CHECK (((type = 'agent'::text) = (agent_id IS NOT NULL))),
  constraint entities_type_check CHECK ((type = ANY (ARRAY['human'::text, 'agent'::text])))
);

create table troupe.erasures (
  entity_id uuid not null, project_id uuid not null, actor_kind text not null, actor_id text,
  counts jsonb not null default '{}'::jsonb, requested_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint erasures_pkey PRIMARY KEY (entity_id)
);

create table troupe.event_batches (
  thread_id uuid not null, last_seq bigint not null, message_seq bigint, run_id uuid,
  created_at timestamp with time zone not null default now(), entries json not null,
  constraint event_batches_pkey PRIMARY KEY (thread_id, last_seq)
);

create table troupe.file_totals (
  thread_id uuid not null, files integer not null default 0, bytes bigint not null default 0,
  constraint file_totals_pkey PRIMARY KEY (thread_id),
  constraint file_totals_bytes_check CHECK ((bytes >= 0)),
  constraint file_totals_files_check CHECK ((files >= 0))
);

create table troupe.files (
  thread_id uuid not null, path text not null, content bytea not null, type text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint files_pkey PRIMARY KEY (thread_id, path),
  constraint files_path_check CHECK (((path ~~ '/%'::text) AND ((length(path) >= 2) AND (length(path) <= 1000))))
);

create table troupe.findings (
  thread_id uuid not null, seq bigint not null generated always as identity, project_id uuid not null,
  run_id uuid not null, call_id text not null, question text not null, claim text not null, source text not null,
  quote text not null, confidence text not null, created_at timestamp with time zone not null default now(),
  constraint findings_pkey PRIMARY KEY (thread_id, seq),
  constraint findings_thread_id_run_id_call_id_key UNIQUE (thread_id, run_id, call_id),
  constraint findings_confidence_check CHECK ((confidence = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text])))
);

create table troupe.folded_messages (
  entity_id uuid not null, message_id uuid not null, run_id uuid not null, space_id uuid not null,
  constraint folded_messages_pkey PRIMARY KEY (entity_id, message_id)
);

create table troupe.goals (
  id uuid not null, project_id uuid not null, entity_id uuid not null, description text not null,
  status text not null default 'active'::text, priority integer not null default 3,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), owner_id uuid not null,
  constraint goals_pkey PRIMARY KEY (id),
  constraint goals_description_check CHECK (((length(description) >= 1) AND (length(description) <= 10000))),
  constraint goals_priority_check CHECK (((priority >= 1) AND (priority <= 5))),
  constraint goals_status_check CHECK ((status = ANY (ARRAY['active'::text, 'completed'::text, 'abandoned'::text])))
);

create table troupe.idempotency_keys (
  project_id uuid not null, key text not null, fingerprint bytea not null, status integer, body jsonb,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_pkey PRIMARY KEY (project_id, key),
  constraint idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 200)))
);

create table troupe.joins (
  id bigint not null generated always as identity, run_id uuid, call_id text, what text, task_id uuid,
  thread_id uuid, told integer, data jsonb,
  constraint joins_pkey PRIMARY KEY (id),
  constraint joins_what_check CHECK ((what = ANY (ARRAY['event'::text, 'question'::text, 'end'::text, 'cancel'::text,
    'delete'::text, 'answered'::text])))
);

create table troupe.llm_models (
  id uuid not null, project_id uuid not null, provider_id uuid not null, model_id text not null,
  display_name text not null, input_price double precision not null default 0,
  output_price double precision not null default 0, context_tokens integer,
  max_output_tokens integer not null default 4096, is_default boolean not null default false,
  status text not null default 'active'::text, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), image_input boolean,
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
  id uuid not null, project_id uuid not null, kind text not null, name text not null, base_url text,
  key_envelope jsonb, status text not null default 'active'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint llm_providers_pkey PRIMARY KEY (id),
  constraint llm_providers_kind_check CHECK ((kind = ANY (ARRAY['openai'::text, 'anthropic'::text,
    'openai_compatible'::text, 'demo'::text]))),
  constraint llm_providers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint llm_providers_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])))
);

create table troupe.mcp_servers (
  id uuid not null, project_id uuid not null, name text not null, transport text not null, url text,
  headers jsonb not null default '{}'::jsonb, command text, args jsonb not null default '[]'::jsonb,
  env jsonb not null default '{}'::jsonb, allow jsonb, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint mcp_servers_pkey PRIMARY KEY (id),
  constraint mcp_servers_project_id_id_key UNIQUE (project_id, id),
  constraint mcp_servers_check CHECK (((transport = 'http'::text) = (url IS NOT NULL))),
  constraint mcp_servers_check1 CHECK (((transport = 'stdio'::text) = (command IS NOT NULL))),
  constraint mcp_servers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint mcp_servers_transport_check CHECK ((transport = ANY (ARRAY['http'::text, 'stdio'::text])))
);

create table troupe.memberships (
  space_id uuid not null, entity_id uuid not null, role text not null default 'member'::text,
  ordering text not null default 'parallel'::text, joined_seq bigint not null,
  seen int8multirange not null default '{}'::int8multirange, last_processed_seq bigint not null,
  last_processed_message_id uuid, last_seen_seq bigint not null default 0, last_seen_message_id uuid,
  joined_at timestamp with time zone not null default now(), xid bigint not null default troupe.stamp(),
  joined_xid bigint not null default troupe.stamp(),
  constraint memberships_pkey PRIMARY KEY (space_id, entity_id),
  constraint memberships_ordering_check CHECK ((ordering = ANY (ARRAY['parallel'::text, 'serial'::text]))),
  constraint memberships_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);

create table troupe.memories (
  project_id uuid not null, entity_id uuid not null, key text not null, value text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), owner_id uuid not null,
  constraint memories_pkey PRIMARY KEY (entity_id, owner_id, key),
  constraint memories_key_check CHECK (((length(key) >= 1) AND (length(key) <= 200))),
  constraint memories_value_check CHECK ((length(value) <= 10000))
);

create table troupe.messages (
  thread_id uuid not null, seq bigint not null, id uuid not null, role troupe.message_role not null,
  content jsonb not null, tool_call_id text, sender_id uuid, run_id uuid, step integer, metadata jsonb,
  created_at timestamp with time zone not null default now(), xid bigint not null default troupe.stamp(),
  constraint messages_pkey PRIMARY KEY (thread_id, seq)
);

create table troupe.migrations (
  id integer not null, name text not null, breaking boolean not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (id)
);

create table troupe.network_agent_tools (
  network_id uuid not null, network_agent_id uuid not null, tool_id uuid not null, "position" integer not null,
  constraint network_agent_tools_pkey PRIMARY KEY (network_agent_id, tool_id)
);

create table troupe.network_agents (
  id uuid not null, network_id uuid not null, "position" integer not null, key text not null, agent_id uuid,
  display_name text, description text not null default ''::text, prompt text not null default ''::text,
  model_id uuid, allow_respond boolean not null default false, is_default boolean not null default false,
  metadata jsonb not null default '{}'::jsonb, allow_task_group boolean not null default false,
  constraint network_agents_pkey PRIMARY KEY (id),
  constraint network_agents_network_id_id_key UNIQUE (network_id, id),
  constraint network_agents_key_check CHECK ((key ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$'::text))
);

create table troupe.network_batch_items (
  batch_id uuid not null, row_number integer not null, iteration integer not null,
  attempt integer not null default 1, status text not null default 'pending'::text, run_id uuid,
  canceling boolean not null default false, input_tokens bigint not null default 0,
  output_tokens bigint not null default 0, cost bigint not null default 0, started_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint network_batch_items_pkey PRIMARY KEY (batch_id, row_number, iteration),
  constraint network_batch_items_run_id_key UNIQUE (run_id),
  constraint network_batch_items_check CHECK ((((status = ANY (ARRAY['queued'::text, 'running'::text,
    'completed'::text, 'failed'::text])) = (run_id IS NOT NULL)) OR (status = 'canceled'::text))),
  constraint network_batch_items_iteration_check CHECK ((iteration > 0)),
  constraint network_batch_items_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'queued'::text,
    'running'::text, 'completed'::text, 'failed'::text, 'canceled'::text, 'bad'::text])))
);

create table troupe.network_batch_rows (
  batch_id uuid not null, row_number integer not null, input jsonb, metadata jsonb not null default '{}'::jsonb,
  error jsonb,
  constraint network_batch_rows_pkey PRIMARY KEY (batch_id, row_number),
  constraint network_batch_rows_check CHECK (((input IS NULL) = (error IS NOT NULL))),
  constraint network_batch_rows_row_number_check CHECK ((row_number > 0))
);

create table troupe.network_batch_sealed (
  batch_id uuid not null, row_group integer not null, sealed jsonb not null,
  constraint network_batch_sealed_pkey PRIMARY KEY (batch_id, row_group)
);

create table troupe.network_batches (
  id uuid not null, project_id uuid not null, network_id uuid not null, network_name text not null,
  network_version integer not null, snapshot_id uuid not null, agent text not null, wall_ms bigint not null,
  name text, iterations integer not null, concurrency integer not null, sealed jsonb,
  metadata jsonb not null default '{}'::jsonb, created_at timestamp with time zone not null default now(),
  canceled_at timestamp with time zone,
  constraint network_batches_pkey PRIMARY KEY (id),
  constraint network_batches_concurrency_check CHECK ((concurrency > 0)),
  constraint network_batches_iterations_check CHECK ((iterations > 0))
);

create table troupe.network_routes (
  network_id uuid not null, from_id uuid not null, to_id uuid not null, "position" integer not null,
  constraint network_routes_pkey PRIMARY KEY (from_id, to_id),
  constraint network_routes_check CHECK ((from_id <> to_id))
);

create table troupe.network_tools (
  network_id uuid not null, tool_id uuid not null, "position" integer not null, description text, params jsonb,
  constraint network_tools_pkey PRIMARY KEY (network_id, tool_id)
);

create table troupe.network_versions (
  network_id uuid not null, version integer not null, snapshot_id uuid not null, definition jsonb not null,
  created_by text not null, published_by text not null, published_at timestamp with time zone not null default now(),
  notes text, id uuid not null default gen_random_uuid(), created_at timestamp with time zone not null default now(),
  constraint network_versions_pkey PRIMARY KEY (network_id, version),
  constraint network_versions_id_key UNIQUE (id),
  constraint network_versions_snapshot_id_key UNIQUE (snapshot_id),
  constraint network_versions_version_check CHECK ((version > 0))
);

create table troupe.networks (
  id uuid not null, project_id uuid not null, name text not null, description text,
  status text not null default 'draft'::text, current_version integer, policy jsonb not null,
  response jsonb not null, log_policy jsonb not null, metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), current_version_id uuid,
  constraint networks_pkey PRIMARY KEY (id),
  constraint networks_check CHECK (((status <> 'published'::text) OR (current_version IS NOT NULL))),
  constraint networks_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint networks_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text])))
);

create table troupe.plans (
  id uuid not null, project_id uuid not null, agent_id uuid not null, entity_id uuid not null, name text not null,
  instruction text not null default ''::text, run_after text, scheduled_at timestamp with time zone, cron text,
  time_zone text, status text not null default 'pending'::text, next_run_at timestamp with time zone,
  last_run_at timestamp with time zone, last_run_id uuid, version integer not null default 1, set_by text,
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
  id uuid not null, name text not null, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), tokens jsonb, default_model_id uuid,
  environment_kinds text[] not null default '{}'::text[], outgoing jsonb not null default '{"allow": []}'::jsonb,
  agents_brought boolean not null default false, compaction_model_id uuid,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

create table troupe.purged_tombstones (
  project_id uuid not null, xid bigint not null,
  constraint purged_tombstones_pkey PRIMARY KEY (project_id)
);

create table troupe.reply_waits (
  run_id uuid not null, call_id text not null, space_id uuid not null, entity_id uuid not null,
  message_id uuid not null, message_seq bigint not null, waiting_for jsonb not null, any_reply boolean not null,
  replies jsonb not null default '[]'::jsonb, timeout_ms bigint not null,
  started_at timestamp with time zone not null default now(),
  constraint reply_waits_pkey PRIMARY KEY (run_id, call_id)
);

create table troupe.retention_progress (
  project_id uuid not null, key text not null, upto timestamp with time zone not null,
  constraint retention_progress_pkey PRIMARY KEY (project_id, key)
);

create table troupe.retention_rules (
  project_id uuid not null, agent_id uuid, rules jsonb not null,
  updated_at timestamp with time zone not null default now(),
  constraint retention_rules_project_id_agent_id_key UNIQUE NULLS NOT DISTINCT (project_id, agent_id)
);

create table troupe.run_heads (
  run_id uuid not null, worker_id uuid, epoch integer not null, version integer not null, step integer not null,
  input_tokens bigint not null, output_tokens bigint not null, cost bigint not null,
  constraint run_heads_pkey PRIMARY KEY (run_id)
) with (fillfactor=50);

create table troupe.run_prompts (
  run_id uuid not null, step integer not null, space_id uuid, system text not null,
  created_at timestamp with time zone not null default now(),
  constraint run_prompts_pkey PRIMARY KEY (run_id, step)
);

create table troupe.run_shown (
  run_id uuid not null, space_id uuid not null, seqs int8multirange not null default '{}'::int8multirange,
  prompt_upto bigint,
  constraint run_shown_pkey PRIMARY KEY (run_id, space_id)
);

create table troupe.run_steps (
  run_id uuid not null, step integer not null, agent_key text, provider text not null, model text not null,
  worker_id uuid not null, epoch integer not null, attempt integer not null,
  started_at timestamp with time zone not null, first_token_at timestamp with time zone,
  finished_at timestamp with time zone not null, input_tokens bigint not null, output_tokens bigint not null,
  cost bigint not null, finish_reason text not null, decision jsonb, budgeted boolean not null default false,
  constraint run_steps_pkey PRIMARY KEY (run_id, step)
);

create table troupe.runs (
  id uuid not null, project_id uuid not null, door text not null, agent_id uuid, entity_id uuid,
  snapshot_id uuid not null, thread_id uuid not null, parent_run_id uuid, root_run_id uuid not null,
  trigger_type text not null, trigger_message_id uuid, trigger_seq bigint,
  trigger jsonb not null default '{}'::jsonb, chain_depth integer not null default 0,
  status troupe.run_status not null default 'queued'::troupe.run_status, serial boolean not null default false,
  ready boolean not null default true, lane text, lane_limit integer,
  run_at timestamp with time zone not null default now(), step integer not null default 0,
  epoch integer not null default 0, worker_id uuid, attempt integer not null default 0,
  model_index integer not null default 0, takeovers integer not null default 0,
  open_calls integer not null default 0, steers integer not null default 0,
  history_limit integer not null default 50, wait_state jsonb, wait_deadline timestamp with time zone,
  wall_ms bigint not null, deadline_at timestamp with time zone, input_tokens bigint not null default 0,
  output_tokens bigint not null default 0, cost bigint not null default 0, budget_ids uuid[], outcome jsonb,
  error jsonb, cancel_reason troupe.cancel_reason, absorbed_by uuid, metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(), started_at timestamp with time zone,
  completed_at timestamp with time zone, canceled_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(), takeovers_in_all integer not null default 0,
  owner_id uuid, space_id uuid, active_space_id uuid, origin_id uuid, network_id uuid, network_version integer,
  sealed jsonb, parent_call_id text, lives integer not null default 1, code_tools text[], task_id uuid,
  xid bigint not null default troupe.stamp(), watchers uuid[], queued_from bigint,
  constraint runs_pkey PRIMARY KEY (id)
) with (fillfactor=60);

create table troupe.secrets (
  project_id uuid not null, name text not null, envelope jsonb not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint secrets_pkey PRIMARY KEY (project_id, name),
  constraint secrets_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

create table troupe.sessions (
  id uuid not null, project_id uuid not null, agent_id uuid not null, entity_id uuid not null,
  thread_id uuid not null, title text, tags text[] not null default '{}'::text[], model_id uuid,
  policy text not null default 'queue'::text, metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), xid bigint not null default troupe.stamp(),
  expires_at timestamp with time zone,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_thread_id_key UNIQUE (thread_id),
  constraint sessions_policy_check CHECK ((policy = ANY (ARRAY['queue'::text, 'steer'::text, 'interrupt'::text,
    'reject'::text]))),
  constraint sessions_title_check CHECK (((length(title) >= 1) AND (length(title) <= 200)))
);

create table troupe.spaces (
  id uuid not null, project_id uuid not null, name text, description text, policy text not null default 'all'::text,
  chain_depth integer not null default 8, agent_runs integer not null default 50,
  metadata jsonb not null default '{}'::jsonb, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), xid bigint not null default troupe.stamp(),
  constraint spaces_pkey PRIMARY KEY (id),
  constraint spaces_agent_runs_check CHECK (((agent_runs >= 0) AND (agent_runs <= 1000))),
  constraint spaces_chain_depth_check CHECK (((chain_depth >= 1) AND (chain_depth <= 100))),
  constraint spaces_description_check CHECK ((length(description) <= 10000)),
  constraint spaces_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint spaces_policy_check CHECK ((policy = ANY (ARRAY['all'::text, 'mentions'::text, 'humans'::text])))
);

create table troupe.sub_agents (
  id uuid not null, project_id uuid not null, user_id uuid, chat_id uuid not null, task_id uuid not null,
  agent_id uuid not null, role text not null, thread_id uuid not null, status text not null default 'active'::text,
  iteration_count integer not null default 0, summary text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), xid bigint not null,
  constraint sub_agents_pkey PRIMARY KEY (id),
  constraint sub_agents_thread_id_key UNIQUE (thread_id),
  constraint sub_agents_status_check CHECK ((status = ANY (ARRAY['active'::text, 'waiting_for_user'::text,
    'completed'::text, 'failed'::text])))
);

create table troupe.tasks (
  id uuid not null, project_id uuid not null, user_id uuid, chat_id uuid not null, type text not null,
  name text not null, instruction text not null, args jsonb, sub_agent_id uuid, trigger_message_id uuid,
  status text not null default 'pending'::text, result text, error jsonb, question text,
  background boolean not null default false, depth integer not null, parent_task_id uuid, parent_run_id uuid,
  parent_call_id text, run_id uuid not null, told integer not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), xid bigint not null, chat_thread_id uuid,
  quiet boolean not null default false,
  constraint tasks_pkey PRIMARY KEY (id),
  constraint tasks_check CHECK (((type = 'agent'::text) OR (sub_agent_id IS NULL))),
  constraint tasks_check1 CHECK (((status <> 'waiting'::text) OR (question IS NOT NULL))),
  constraint tasks_depth_check CHECK ((depth >= 1)),
  constraint tasks_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
  constraint tasks_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text,
    'success'::text, 'failed'::text, 'canceled'::text]))),
  constraint tasks_type_check CHECK ((type = ANY (ARRAY['agent'::text, 'tool'::text])))
);

create table troupe.threads (
  id uuid not null, project_id uuid not null, kind troupe.thread_kind not null,
  last_message_seq bigint not null default 0, last_event_seq bigint not null default 0, active_run_id uuid,
  created_at timestamp with time zone not null default now(), failed_run_id uuid,
  constraint threads_pkey PRIMARY KEY (id)
) with (fillfactor=60);

create table troupe.todo_lists (
  thread_id uuid not null, items jsonb not null, updated_at timestamp with time zone not null default now(),
  constraint todo_lists_pkey PRIMARY KEY (thread_id)
);

create table troupe.tombstones (
  collection text not null, id text not null, project_id uuid not null, entity_id uuid, place_id uuid, chat_id uuid,
  was bigint not null, born_at timestamp with time zone,
  gone_at timestamp with time zone not null default clock_timestamp(), xid bigint not null default troupe.stamp(),
  constraint tombstones_pkey PRIMARY KEY (collection, id, xid)
);

create table troupe.tool_calls (
  run_id uuid not null, call_id text not null, step integer not null, "position" integer not null,
  tool text not null, args jsonb not null, effect troupe.tool_effect not null, status troupe.call_status not null,
  waits_for troupe.waits_for, output jsonb, error jsonb, attempt integer not null default 1, epoch integer not null,
  deadline timestamp with time zone, settled_by text, created_at timestamp with time zone not null default now(),
  settled_at timestamp with time zone, edited boolean not null default false, shown jsonb,
  xid bigint not null default troupe.stamp(),
  constraint tool_calls_pkey PRIMARY KEY (run_id, call_id)
) with (fillfactor=50);

create table troupe.tools (
  id uuid not null, project_id uuid not null, name text not null, display_name text,
  description text not null default ''::text, kind text not null, input_schema jsonb not null,
  effect troupe.tool_effect not null default 'once'::troupe.tool_effect, approval boolean not null default false,
  visible boolean not null default false, config jsonb not null default '{}'::jsonb,
  version integer not null default 1, created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(), params jsonb,
  mcp_server_id uuid generated always as ((((config -> 'mcp'::text) ->> 'server'::text))::uuid) stored,
  agent_id uuid,
  constraint tools_pkey PRIMARY KEY (id),
  constraint tools_kind_check CHECK ((kind = ANY (ARRAY['http'::text, 'client'::text, 'ui'::text, 'static'::text,
    'echo'::text, 'mcp'::text, 'code'::text, 'network'::text, 'agent'::text]))),
  constraint tools_mcp CHECK (((kind <> 'mcp'::text) OR (mcp_server_id IS NOT NULL))),
  constraint tools_name_check CHECK ((name ~ '^[A-Za-z_][A-Za-z0-9_-]{0,63}$'::text))
);

create table troupe.trigger_attempts (
  delivery_id uuid not null, attempt integer not null, started_at timestamp with time zone not null default now(),
  duration_ms integer, request jsonb, response jsonb, error jsonb,
  constraint trigger_attempts_pkey PRIMARY KEY (delivery_id, attempt)
);

create table troupe.trigger_deliveries (
  id uuid not null, project_id uuid not null, trigger_id uuid not null, version integer not null,
  action_version integer not null, change_id bigint not null, event text not null, path text not null,
  document_id text not null, user_id uuid, chat_id uuid, erased boolean not null default false, before jsonb,
  after jsonb, depth integer not null, own boolean not null, status text not null default 'pending'::text,
  attempts integer not null default 0, attempts_before integer not null default 0,
  next_attempt_at timestamp with time zone, lease_until timestamp with time zone, error jsonb, result jsonb,
  changed_at timestamp with time zone not null, created_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  constraint trigger_deliveries_pkey PRIMARY KEY (id),
  constraint trigger_deliveries_trigger_id_version_change_id_key UNIQUE (trigger_id, version, change_id),
  constraint trigger_deliveries_check CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  constraint trigger_deliveries_check1 CHECK (((status = 'sending'::text) = (lease_until IS NOT NULL))),
  constraint trigger_deliveries_check2 CHECK (((status = ANY (ARRAY['delivered'::text, 'dead'::text])) = (ended_at IS
    NOT NULL))),
  constraint trigger_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text,
    'delivered'::text, 'dead'::text])))
);

create table troupe.trigger_versions (
  trigger_id uuid not null, version integer not null, definition jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint trigger_versions_pkey PRIMARY KEY (trigger_id, version)
);

create table troupe.triggers (
  id uuid not null, project_id uuid not null, name text not null, version integer not null default 1,
  definition jsonb not null, collections text[] not null, pattern text not null, events text[] not null,
  enabled boolean not null, disabled_reason text, condition_error jsonb, dead_in_row integer not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint triggers_pkey PRIMARY KEY (id),
  constraint triggers_name_check CHECK ((name ~ '^[A-Za-z0-9_-]{1,64}$'::text))
);

create table troupe.usage_purged (
  project_id uuid not null, at timestamp with time zone not null, agent_id uuid, network_id uuid, model text,
  started bigint not null, completed bigint not null, failed bigint not null, canceled bigint not null,
  input_tokens bigint not null, output_tokens bigint not null, cost bigint not null,
  constraint usage_purged_project_id_at_agent_id_network_id_model_key UNIQUE NULLS NOT DISTINCT (project_id, at,
    agent_id, network_id, model)
);

create table troupe.usage_sums (
  project_id uuid not null, every text not null, at timestamp with time zone not null, sums jsonb not null,
  constraint usage_sums_pkey PRIMARY KEY (project_id, every, at),
  constraint usage_sums_every_check CHECK ((every = ANY (ARRAY['hour'::text, 'day'::text])))
);

create unlogged table troupe.workers (
  incarnation uuid not null, host text not null, pid integer not null, beat bigint not null,
  capacity integer not null default 0, load integer not null default 0, draining boolean not null default false,
  code_tools text[] not null default '{}'::text[], started_at timestamp with time zone not null default now(),
  beat_at timestamp with time zone not null default now(),
  constraint workers_pkey PRIMARY KEY (incarnation)
) with (fillfactor=50);

alter table troupe.files alter column content set storage external;

alter table troupe.agent_capabilities add constraint agent_capabilities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES
  troupe.agents(id) ON DELETE CASCADE;
alter table troupe.agent_tools add constraint agent_tools_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES
  troupe.agents(id) ON DELETE CASCADE;
alter table troupe.agent_tools add constraint agent_tools_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES
  troupe.tools(id);
alter table troupe.agent_versions add constraint agent_versions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES
  troupe.agents(id);
alter table troupe.agent_versions add constraint agent_versions_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES
  troupe.compiled_snapshots(id);
alter table troupe.agents add constraint agents_default_model_id_fkey FOREIGN KEY (default_model_id) REFERENCES
  troupe.llm_models(id);
alter table troupe.agents add constraint agents_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.api_keys add constraint api_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.audit_log add constraint audit_log_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.budget_leases add constraint budget_leases_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES
  troupe.budgets(id) ON DELETE CASCADE;
alter table troupe.budgets add constraint budgets_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.clients add constraint clients_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id)
  ON DELETE CASCADE;
alter table troupe.clients add constraint clients_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.compiled_snapshots add constraint compiled_snapshots_project_id_fkey FOREIGN KEY (project_id)
  REFERENCES troupe.projects(id);
alter table troupe.entities add constraint entities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.entities add constraint entities_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.erasures add constraint erasures_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id) ON DELETE CASCADE;
alter table troupe.folded_messages add constraint folded_messages_space_id_fkey FOREIGN KEY (space_id) REFERENCES
  troupe.spaces(id) ON DELETE CASCADE;
alter table troupe.goals add constraint goals_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id);
alter table troupe.goals add constraint goals_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES troupe.entities(id);
alter table troupe.goals add constraint goals_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.idempotency_keys add constraint idempotency_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id) ON DELETE CASCADE;
alter table troupe.llm_models add constraint llm_models_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.llm_models add constraint llm_models_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES
  troupe.llm_providers(id);
alter table troupe.llm_providers add constraint llm_providers_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.mcp_servers add constraint mcp_servers_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.memberships add constraint memberships_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES
  troupe.entities(id) ON DELETE CASCADE;
alter table troupe.memberships add constraint memberships_space_id_fkey FOREIGN KEY (space_id) REFERENCES
  troupe.spaces(id) ON DELETE CASCADE;
alter table troupe.memories add constraint memories_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES
  troupe.entities(id);
alter table troupe.memories add constraint memories_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES troupe.entities(id);
alter table troupe.memories add constraint memories_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.network_agent_tools add constraint network_agent_tools_network_id_network_agent_id_fkey FOREIGN KEY
  (network_id, network_agent_id) REFERENCES troupe.network_agents(network_id, id) ON DELETE CASCADE;
alter table troupe.network_agent_tools add constraint network_agent_tools_network_id_tool_id_fkey FOREIGN KEY
  (network_id, tool_id) REFERENCES troupe.network_tools(network_id, tool_id);
alter table troupe.network_agents add constraint network_agents_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES
  troupe.agents(id);
alter table troupe.network_agents add constraint network_agents_model_id_fkey FOREIGN KEY (model_id) REFERENCES
  troupe.llm_models(id);
alter table troupe.network_agents add constraint network_agents_network_id_fkey FOREIGN KEY (network_id) REFERENCES
  troupe.networks(id) ON DELETE CASCADE;
alter table troupe.network_batch_items add constraint network_batch_items_batch_id_row_number_fkey FOREIGN KEY
  (batch_id, row_number) REFERENCES troupe.network_batch_rows(batch_id, row_number) ON DELETE CASCADE;
alter table troupe.network_batch_rows add constraint network_batch_rows_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES
  troupe.network_batches(id) ON DELETE CASCADE;
alter table troupe.network_batch_sealed add constraint network_batch_sealed_batch_id_fkey FOREIGN KEY (batch_id)
  REFERENCES troupe.network_batches(id) ON DELETE CASCADE;
alter table troupe.network_batches add constraint network_batches_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES
  troupe.compiled_snapshots(id);
alter table troupe.network_routes add constraint network_routes_network_id_from_id_fkey FOREIGN KEY (network_id,
  from_id) REFERENCES troupe.network_agents(network_id, id) ON DELETE CASCADE;
alter table troupe.network_routes add constraint network_routes_network_id_to_id_fkey FOREIGN KEY (network_id, to_id)
  REFERENCES troupe.network_agents(network_id, id);
alter table troupe.network_tools add constraint network_tools_network_id_fkey FOREIGN KEY (network_id) REFERENCES
  troupe.networks(id) ON DELETE CASCADE;
alter table troupe.network_tools add constraint network_tools_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES
  troupe.tools(id);
alter table troupe.network_versions add constraint network_versions_network_id_fkey FOREIGN KEY (network_id) REFERENCES
  troupe.networks(id) ON DELETE CASCADE;
alter table troupe.network_versions add constraint network_versions_snapshot_id_fkey FOREIGN KEY (snapshot_id)
  REFERENCES troupe.compiled_snapshots(id);
alter table troupe.networks add constraint networks_current_version_fkey FOREIGN KEY (id, current_version) REFERENCES
  troupe.network_versions(network_id, version);
alter table troupe.networks add constraint networks_current_version_id_fkey FOREIGN KEY (current_version_id) REFERENCES
  troupe.network_versions(id);
alter table troupe.plans add constraint plans_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.plans add constraint plans_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES troupe.entities(id);
alter table troupe.plans add constraint plans_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.projects add constraint projects_compaction_model_id_fkey FOREIGN KEY (compaction_model_id)
  REFERENCES troupe.llm_models(id);
alter table troupe.projects add constraint projects_default_model_id_fkey FOREIGN KEY (default_model_id) REFERENCES
  troupe.llm_models(id);
alter table troupe.reply_waits add constraint reply_waits_space_id_fkey FOREIGN KEY (space_id) REFERENCES
  troupe.spaces(id) ON DELETE CASCADE;
alter table troupe.retention_progress add constraint retention_progress_project_id_fkey FOREIGN KEY (project_id)
  REFERENCES troupe.projects(id) ON DELETE CASCADE;
alter table troupe.retention_rules add constraint retention_rules_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES
  troupe.agents(id) ON DELETE CASCADE;
alter table troupe.retention_rules add constraint retention_rules_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id) ON DELETE CASCADE;
alter table troupe.secrets add constraint secrets_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.sessions add constraint sessions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id);
alter table troupe.sessions add constraint sessions_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES
  troupe.entities(id);
alter table troupe.sessions add constraint sessions_model_id_fkey FOREIGN KEY (model_id) REFERENCES
  troupe.llm_models(id);
alter table troupe.sessions add constraint sessions_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.sub_agents add constraint sub_agents_task_id_fkey FOREIGN KEY (task_id) REFERENCES troupe.tasks(id)
  ON DELETE CASCADE;
alter table troupe.tools add constraint tools_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES troupe.agents(id)
  DEFERRABLE INITIALLY DEFERRED;
alter table troupe.tools add constraint tools_mcp_server FOREIGN KEY (project_id, mcp_server_id) REFERENCES
  troupe.mcp_servers(project_id, id);
alter table troupe.tools add constraint tools_project_id_fkey FOREIGN KEY (project_id) REFERENCES troupe.projects(id);
alter table troupe.trigger_attempts add constraint trigger_attempts_delivery_id_fkey FOREIGN KEY (delivery_id)
  REFERENCES troupe.trigger_deliveries(id) ON DELETE CASCADE;
alter table troupe.trigger_deliveries add constraint trigger_deliveries_trigger_id_fkey FOREIGN KEY (trigger_id)
  REFERENCES troupe.triggers(id) ON DELETE CASCADE;
alter table troupe.trigger_versions add constraint trigger_versions_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES
  troupe.triggers(id) ON DELETE CASCADE;
alter table troupe.triggers add constraint triggers_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id);
alter table troupe.usage_purged add constraint usage_purged_project_id_fkey FOREIGN KEY (project_id) REFERENCES
  troupe.projects(id) ON DELETE CASCADE;

create view troupe.events as
 SELECT b.thread_id,
    ((b.last_seq - c.length) + x."position") AS seq,
    (x.entry ->> 0) AS type,
    ((x.entry ->> 1))::jsonb AS data,
    (b.message_seq + ((x.entry ->> 2))::integer) AS message_seq,
    COALESCE(((x.entry ->> 4))::uuid, b.run_id) AS run_id,
    ((x.entry ->> 3))::integer AS step,
    b.created_at
   FROM ((troupe.event_batches b
     CROSS JOIN LATERAL ( SELECT json_array_length(b.entries) AS length
         OFFSET 0) c)
     CROSS JOIN LATERAL json_array_elements(b.entries) WITH ORDINALITY x(entry, "position"));

CREATE INDEX agent_tools_tool ON troupe.agent_tools USING btree (tool_id);
CREATE UNIQUE INDEX agents_name ON troupe.agents USING btree (project_id, troupe.folded(name));
CREATE INDEX agents_newest ON troupe.agents USING btree (project_id, id DESC);
CREATE INDEX agents_tags ON troupe.agents USING gin (tags);
CREATE INDEX api_keys_project ON troupe.api_keys USING btree (project_id, id);
CREATE INDEX audit_log_project ON troupe.audit_log USING btree (project_id, id DESC);
CREATE INDEX budgets_xid ON troupe.budgets USING btree (xid);
CREATE INDEX changes_path ON troupe.changes USING btree (path, id);
CREATE INDEX clients_entity ON troupe.clients USING btree (entity_id, id DESC);
CREATE UNIQUE INDEX compiled_snapshots_content ON troupe.compiled_snapshots USING btree (project_id, checksum) WHERE
  shared;
CREATE INDEX ended_runs_oldest ON troupe.ended_runs USING btree (ended_at);
CREATE UNIQUE INDEX entities_external ON troupe.entities USING btree (project_id, external_id) WHERE (external_id IS
  NOT NULL);
CREATE INDEX files_age ON troupe.files USING btree (updated_at);
CREATE INDEX folded_messages_run ON troupe.folded_messages USING btree (run_id);
CREATE INDEX folded_messages_space ON troupe.folded_messages USING btree (space_id);
CREATE INDEX goals_owner ON troupe.goals USING btree (entity_id, owner_id, priority, id);
CREATE INDEX idempotency_keys_age ON troupe.idempotency_keys USING btree (created_at);
CREATE UNIQUE INDEX llm_models_default ON troupe.llm_models USING btree (project_id) WHERE is_default;
CREATE UNIQUE INDEX llm_providers_name ON troupe.llm_providers USING btree (project_id, troupe.folded(name));
CREATE UNIQUE INDEX mcp_servers_name ON troupe.mcp_servers USING btree (project_id, troupe.folded(name));
CREATE INDEX mcp_servers_newest ON troupe.mcp_servers USING btree (project_id, id DESC);
CREATE INDEX memberships_entity ON troupe.memberships USING btree (entity_id, joined_at DESC);
CREATE INDEX memberships_xid ON troupe.memberships USING btree (xid);
CREATE UNIQUE INDEX messages_id ON troupe.messages USING btree (id);
CREATE INDEX messages_tail ON troupe.messages USING btree (thread_id, seq) WHERE ((role =
  'system'::troupe.message_role) AND (jsonb_typeof(((metadata -> 'troupe:summary'::text) -> 'upTo'::text)) =
  'number'::text));
CREATE INDEX messages_xid ON troupe.messages USING brin (xid) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX network_agent_tools_tool ON troupe.network_agent_tools USING btree (network_id, tool_id);
CREATE INDEX network_agents_agent ON troupe.network_agents USING btree (agent_id) WHERE (agent_id IS NOT NULL);
CREATE UNIQUE INDEX network_agents_default ON troupe.network_agents USING btree (network_id) WHERE is_default;
CREATE UNIQUE INDEX network_agents_key ON troupe.network_agents USING btree (network_id, lower(key));
CREATE INDEX network_batch_items_open ON troupe.network_batch_items USING btree (batch_id, row_number, iteration) WHERE
  (status = ANY (ARRAY['pending'::text, 'queued'::text, 'running'::text]));
CREATE INDEX network_batches_newest ON troupe.network_batches USING btree (project_id, network_id, id DESC);
CREATE INDEX network_routes_to ON troupe.network_routes USING btree (network_id, to_id);
CREATE INDEX network_tools_tool ON troupe.network_tools USING btree (tool_id);
CREATE INDEX networks_current_version_id ON troupe.networks USING btree (current_version_id);
CREATE UNIQUE INDEX networks_name ON troupe.networks USING btree (project_id, troupe.folded(name));
CREATE INDEX networks_newest ON troupe.networks USING btree (project_id, id DESC);
CREATE INDEX plans_agent ON troupe.plans USING btree (agent_id, id DESC);
CREATE INDEX plans_due ON troupe.plans USING btree (next_run_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX plans_name ON troupe.plans USING btree (entity_id, troupe.folded(name));
CREATE UNIQUE INDEX projects_name ON troupe.projects USING btree (troupe.folded(name));
CREATE INDEX reply_waits_space ON troupe.reply_waits USING btree (space_id);
CREATE INDEX run_prompts_age ON troupe.run_prompts USING brin (created_at) WITH (pages_per_range='16',
  autosummarize='on');
CREATE INDEX run_prompts_space ON troupe.run_prompts USING btree (space_id) WHERE (space_id IS NOT NULL);
CREATE INDEX run_shown_space ON troupe.run_shown USING btree (space_id);
CREATE INDEX run_steps_budgeted ON troupe.run_steps USING btree (worker_id) WHERE budgeted;
CREATE INDEX runs_active_space ON troupe.runs USING btree (active_space_id) WHERE ((active_space_id IS NOT NULL) AND
  (status = ANY (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status, 'waiting_tool'::troupe.run_status,
  'waiting_reply'::troupe.run_status])));
CREATE INDEX runs_blocked ON troupe.runs USING btree (thread_id, trigger_seq) WHERE ((status =
  'queued'::troupe.run_status) AND (NOT ready));
CREATE UNIQUE INDEX runs_children ON troupe.runs USING btree (parent_run_id, parent_call_id) WHERE (parent_call_id IS
  NOT NULL);
CREATE INDEX runs_ended ON troupe.runs USING btree (project_id, status, COALESCE(completed_at, canceled_at)) INCLUDE
  (id, agent_id, network_id, created_at, completed_at, canceled_at, input_tokens, output_tokens, cost) WHERE (status =
  ANY (ARRAY['completed'::troupe.run_status, 'failed'::troupe.run_status, 'canceled'::troupe.run_status]));
CREATE INDEX runs_ended_of_agent ON troupe.runs USING btree (agent_id, id DESC) WHERE (status = ANY
  (ARRAY['completed'::troupe.run_status, 'failed'::troupe.run_status, 'canceled'::troupe.run_status]));
CREATE INDEX runs_held ON troupe.runs USING btree (worker_id) WHERE (status = 'running'::troupe.run_status);
CREATE INDEX runs_lane ON troupe.runs USING btree (lane, run_at) WHERE ((status = ANY
  (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status])) AND (lane IS NOT NULL));
CREATE INDEX runs_lane_waiting ON troupe.runs USING btree (lane) WHERE ((lane IS NOT NULL) AND (status =
  'waiting_tool'::troupe.run_status));
CREATE INDEX runs_live_of_agent ON troupe.runs USING btree (entity_id, id DESC) WHERE ((door = 'space'::text) AND
  (status = ANY (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status, 'waiting_tool'::troupe.run_status,
  'waiting_reply'::troupe.run_status])));
CREATE INDEX runs_network ON troupe.runs USING btree (network_id, id DESC) WHERE (network_id IS NOT NULL);
CREATE INDEX runs_of_agent ON troupe.runs USING btree (entity_id, id DESC) WHERE (door = 'space'::text);
CREATE INDEX runs_of_root ON troupe.runs USING btree (root_run_id) WHERE (parent_call_id IS NOT NULL);
CREATE INDEX runs_origin ON troupe.runs USING btree (origin_id) WHERE ((origin_id IS NOT NULL) AND (chain_depth > 0));
CREATE INDEX runs_project ON troupe.runs USING btree (project_id, id);
CREATE INDEX runs_queued ON troupe.runs USING btree (run_at) WHERE ((status = 'queued'::troupe.run_status) AND ready
  AND (lane IS NULL) AND (code_tools IS NULL));
CREATE INDEX runs_queued_code ON troupe.runs USING btree (code_tools, run_at) WHERE ((status =
  'queued'::troupe.run_status) AND ready AND (lane IS NULL) AND (code_tools IS NOT NULL));
CREATE INDEX runs_sealed ON troupe.runs USING btree (id) WHERE (sealed IS NOT NULL);
CREATE INDEX runs_space ON troupe.runs USING btree (space_id, id) WHERE (space_id IS NOT NULL);
CREATE INDEX runs_space_live ON troupe.runs USING btree (space_id) WHERE ((space_id IS NOT NULL) AND (status = ANY
  (ARRAY['queued'::troupe.run_status, 'running'::troupe.run_status, 'waiting_tool'::troupe.run_status,
  'waiting_reply'::troupe.run_status])));
CREATE INDEX runs_task ON troupe.runs USING btree (task_id, id) WHERE (task_id IS NOT NULL);
CREATE INDEX runs_tasks_of_root ON troupe.runs USING btree (root_run_id) WHERE ((task_id IS NOT NULL) AND
  (parent_call_id IS NULL));
CREATE INDEX runs_thread ON troupe.runs USING btree (thread_id, created_at DESC);
CREATE UNIQUE INDEX runs_trigger ON troupe.runs USING btree (entity_id, trigger_message_id) WHERE (trigger_message_id
  IS NOT NULL);
CREATE INDEX runs_unsuccessful ON troupe.runs USING btree (project_id, id DESC) WHERE (status = ANY
  (ARRAY['failed'::troupe.run_status, 'canceled'::troupe.run_status]));
CREATE INDEX runs_waiting ON troupe.runs USING btree (wait_deadline) WHERE (status = ANY
  (ARRAY['waiting_tool'::troupe.run_status, 'waiting_reply'::troupe.run_status]));
CREATE INDEX runs_xid ON troupe.runs USING btree (xid);
CREATE INDEX sessions_age ON troupe.sessions USING btree (agent_id, created_at);
CREATE INDEX sessions_agent ON troupe.sessions USING btree (agent_id, id DESC);
CREATE INDEX sessions_entity ON troupe.sessions USING btree (entity_id, id DESC);
CREATE INDEX sessions_expiry ON troupe.sessions USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX sessions_project ON troupe.sessions USING btree (project_id, created_at DESC);
CREATE INDEX sessions_xid ON troupe.sessions USING btree (xid);
CREATE INDEX spaces_project ON troupe.spaces USING btree (project_id, id DESC);
CREATE INDEX spaces_xid ON troupe.spaces USING btree (xid);
CREATE INDEX sub_agents_of_user ON troupe.sub_agents USING btree (user_id, status, id DESC);
CREATE INDEX sub_agents_project ON troupe.sub_agents USING btree (project_id, status, id DESC);
CREATE UNIQUE INDEX sub_agents_task ON troupe.sub_agents USING btree (task_id);
CREATE INDEX sub_agents_user ON troupe.sub_agents USING btree (user_id, xid);
CREATE INDEX sub_agents_xid ON troupe.sub_agents USING btree (xid);
CREATE INDEX tasks_chat ON troupe.tasks USING btree (chat_id, id DESC);
CREATE INDEX tasks_of_user ON troupe.tasks USING btree (user_id, status, id DESC);
CREATE INDEX tasks_parent ON troupe.tasks USING btree (parent_task_id) WHERE (parent_task_id IS NOT NULL);
CREATE INDEX tasks_project ON troupe.tasks USING btree (project_id, status, id DESC);
CREATE INDEX tasks_run ON troupe.tasks USING btree (run_id);
CREATE INDEX tasks_trigger_message ON troupe.tasks USING btree (trigger_message_id);
CREATE INDEX tasks_user ON troupe.tasks USING btree (user_id, xid);
CREATE INDEX tasks_xid ON troupe.tasks USING btree (xid);
CREATE INDEX threads_failed ON troupe.threads USING btree (project_id) WHERE (failed_run_id IS NOT NULL);
CREATE INDEX tombstones_entity ON troupe.tombstones USING btree (entity_id, collection, xid) WHERE (entity_id IS NOT
  NULL);
CREATE INDEX tombstones_gone_at ON troupe.tombstones USING brin (gone_at) WITH (pages_per_range='16',
  autosummarize='on');
CREATE INDEX tombstones_place ON troupe.tombstones USING btree (place_id, collection, xid) WHERE (place_id IS NOT NULL);
CREATE INDEX tombstones_project ON troupe.tombstones USING btree (project_id, collection, xid);
CREATE INDEX tombstones_xid ON troupe.tombstones USING btree (xid);
CREATE INDEX tool_calls_waiting ON troupe.tool_calls USING btree (run_id) WHERE (waits_for IS NOT NULL);
CREATE INDEX tool_calls_xid ON troupe.tool_calls USING brin (xid) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX tools_mcp_server ON troupe.tools USING btree (mcp_server_id) WHERE (mcp_server_id IS NOT NULL);
CREATE UNIQUE INDEX tools_name ON troupe.tools USING btree (project_id, lower(name)) WHERE (agent_id IS NULL);
CREATE UNIQUE INDEX tools_name_of_agent ON troupe.tools USING btree (agent_id, lower(name)) WHERE (agent_id IS NOT
  NULL);
CREATE INDEX tools_newest ON troupe.tools USING btree (project_id, id DESC);
CREATE INDEX trigger_deliveries_change ON troupe.trigger_deliveries USING btree (change_id);
CREATE INDEX trigger_deliveries_chat ON troupe.trigger_deliveries USING btree (chat_id) WHERE (chat_id IS NOT NULL);
CREATE INDEX trigger_deliveries_dead ON troupe.trigger_deliveries USING btree (trigger_id) WHERE (status =
  'dead'::text);
CREATE INDEX trigger_deliveries_document ON troupe.trigger_deliveries USING btree (project_id, document_id, id DESC);
CREATE INDEX trigger_deliveries_due ON troupe.trigger_deliveries USING btree (next_attempt_at) WHERE (status =
  'pending'::text);
CREATE INDEX trigger_deliveries_ended ON troupe.trigger_deliveries USING btree (status, ended_at) WHERE (status = ANY
  (ARRAY['delivered'::text, 'dead'::text]));
CREATE INDEX trigger_deliveries_leased ON troupe.trigger_deliveries USING btree (lease_until) WHERE (status =
  'sending'::text);
CREATE INDEX trigger_deliveries_made ON troupe.trigger_deliveries USING btree (trigger_id, ended_at) WHERE (status =
  'delivered'::text);
CREATE INDEX trigger_deliveries_newest ON troupe.trigger_deliveries USING btree (project_id, id DESC);
CREATE INDEX trigger_deliveries_of ON troupe.trigger_deliveries USING btree (trigger_id, id DESC);
CREATE INDEX trigger_deliveries_order ON troupe.trigger_deliveries USING btree (trigger_id, path, change_id) WHERE
  (status = ANY (ARRAY['pending'::text, 'sending'::text]));
CREATE INDEX trigger_deliveries_path ON troupe.trigger_deliveries USING btree (project_id, path, id DESC);
CREATE INDEX trigger_deliveries_sending ON troupe.trigger_deliveries USING btree (trigger_id) WHERE (status =
  'sending'::text);
CREATE INDEX trigger_deliveries_user ON troupe.trigger_deliveries USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE UNIQUE INDEX triggers_name ON troupe.triggers USING btree (project_id, lower(name));
