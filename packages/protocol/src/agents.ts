import { z } from 'zod';
import { agentSource } from './agent-source.ts';
import { capabilityId } from './capabilities.ts';
import {
  baseVersion,
  change,
  id,
  inAddress,
  listQuery,
  metadata,
  name,
  page,
  tags,
  timestamp,
  toolName,
  wholeNumber,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { jsonObject } from './json.ts';
import { answerFormat, compactionSettings, snapshotLimits, snapshotTool } from './snapshots.ts';
import { newTool, toolDefinition } from './tools.ts';

export const agentCapability = z.strictObject({ id: capabilityId, config: jsonObject.default({}) });

/** A capability that an agent carries, as it is stored. */
export const carriedCapability = z.object({
  id: id.describe('Of the pair of agent and capability. It stays while the agent carries the capability.'),
  agentId: id,
  capabilityId,
  position: z.number().int().nonnegative().describe('Lower is earlier.'),
  config: jsonObject.describe('Configuration by the agent.'),
  createdAt: timestamp.describe('When it was added to the agent.'),
});
export type CarriedCapability = z.infer<typeof carriedCapability>;

const { shape: limit } = snapshotLimits;

/** Limits that are not set are the platform's, also when those change; so none is filled in here. */
export const agentLimits = z.strictObject({
  steps: limit.steps.removeDefault().optional(),
  toolCalls: limit.toolCalls.removeDefault().optional(),
  fanOut: limit.fanOut.removeDefault().optional(),
  wallMs: limit.wallMs.removeDefault().optional(),
  tokens: limit.tokens,
  chainDepth: limit.chainDepth.removeDefault().optional(),
  concurrentRuns: limit.concurrentRuns,
  messageBytes: limit.messageBytes.removeDefault().optional(),
  toolOutputBytes: limit.toolOutputBytes.removeDefault().optional(),
  modelTimeoutMs: limit.modelTimeoutMs.removeDefault().optional(),
  modelStallMs: limit.modelStallMs.removeDefault().optional(),
  modelTries: limit.modelTries.removeDefault().optional(),
  retryBackoffMs: limit.retryBackoffMs.removeDefault().optional(),
  historyMessages: limit.historyMessages,
});

/** How conversations with the agent are summarised; omitted fields have the defaults of the platform. */
export const agentCompaction = compactionSettings.extend({
  modelId: id
    .nullable()
    .describe('The model that writes summaries. Null: the one of the project, or else the agent’s own.')
    .optional(),
});

/** Everything about an agent that a person edits; one version is one of these. */
export const agentDefinition = z.strictObject({
  name: name.describe('One agent of a project has it, whatever the case.'),
  description: z.string().max(10_000).nullable().default(null),
  systemPrompt: z
    .string()
    .max(1_000_000)
    .describe('What the model is told before the conversation; capabilities add to it.')
    .default(''),
  defaultModelId: id
    .nullable()
    .describe('Its model, unless a message or a session names another. Null: the default of the project.')
    .default(null),
  fallbackModelIds: z
    .array(id)
    .max(8)
    .describe('Tried in this order where the first model fails.')
    .default([]),
  tags: tags.default([]),
  capabilities: z
    .array(agentCapability)
    .max(250)
    .describe('Prompts and tools that it carries, applied in this order.')
    .default([]),
  tools: z
    .array(toolName)
    .max(250)
    .describe(
      'Names of tools that it may call, besides the tools of its capabilities: from `inlineTools` and from the project. A definition instead of a name becomes one of `inlineTools`.',
    )
    .default([]),
  inlineTools: z
    .array(toolDefinition)
    .max(250)
    .describe(
      'Tools of this agent alone, which change with its versions. One that `tools` does not name is added there.',
    )
    .default([]),
  approvals: z
    .array(toolName)
    .max(500)
    .describe(
      'Tools, of whatever origin, of which a person must approve every call; beside those that always need it.',
    )
    .default([]),
  approvers: z
    .enum(['anyone', 'keys'])
    .describe(
      'Who decides about calls that wait for approval or whose outcome is in doubt: `anyone` who can reach the session, so the person who talks to the agent too, or only whoever has a secret key.',
    )
    .default('anyone'),
  answer: answerFormat.nullable().describe('What its answers must look like. Null: free text.').default(null),
  compaction: agentCompaction
    .describe('How conversations are summarised that no longer fit the context of the model.')
    .default({}),
  limits: agentLimits.describe('Those that are not set are the ones of the platform.').default({}),
  inDoubt: z
    .enum(['tell', 'wait'])
    .describe(
      'What becomes of a call that must run only once and whose outcome a crash left unknown: `tell` the model, or `wait` for a person.',
    )
    .default('tell'),
  replyWaiting: z
    .boolean()
    .describe('In a space: whether it may wait for replies to what it says (`send_message` with `wait`).')
    .default(false),
  metadata: metadata.default({}),
});
export type AgentDefinition = z.infer<typeof agentDefinition>;

/** A new agent; also with definitions of tools among the names in `tools`, and with `configJson`. */
export const newAgent = agentSource(
  agentDefinition.extend({ inlineTools: z.array(newTool).max(250).default([]) }),
);

export const agent = z.object({
  ...agentDefinition.shape,
  id,
  entityId: id.describe('The entity that speaks for it.'),
  version: z.number().int().positive().describe('Goes up by one with every change of the definition.'),
  status: z
    .enum(['active', 'archived'])
    .describe('An archived agent takes no new work; its sessions stay readable.'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Agent = z.infer<typeof agent>;

export const agentPatch = z.strictObject({
  name: name.optional(),
  description: z.string().max(10_000).nullable().optional(),
  systemPrompt: z.string().max(1_000_000).nullable().optional(),
  defaultModelId: id.nullable().optional(),
  fallbackModelIds: z.array(id).max(8).nullable().optional(),
  tags: tags.nullable().optional(),
  capabilities: z.array(agentCapability).max(250).nullable().optional(),
  tools: z.array(toolName).max(250).nullable().optional(),
  inlineTools: z
    .array(newTool)
    .max(250)
    .describe('Inline tools of other names stay while `tools` names them.')
    .optional(),
  approvals: z.array(toolName).max(500).nullable().optional(),
  approvers: z.enum(['anyone', 'keys']).optional(),
  answer: answerFormat.nullable().optional(),
  compaction: agentCompaction.nullable().optional(),
  limits: agentLimits.nullable().optional(),
  inDoubt: z.enum(['tell', 'wait']).optional(),
  replyWaiting: z.boolean().optional(),
  metadata: metadata.nullable().optional(),
  status: z.enum(['active', 'archived']).optional(),
  notes: z
    .string()
    .max(2000)
    .describe('Why: for the list of versions, and where the status changes, for the audit log.')
    .optional(),
  baseVersion: baseVersion('agent'),
});
export type AgentPatch = z.infer<typeof agentPatch>;

const versionNumber = wholeNumber.positive().max(2_147_483_647);

export const agentVersion = z.object({
  agentId: id,
  version: z.number().int().positive(),
  checksum: z
    .string()
    .describe('Of what the version compiled to: equal where nothing that a run gets has changed.'),
  notes: z.string().nullable().describe('Why it was made.'),
  definition: agentDefinition.describe('The agent as it was.'),
  createdAt: timestamp,
});
export type AgentVersion = z.infer<typeof agentVersion>;

/** What a run of the agent would get: the prompt, the tools and the models, exactly. */
export const agentPreview = z.object({
  prompt: z.string(),
  tools: z.array(
    snapshotTool.pick({ name: true, description: true, inputSchema: true, effect: true, waitsFor: true }),
  ),
  models: z.array(z.object({ provider: z.string(), model: z.string() })),
  limits: snapshotLimits,
});
export type AgentPreview = z.infer<typeof agentPreview>;

const agentParams = z.object({ agentId: id });
const versionParams = z.object({ agentId: id, version: inAddress(versionNumber) });
const refusals = [
  'name_taken',
  'model_not_found',
  'capability_unknown',
  'capability_unavailable',
  'tool_taken',
  'tool_not_found',
  'approval_unknown',
  'answer_schema_invalid',
  'tool_schema_invalid',
  'tool_invalid',
] as const;

const INLINE =
  'Definitions of tools among the names in `tools` become tools of the agent (`inlineTools`). Fields within `configJson` are read as fields of the agent.';
const FOR_PEOPLE =
  'A person, by their token, sees active agents only, and of these neither prompt nor metadata nor what capabilities are set to.';

export const agentEndpoints = {
  create: endpoint({
    method: 'POST',
    path: '/v1/agents',
    tag: 'agents',
    summary: 'Create an agent',
    description: INLINE,
    scope: 'agents:write',
    body: newAgent,
    bodyBytes: 4_194_304,
    status: 201,
    response: agent,
    problems: refusals,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/agents',
    tag: 'agents',
    summary: 'Agents, newest first; archived ones only where asked for',
    description: FOR_PEOPLE,
    scope: 'agents:read',
    user: true,
    query: listQuery.extend({
      status: z.enum(['active', 'archived']).default('active'),
      tag: z.string().max(64).optional(),
      search: z.string().max(200).optional(),
    }),
    status: 200,
    response: page(agent),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}',
    tag: 'agents',
    summary: 'One agent',
    description: FOR_PEOPLE,
    scope: 'agents:read',
    user: true,
    params: agentParams,
    status: 200,
    response: agent,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/agents/{agentId}',
    tag: 'agents',
    summary: 'Change an agent; fields that are left out stay, null clears',
    description:
      'Any change of the definition is a new version. Null clears: a list becomes empty, as do `systemPrompt`, `limits` and `metadata`. `status` archives or brings back and makes none; `notes` then stand in the audit log.',
    scope: 'agents:write',
    params: agentParams,
    body: agentSource(agentPatch),
    bodyBytes: 4_194_304,
    status: 200,
    response: agent,
    problems: [...refusals, 'agent_in_use', 'version_conflict'],
  }),
  archive: endpoint({
    method: 'DELETE',
    path: '/v1/agents/{agentId}',
    tag: 'agents',
    summary: 'Archive an agent; its sessions stay readable, and PATCH status brings it back',
    scope: 'agents:write',
    params: agentParams,
    status: 204,
    problems: ['agent_in_use'],
  }),
  preview: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/preview',
    tag: 'agents',
    summary: 'The exact prompt and tools that a run would get',
    scope: 'agents:read',
    params: agentParams,
    status: 200,
    response: agentPreview,
    problems: ['model_not_found'],
  }),
  listCapabilities: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/capabilities',
    tag: 'agents',
    summary: 'The capabilities that an agent carries, in their order',
    scope: 'agents:read',
    params: agentParams,
    status: 200,
    response: page(carriedCapability),
  }),
  listVersions: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/versions',
    tag: 'agents',
    summary: 'All versions, newest first',
    scope: 'agents:read',
    params: agentParams,
    query: listQuery,
    status: 200,
    response: page(agentVersion),
  }),
  getVersion: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/versions/{version}',
    tag: 'agents',
    summary: 'One version',
    scope: 'agents:read',
    params: versionParams,
    status: 200,
    response: agentVersion,
    problems: ['version_not_found'],
  }),
  diff: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/diff',
    tag: 'agents',
    summary: 'What changed between two versions',
    scope: 'agents:read',
    params: agentParams,
    query: z.strictObject({
      from: inAddress(versionNumber),
      to: inAddress(versionNumber),
    }),
    status: 200,
    response: z.object({ from: z.number().int(), to: z.number().int(), changes: z.array(change) }),
    problems: ['version_not_found'],
  }),
  rollback: endpoint({
    method: 'POST',
    path: '/v1/agents/{agentId}/rollback',
    tag: 'agents',
    summary: 'Make an earlier version the current one again, as a new version',
    description: '`notes`: why, for the list of versions. Left out, they name the version.',
    scope: 'agents:write',
    params: agentParams,
    body: z.strictObject({ version: versionNumber, notes: agentPatch.shape.notes }),
    status: 200,
    response: agent,
    problems: [...refusals, 'version_not_found'],
  }),
  importOne: endpoint({
    method: 'POST',
    path: '/v1/agents/import',
    tag: 'agents',
    summary: 'Create or change the agent of that name from Markdown with front matter, YAML or JSON',
    description:
      'The agent becomes what the file says, all of it: what the file leaves out is the default. One that was archived is active again.',
    scope: 'agents:write',
    body: z.string().min(1).max(3_000_000),
    bodyTypes: ['text/markdown', 'text/plain', 'application/yaml', 'application/json'],
    bodyAsJson: newAgent,
    bodyBytes: 4_194_304,
    status: 200,
    response: agent,
    problems: [...refusals, 'import_unreadable'],
  }),
  exportOne: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/export',
    tag: 'agents',
    summary: 'The agent as a file that can be imported again',
    scope: 'agents:read',
    params: agentParams,
    query: z.strictObject({ format: z.enum(['markdown', 'yaml', 'json']).default('markdown') }),
    status: 200,
    responseTypes: ['text/markdown', 'application/yaml', 'application/json'],
  }),
} as const;
