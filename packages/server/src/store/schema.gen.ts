// The tables of the schema `troupe`. Written by `npm run schema` from a migrated database; do not edit.
import type { Json } from '@troupe/protocol';
import type { ColumnType, Generated } from 'kysely';

/** Written as text: the driver would take an array for one of Postgres, and text can be checked (`toJsonText`). */
type JsonColumn<Absent = never> = ColumnType<Json, string | Absent, string | Absent>;
type Timestamp<Absent = never> = ColumnType<Date | Exclude<Absent, undefined>, Date | string | Absent, Date | string | Absent>;

export interface AgentCapabilities {
  id: string;
  agent_id: string;
  capability_id: string;
  position: number;
  config: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
}

export interface AgentTools {
  agent_id: string;
  tool_id: string;
  position: number;
}

export interface AgentVersions {
  agent_id: string;
  version: number;
  snapshot_id: string;
  definition: JsonColumn;
  notes: string | null;
  created_at: Timestamp<undefined>;
}

export interface Agents {
  id: string;
  project_id: string;
  name: string;
  status: Generated<'active' | 'archived'>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  description: string | null;
  system_prompt: Generated<string>;
  default_model_id: string | null;
  tags: Generated<string[]>;
  config: JsonColumn<undefined>;
  version: Generated<number>;
}

export interface ApiKeys {
  id: string;
  project_id: string;
  name: string;
  kind: 'secret' | 'public';
  prefix: string;
  hash: Buffer;
  scopes: Generated<string[]>;
  expires_at: Timestamp<null | undefined>;
  last_used_at: Timestamp<null | undefined>;
  revoked_at: Timestamp<null | undefined>;
  created_at: Timestamp<undefined>;
}

export interface AuditLog {
  id: Generated<number>;
  project_id: string;
  actor_kind: 'key' | 'user' | 'dev' | 'system';
  actor_id: string | null;
  action: string;
  target: string | null;
  data: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
}

export interface BudgetLeases {
  budget_id: string;
  worker_id: string;
  granted: Generated<number>;
  spent: Generated<number>;
  returned: Generated<number>;
}

export interface Budgets {
  id: string;
  project_id: string;
  scope: 'project' | 'agent' | 'space' | 'session' | 'run_tree';
  scope_id: string;
  unit: 'tokens' | 'cost';
  amount: number;
  spent: Generated<number>;
  leased: Generated<number>;
  on_exhausted: Generated<'stop' | 'fallback' | 'wait'>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  xid: Generated<number>;
}

export interface Captured {
  trigger_name: string;
  table_name: string;
  collections: string[];
}

export interface ChangeDocuments {
  change_id: number;
  before: JsonColumn<null | undefined>;
  after: JsonColumn<null | undefined>;
}

export interface Changes {
  id: Generated<number>;
  project_id: string;
  collection: string;
  path: string;
  document_id: string;
  user_id: string | null;
  chat_id: string | null;
  event: string;
  before: JsonColumn<null | undefined>;
  after: JsonColumn<null | undefined>;
  depth: number;
  rules: JsonColumn;
  created_at: Timestamp<undefined>;
}

export interface Clients {
  id: string;
  project_id: string;
  entity_id: string;
  client_key: string;
  client_type: string | null;
  display_name: string | null;
  capabilities: JsonColumn<undefined>;
  last_seen_at: Timestamp<undefined>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface CodeTools {
  names: string[];
  seen_at: Timestamp<undefined>;
}

export interface CompiledSnapshots {
  id: string;
  project_id: string;
  checksum: string;
  compiled: JsonColumn;
  created_at: Timestamp<undefined>;
  code_tools: string[] | null;
  shared: Generated<boolean>;
}

export interface DeletedThreads {
  thread_id: string;
}

export interface Doors {
  name: string;
  cancel_events: string[];
}

export interface EndedRuns {
  run_id: string;
  lives: number;
  ended_at: Timestamp<undefined>;
}

export interface Entities {
  id: string;
  project_id: string;
  type: 'human' | 'agent';
  external_id: string | null;
  display_name: string | null;
  agent_id: string | null;
  metadata: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface Erasures {
  entity_id: string;
  project_id: string;
  actor_kind: string;
  actor_id: string | null;
  counts: JsonColumn<undefined>;
  requested_at: Timestamp<undefined>;
  finished_at: Timestamp<null | undefined>;
}

export interface EventBatches {
  thread_id: string;
  last_seq: number;
  message_seq: number | null;
  run_id: string | null;
  created_at: Timestamp<undefined>;
  entries: JsonColumn;
}

export interface Events {
  thread_id: string | null;
  seq: number | null;
  type: string | null;
  data: JsonColumn<null | undefined>;
  message_seq: number | null;
  run_id: string | null;
  step: number | null;
  created_at: Timestamp<null | undefined>;
}

export interface FileTotals {
  thread_id: string;
  files: Generated<number>;
  bytes: Generated<number>;
}

export interface Files {
  thread_id: string;
  path: string;
  content: Buffer;
  type: string;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface Findings {
  thread_id: string;
  seq: Generated<number>;
  project_id: string;
  run_id: string;
  call_id: string;
  question: string;
  claim: string;
  source: string;
  quote: string;
  confidence: 'low' | 'medium' | 'high';
  created_at: Timestamp<undefined>;
}

export interface FoldedMessages {
  entity_id: string;
  message_id: string;
  run_id: string;
  space_id: string;
}

export interface Goals {
  id: string;
  project_id: string;
  entity_id: string;
  description: string;
  status: Generated<'active' | 'completed' | 'abandoned'>;
  priority: Generated<number>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  owner_id: string;
}

export interface IdempotencyKeys {
  project_id: string;
  key: string;
  fingerprint: Buffer;
  status: number | null;
  body: JsonColumn<null | undefined>;
  created_at: Timestamp<undefined>;
}

export interface Joins {
  id: Generated<number>;
  run_id: string | null;
  call_id: string | null;
  what: 'event' | 'question' | 'end' | 'cancel' | 'delete' | 'answered' | null;
  task_id: string | null;
  thread_id: string | null;
  told: number | null;
  data: JsonColumn<null | undefined>;
}

export interface LlmModels {
  id: string;
  project_id: string;
  provider_id: string;
  model_id: string;
  display_name: string;
  input_price: Generated<number>;
  output_price: Generated<number>;
  context_tokens: number | null;
  max_output_tokens: Generated<number>;
  is_default: Generated<boolean>;
  status: Generated<'active' | 'disabled'>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  image_input: boolean | null;
}

export interface LlmProviders {
  id: string;
  project_id: string;
  kind: 'openai' | 'anthropic' | 'openai_compatible' | 'demo';
  name: string;
  base_url: string | null;
  key_envelope: JsonColumn<null | undefined>;
  status: Generated<'active' | 'disabled'>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface McpServers {
  id: string;
  project_id: string;
  name: string;
  transport: 'http' | 'stdio';
  url: string | null;
  headers: JsonColumn<undefined>;
  command: string | null;
  args: JsonColumn<undefined>;
  env: JsonColumn<undefined>;
  allow: JsonColumn<null | undefined>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface Memberships {
  space_id: string;
  entity_id: string;
  role: Generated<'admin' | 'member'>;
  ordering: Generated<'parallel' | 'serial'>;
  joined_seq: number;
  seen: Generated<string>;
  last_processed_seq: number;
  last_processed_message_id: string | null;
  last_seen_seq: Generated<number>;
  last_seen_message_id: string | null;
  joined_at: Timestamp<undefined>;
  xid: Generated<number>;
  joined_xid: Generated<number>;
}

export interface Memories {
  project_id: string;
  entity_id: string;
  key: string;
  value: string;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  owner_id: string;
}

export interface Messages {
  thread_id: string;
  seq: number;
  id: string;
  role: 'user' | 'assistant' | 'tool_call' | 'tool_result' | 'system';
  content: JsonColumn;
  tool_call_id: string | null;
  sender_id: string | null;
  run_id: string | null;
  step: number | null;
  metadata: JsonColumn<null | undefined>;
  created_at: Timestamp<undefined>;
  xid: Generated<number>;
}

export interface Migrations {
  id: number;
  name: string;
  breaking: boolean;
  applied_at: Timestamp<undefined>;
}

export interface NetworkAgentTools {
  network_id: string;
  network_agent_id: string;
  tool_id: string;
  position: number;
}

export interface NetworkAgents {
  id: string;
  network_id: string;
  position: number;
  key: string;
  agent_id: string | null;
  display_name: string | null;
  description: Generated<string>;
  prompt: Generated<string>;
  model_id: string | null;
  allow_respond: Generated<boolean>;
  is_default: Generated<boolean>;
  metadata: JsonColumn<undefined>;
  allow_task_group: Generated<boolean>;
}

export interface NetworkBatchItems {
  batch_id: string;
  row_number: number;
  iteration: number;
  attempt: Generated<number>;
  status: Generated<'pending' | 'queued' | 'running' | 'completed' | 'failed' | 'canceled' | 'bad'>;
  run_id: string | null;
  canceling: Generated<boolean>;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  cost: Generated<number>;
  started_at: Timestamp<null | undefined>;
  ended_at: Timestamp<null | undefined>;
}

export interface NetworkBatchRows {
  batch_id: string;
  row_number: number;
  input: JsonColumn<null | undefined>;
  metadata: JsonColumn<undefined>;
  error: JsonColumn<null | undefined>;
}

export interface NetworkBatchSealed {
  batch_id: string;
  row_group: number;
  sealed: JsonColumn;
}

export interface NetworkBatches {
  id: string;
  project_id: string;
  network_id: string;
  network_name: string;
  network_version: number;
  snapshot_id: string;
  agent: string;
  wall_ms: number;
  name: string | null;
  iterations: number;
  concurrency: number;
  sealed: JsonColumn<null | undefined>;
  metadata: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
  canceled_at: Timestamp<null | undefined>;
}

export interface NetworkRoutes {
  network_id: string;
  from_id: string;
  to_id: string;
  position: number;
}

export interface NetworkTools {
  network_id: string;
  tool_id: string;
  position: number;
  description: string | null;
  params: JsonColumn<null | undefined>;
}

export interface NetworkVersions {
  network_id: string;
  version: number;
  snapshot_id: string;
  definition: JsonColumn;
  created_by: string;
  published_by: string;
  published_at: Timestamp<undefined>;
  notes: string | null;
  id: Generated<string>;
  created_at: Timestamp<undefined>;
}

export interface Networks {
  id: string;
  project_id: string;
  name: string;
  description: string | null;
  status: Generated<'draft' | 'published' | 'archived'>;
  current_version: number | null;
  policy: JsonColumn;
  response: JsonColumn;
  log_policy: JsonColumn;
  metadata: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  current_version_id: string | null;
}

export interface Plans {
  id: string;
  project_id: string;
  agent_id: string;
  entity_id: string;
  name: string;
  instruction: Generated<string>;
  run_after: string | null;
  scheduled_at: Timestamp<null | undefined>;
  cron: string | null;
  time_zone: string | null;
  status: Generated<'pending' | 'completed' | 'canceled'>;
  next_run_at: Timestamp<null | undefined>;
  last_run_at: Timestamp<null | undefined>;
  last_run_id: string | null;
  version: Generated<number>;
  set_by: string | null;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface Projects {
  id: string;
  name: string;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  tokens: JsonColumn<null | undefined>;
  default_model_id: string | null;
  environment_kinds: Generated<string[]>;
  outgoing: JsonColumn<undefined>;
  agents_brought: Generated<boolean>;
  compaction_model_id: string | null;
}

export interface PurgedTombstones {
  project_id: string;
  xid: number;
}

export interface ReplyWaits {
  run_id: string;
  call_id: string;
  space_id: string;
  entity_id: string;
  message_id: string;
  message_seq: number;
  waiting_for: JsonColumn;
  any_reply: boolean;
  replies: JsonColumn<undefined>;
  timeout_ms: number;
  started_at: Timestamp<undefined>;
}

export interface RetentionProgress {
  project_id: string;
  key: string;
  upto: Timestamp;
}

export interface RetentionRules {
  project_id: string;
  agent_id: string | null;
  rules: JsonColumn;
  updated_at: Timestamp<undefined>;
}

export interface RunHeads {
  run_id: string;
  worker_id: string | null;
  epoch: number;
  version: number;
  step: number;
  input_tokens: number;
  output_tokens: number;
  cost: number;
}

export interface RunPrompts {
  run_id: string;
  step: number;
  space_id: string | null;
  system: string;
  created_at: Timestamp<undefined>;
}

export interface RunShown {
  run_id: string;
  space_id: string;
  seqs: Generated<string>;
  prompt_upto: number | null;
}

export interface RunSteps {
  run_id: string;
  step: number;
  agent_key: string | null;
  provider: string;
  model: string;
  worker_id: string;
  epoch: number;
  attempt: number;
  started_at: Timestamp;
  first_token_at: Timestamp<null | undefined>;
  finished_at: Timestamp;
  input_tokens: number;
  output_tokens: number;
  cost: number;
  finish_reason: string;
  decision: JsonColumn<null | undefined>;
  budgeted: Generated<boolean>;
}

export interface Runs {
  id: string;
  project_id: string;
  door: string;
  agent_id: string | null;
  entity_id: string | null;
  snapshot_id: string;
  thread_id: string;
  parent_run_id: string | null;
  root_run_id: string;
  trigger_type: string;
  trigger_message_id: string | null;
  trigger_seq: number | null;
  trigger: JsonColumn<undefined>;
  chain_depth: Generated<number>;
  status: Generated<'queued' | 'running' | 'waiting_tool' | 'waiting_reply' | 'completed' | 'failed' | 'canceled'>;
  serial: Generated<boolean>;
  ready: Generated<boolean>;
  lane: string | null;
  lane_limit: number | null;
  run_at: Timestamp<undefined>;
  step: Generated<number>;
  epoch: Generated<number>;
  worker_id: string | null;
  attempt: Generated<number>;
  model_index: Generated<number>;
  takeovers: Generated<number>;
  open_calls: Generated<number>;
  steers: Generated<number>;
  history_limit: Generated<number>;
  wait_state: JsonColumn<null | undefined>;
  wait_deadline: Timestamp<null | undefined>;
  wall_ms: number;
  deadline_at: Timestamp<null | undefined>;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  cost: Generated<number>;
  budget_ids: string[] | null;
  outcome: JsonColumn<null | undefined>;
  error: JsonColumn<null | undefined>;
  cancel_reason: 'user' | 'absorbed' | 'timeout' | 'budget' | 'superseded' | 'parent' | null;
  absorbed_by: string | null;
  metadata: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
  started_at: Timestamp<null | undefined>;
  completed_at: Timestamp<null | undefined>;
  canceled_at: Timestamp<null | undefined>;
  updated_at: Timestamp<undefined>;
  takeovers_in_all: Generated<number>;
  owner_id: string | null;
  space_id: string | null;
  active_space_id: string | null;
  origin_id: string | null;
  network_id: string | null;
  network_version: number | null;
  sealed: JsonColumn<null | undefined>;
  parent_call_id: string | null;
  lives: Generated<number>;
  code_tools: string[] | null;
  task_id: string | null;
  xid: Generated<number>;
  watchers: string[] | null;
  queued_from: number | null;
}

export interface Secrets {
  project_id: string;
  name: string;
  envelope: JsonColumn;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface Sessions {
  id: string;
  project_id: string;
  agent_id: string;
  entity_id: string;
  thread_id: string;
  title: string | null;
  tags: Generated<string[]>;
  model_id: string | null;
  policy: Generated<'queue' | 'steer' | 'interrupt' | 'reject'>;
  metadata: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  xid: Generated<number>;
  expires_at: Timestamp<null | undefined>;
}

export interface Spaces {
  id: string;
  project_id: string;
  name: string | null;
  description: string | null;
  policy: Generated<'all' | 'mentions' | 'humans'>;
  chain_depth: Generated<number>;
  agent_runs: Generated<number>;
  metadata: JsonColumn<undefined>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  xid: Generated<number>;
}

export interface SubAgents {
  id: string;
  project_id: string;
  user_id: string | null;
  chat_id: string;
  task_id: string;
  agent_id: string;
  role: string;
  thread_id: string;
  status: Generated<'active' | 'waiting_for_user' | 'completed' | 'failed'>;
  iteration_count: Generated<number>;
  summary: string | null;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  xid: number;
}

export interface Tasks {
  id: string;
  project_id: string;
  user_id: string | null;
  chat_id: string;
  type: 'agent' | 'tool';
  name: string;
  instruction: string;
  args: JsonColumn<null | undefined>;
  sub_agent_id: string | null;
  trigger_message_id: string | null;
  status: Generated<'pending' | 'running' | 'waiting' | 'success' | 'failed' | 'canceled'>;
  result: string | null;
  error: JsonColumn<null | undefined>;
  question: string | null;
  background: Generated<boolean>;
  depth: number;
  parent_task_id: string | null;
  parent_run_id: string | null;
  parent_call_id: string | null;
  run_id: string;
  told: Generated<number>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  xid: number;
  chat_thread_id: string | null;
  quiet: Generated<boolean>;
}

export interface Threads {
  id: string;
  project_id: string;
  kind: 'session' | 'space' | 'sub_agent' | 'run';
  last_message_seq: Generated<number>;
  last_event_seq: Generated<number>;
  active_run_id: string | null;
  created_at: Timestamp<undefined>;
  failed_run_id: string | null;
}

export interface TodoLists {
  thread_id: string;
  items: JsonColumn;
  updated_at: Timestamp<undefined>;
}

export interface Tombstones {
  collection: string;
  id: string;
  project_id: string;
  entity_id: string | null;
  place_id: string | null;
  chat_id: string | null;
  was: number;
  born_at: Timestamp<null | undefined>;
  gone_at: Timestamp<undefined>;
  xid: Generated<number>;
}

export interface ToolCalls {
  run_id: string;
  call_id: string;
  step: number;
  position: number;
  tool: string;
  args: JsonColumn;
  effect: 'pure' | 'idempotent' | 'once';
  status: 'requested' | 'running' | 'completed' | 'failed' | 'canceled' | 'expired' | 'in_doubt';
  waits_for: 'client' | 'approval' | 'person' | 'task' | 'reply' | 'answer' | null;
  output: JsonColumn<null | undefined>;
  error: JsonColumn<null | undefined>;
  attempt: Generated<number>;
  epoch: number;
  deadline: Timestamp<null | undefined>;
  settled_by: string | null;
  created_at: Timestamp<undefined>;
  settled_at: Timestamp<null | undefined>;
  edited: Generated<boolean>;
  shown: JsonColumn<null | undefined>;
  xid: Generated<number>;
}

export interface Tools {
  id: string;
  project_id: string;
  name: string;
  display_name: string | null;
  description: Generated<string>;
  kind: 'http' | 'client' | 'ui' | 'static' | 'echo' | 'mcp' | 'code' | 'network' | 'agent';
  input_schema: JsonColumn;
  effect: Generated<'pure' | 'idempotent' | 'once'>;
  approval: Generated<boolean>;
  visible: Generated<boolean>;
  config: JsonColumn<undefined>;
  version: Generated<number>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
  params: JsonColumn<null | undefined>;
  mcp_server_id: Generated<string | null>;
  agent_id: string | null;
}

export interface TriggerAttempts {
  delivery_id: string;
  attempt: number;
  started_at: Timestamp<undefined>;
  duration_ms: number | null;
  request: JsonColumn<null | undefined>;
  response: JsonColumn<null | undefined>;
  error: JsonColumn<null | undefined>;
}

export interface TriggerDeliveries {
  id: string;
  project_id: string;
  trigger_id: string;
  version: number;
  action_version: number;
  change_id: number;
  event: string;
  path: string;
  document_id: string;
  user_id: string | null;
  chat_id: string | null;
  erased: Generated<boolean>;
  before: JsonColumn<null | undefined>;
  after: JsonColumn<null | undefined>;
  depth: number;
  own: boolean;
  status: Generated<'pending' | 'sending' | 'delivered' | 'dead'>;
  attempts: Generated<number>;
  attempts_before: Generated<number>;
  next_attempt_at: Timestamp<null | undefined>;
  lease_until: Timestamp<null | undefined>;
  error: JsonColumn<null | undefined>;
  result: JsonColumn<null | undefined>;
  changed_at: Timestamp;
  created_at: Timestamp<undefined>;
  ended_at: Timestamp<null | undefined>;
}

export interface TriggerVersions {
  trigger_id: string;
  version: number;
  definition: JsonColumn;
  created_at: Timestamp<undefined>;
}

export interface Triggers {
  id: string;
  project_id: string;
  name: string;
  version: Generated<number>;
  definition: JsonColumn;
  collections: string[];
  pattern: string;
  events: string[];
  enabled: boolean;
  disabled_reason: string | null;
  condition_error: JsonColumn<null | undefined>;
  dead_in_row: Generated<number>;
  created_at: Timestamp<undefined>;
  updated_at: Timestamp<undefined>;
}

export interface UsagePurged {
  project_id: string;
  at: Timestamp;
  agent_id: string | null;
  network_id: string | null;
  model: string | null;
  started: number;
  completed: number;
  failed: number;
  canceled: number;
  input_tokens: number;
  output_tokens: number;
  cost: number;
}

export interface UsageSums {
  project_id: string;
  every: 'hour' | 'day';
  at: Timestamp;
  sums: JsonColumn;
}

export interface Workers {
  incarnation: string;
  host: string;
  pid: number;
  beat: number;
  capacity: Generated<number>;
  load: Generated<number>;
  draining: Generated<boolean>;
  code_tools: Generated<string[]>;
  started_at: Timestamp<undefined>;
  beat_at: Timestamp<undefined>;
}

export interface DB {
  agent_capabilities: AgentCapabilities;
  agent_tools: AgentTools;
  agent_versions: AgentVersions;
  agents: Agents;
  api_keys: ApiKeys;
  audit_log: AuditLog;
  budget_leases: BudgetLeases;
  budgets: Budgets;
  captured: Captured;
  change_documents: ChangeDocuments;
  changes: Changes;
  clients: Clients;
  code_tools: CodeTools;
  compiled_snapshots: CompiledSnapshots;
  deleted_threads: DeletedThreads;
  doors: Doors;
  ended_runs: EndedRuns;
  entities: Entities;
  erasures: Erasures;
  event_batches: EventBatches;
  events: Events;
  file_totals: FileTotals;
  files: Files;
  findings: Findings;
  folded_messages: FoldedMessages;
  goals: Goals;
  idempotency_keys: IdempotencyKeys;
  joins: Joins;
  llm_models: LlmModels;
  llm_providers: LlmProviders;
  mcp_servers: McpServers;
  memberships: Memberships;
  memories: Memories;
  messages: Messages;
  migrations: Migrations;
  network_agent_tools: NetworkAgentTools;
  network_agents: NetworkAgents;
  network_batch_items: NetworkBatchItems;
  network_batch_rows: NetworkBatchRows;
  network_batch_sealed: NetworkBatchSealed;
  network_batches: NetworkBatches;
  network_routes: NetworkRoutes;
  network_tools: NetworkTools;
  network_versions: NetworkVersions;
  networks: Networks;
  plans: Plans;
  projects: Projects;
  purged_tombstones: PurgedTombstones;
  reply_waits: ReplyWaits;
  retention_progress: RetentionProgress;
  retention_rules: RetentionRules;
  run_heads: RunHeads;
  run_prompts: RunPrompts;
  run_shown: RunShown;
  run_steps: RunSteps;
  runs: Runs;
  secrets: Secrets;
  sessions: Sessions;
  spaces: Spaces;
  sub_agents: SubAgents;
  tasks: Tasks;
  threads: Threads;
  todo_lists: TodoLists;
  tombstones: Tombstones;
  tool_calls: ToolCalls;
  tools: Tools;
  trigger_attempts: TriggerAttempts;
  trigger_deliveries: TriggerDeliveries;
  trigger_versions: TriggerVersions;
  triggers: Triggers;
  usage_purged: UsagePurged;
  usage_sums: UsageSums;
  workers: Workers;
}
