import { z } from 'zod';
import {
  alsoNamed,
  change,
  id,
  inAddress,
  isFree,
  listQuery,
  metadata,
  name,
  oneLine,
  page,
  patchOf,
  timestamp,
  wholeNumber,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { eventFrames } from './events.ts';
import { type Json, type JsonObject, json, jsonObject } from './json.ts';
import { agentSource, networkSource } from './network-source.ts';
import { run } from './runs.ts';

// Agents, tools and the routes allowed between them: edited as rows, published as versions, enforced when they run. Long because it is one
// noun: the document, then what is made of it, then its endpoints, one after the other.

export const networkStatus = z.enum(['draft', 'published', 'archived']);
export type NetworkStatus = z.infer<typeof networkStatus>;

/** A word that agents and tools of a network are called by; the same whatever the case. */
export const networkKey = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    'must begin with a letter, and be letters, digits, "_" and "-", at most 64',
  );

const text = z.string().max(100_000);

/** What runs of the network are bound by; what is not set is the platform's. */
export const networkPolicy = z.strictObject({
  maxSteps: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .describe('Model calls of a run, of all agents together.')
    .default(25),
  retries: z
    .number()
    .int()
    .min(0)
    .max(20)
    .describe('How many decisions in a row may be refused before the run fails.')
    .default(3),
  toolCalls: z.number().int().min(0).max(10_000).default(200),
  modelTries: z.number().int().min(1).max(20).default(3),
  retryBackoffMs: z.number().int().min(0).max(60_000).default(500),
  modelTimeoutMs: z.number().int().min(1_000).max(3_600_000).default(600_000),
  wallMs: z
    .number()
    .int()
    .min(1_000)
    .max(30 * 86_400_000)
    .default(86_400_000),
  tokens: z.number().int().positive().nullable().describe('Of the whole run; null: no limit.').default(null),
  maxTasks: z.number().int().min(1).max(200).describe('Tasks that one answer may give.').default(20),
  taskSteps: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .describe('Model calls of a task that was delegated to an agent.')
    .default(10),
  taskDepth: z
    .number()
    .int()
    .min(1)
    .max(20)
    .describe('How deep tasks may be nested: delegated ones, networks and agents that are called as tools.')
    .default(3),
  runTasks: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .describe('Such tasks in all that may follow from one run, those of its tasks included.')
    .default(100),
});
export type NetworkPolicy = z.infer<typeof networkPolicy>;

/** What an answer of the network must look like. */
export const responseContract = z.strictObject({
  schema: jsonObject.nullable().describe('JSON Schema of the payload; null: anything.').default(null),
  guidance: text.nullable().describe('What the agents are told about it.').default(null),
  example: json.nullable().default(null),
});
export type ResponseContract = z.infer<typeof responseContract>;

const excerpt = z.strictObject({
  path: z.string().min(1).max(200).describe('Dots and brackets: `items[0].name`.'),
  label: z.string().max(100).optional(),
  maxChars: z.number().int().min(0).max(100_000).describe('0: all of it.').optional(),
});
/** What of requests and responses of tools later steps are shown in summaries. */
export const logPolicy = z.strictObject({
  defaults: z
    .strictObject({
      requestMaxChars: z.number().int().min(0).max(100_000).default(120),
      responseMaxChars: z.number().int().min(0).max(100_000).default(200),
    })
    .prefault({}),
  tools: z
    .record(
      networkKey,
      z.strictObject({
        request: z.array(excerpt).max(50).default([]),
        response: z.array(excerpt).max(50).default([]),
      }),
    )
    .default({}),
});
export type LogPolicy = z.infer<typeof logPolicy>;

export const paramSource = z.enum(['agent', 'system', 'default']);
/** Other names of `defaultValue`: a former one, and the one of network documents in snake case. */
export const DEFAULT_NAMES = { default: 'defaultValue', default_value: 'defaultValue' };
const param = z.strictObject({
  name: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
      'must begin with a letter or "_", and be letters, digits and "_", at most 64',
    ),
  source: paramSource.default('agent'),
  required: z.boolean().default(false),
  defaultValue: json.describe('The value if none is given. `default` is accepted as well.').optional(),
  schema: jsonObject
    .describe(
      'JSON Schema of the value. An invalid value of the agent is refused (`retry`); an invalid value of the system fails the run (`error`).',
    )
    .default({}),
});
/** A parameter of a tool, and its source: the agent that calls, the caller of the network, or the default value. */
export const toolParam = alsoNamed(DEFAULT_NAMES, param);
/** The same without other names. The example of an object with a field that is renamed would be lost in OpenAPI. */
export const plainToolParam = param;
export type ToolParam = z.infer<typeof toolParam>;

/** What a model must give: the parameters whose source is the agent, as JSON Schema of an object. */
export function inputSchemaOf(params: readonly ToolParam[]): JsonObject {
  const given = params.filter(({ source }) => source === 'agent');
  const schemaOf = ({ schema, defaultValue }: ToolParam) =>
    defaultValue === undefined || 'default' in schema ? schema : { ...schema, default: defaultValue };
  const required = given.filter((param) => param.required && param.defaultValue === undefined);
  return {
    type: 'object',
    properties: Object.fromEntries(given.map((param) => [param.name, schemaOf(param)])),
    required: required.map(({ name }) => name),
    additionalProperties: false,
  };
}

// A name where it is written, so that a document can be kept in a file and applied elsewhere; it is stored as the id.
const agentId = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe(
    'An agent of the project, by id or name, whose prompt and model it has, where it has none of its own.',
  );
const modelId = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .describe(
    'A model by its id, as `provider/model` with the name of the provider, or as what the provider calls it where one provider has such a model.',
  );

export const networkAgentDefinition = z.strictObject({
  key: networkKey,
  agentId: agentId.nullable().default(null),
  displayName: z.string().max(200).nullable().default(null),
  description: z
    .string()
    .max(10_000)
    .describe('What other agents read about it when they may route to it.')
    .default(''),
  prompt: z.string().max(1_000_000).default(''),
  modelId: modelId.nullable().default(null),
  allowRespond: z.boolean().default(false),
  allowTaskGroup: z
    .boolean()
    .describe('Whether it may give tasks to the agents that its routes lead to, and go on when all are done.')
    .default(false),
  isDefault: z.boolean().describe('Where runs begin. At most one.').default(false),
  tools: z.array(networkKey).max(2000).describe('Keys of tools of the network.').default([]),
  routes: z.array(networkKey).max(2000).describe('Keys of the agents that it may hand over to.').default([]),
  metadata: metadata.default({}),
});
export type NetworkAgentDefinition = z.infer<typeof networkAgentDefinition>;

/** A tool of the project in a network: under its own name, or with another description and other parameters. */
export const networkToolDefinition = z.strictObject({
  key: networkKey.describe('The name of a tool of the project.'),
  description: z.string().max(10_000).nullable().describe('Null: the tool’s own.').default(null),
  params: z.array(toolParam).max(100).nullable().describe('Null: the tool’s own.').default(null),
});
export type NetworkToolDefinition = z.infer<typeof networkToolDefinition>;

/** A whole network as one document: what `apply` takes, what a copy is made of, what a version is compiled from. */
export const networkDefinition = z.strictObject({
  name: name.describe('One network of the project has it, whatever the case.'),
  description: z.string().max(10_000).nullable().default(null),
  policy: networkPolicy.prefault({}),
  response: responseContract.prefault({}),
  logPolicy: logPolicy.prefault({}),
  tools: z.array(networkToolDefinition).max(2000).default([]),
  agents: z.array(networkAgentDefinition).max(1000).default([]),
  metadata: metadata.default({}),
});
export type NetworkDefinition = z.infer<typeof networkDefinition>;

export const network = z.object({
  ...networkDefinition.omit({ tools: true, agents: true }).shape,
  id,
  status: networkStatus.describe('`draft`: never published. `archived`: takes no new runs.'),
  currentVersion: z.number().int().positive().nullable().describe('What runs without a version run with.'),
  currentVersionId: id.nullable().describe('The id of that version.'),
  publishedAt: timestamp.nullable().describe('When that version was published.'),
  agentCount: z.number().int(),
  toolCount: z.number().int(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Network = z.infer<typeof network>;

export const networkAgent = z.object({
  ...networkAgentDefinition.shape,
  agentId: id.nullable(),
  modelId: id.nullable(),
  networkId: id,
});
export type NetworkAgent = z.infer<typeof networkAgent>;
export const networkTool = z.object({
  ...networkToolDefinition.shape,
  toolId: id,
  kind: z.string(),
  usedBy: z.array(networkKey).describe('Agents of the network that may call it.'),
});
export type NetworkTool = z.infer<typeof networkTool>;

/** What is wrong with a network, where. */
export const networkProblem = z.object({
  path: z.string().describe('Such as `agents.writer.routes.1`.'),
  code: z.string(),
  message: z.string(),
});
export type NetworkProblem = z.infer<typeof networkProblem>;

export const networkVersion = z.object({
  id,
  networkId: id,
  version: z.number().int().positive(),
  snapshotId: id.describe('The compiled snapshot, which belongs to this version only.'),
  checksum: z.string().describe('SHA-256 of the snapshot in canonical JSON.'),
  notes: z.string().nullable(),
  createdBy: z.string(),
  createdAt: timestamp,
  publishedBy: z.string(),
  publishedAt: timestamp,
  isCurrent: z.boolean(),
});
export type NetworkVersion = z.infer<typeof networkVersion>;

/** A version as a file that can be checked. Documents as they are: a default that is filled in would make another checksum. */
export const networkFile = z.strictObject({
  format: z.literal('troupe.network/1'),
  checksum: z.string().max(64).describe('SHA-256 of the snapshot in canonical JSON: that of the version.'),
  definitionChecksum: z.string().max(64).describe('SHA-256 of the definition in canonical JSON.'),
  definition: jsonObject.describe('A whole network as one document.'),
  snapshot: jsonObject,
});
export type NetworkFile = z.infer<typeof networkFile>;

const useTool = z.strictObject({
  type: z.literal('USE_TOOL'),
  tool: z.string().max(200),
  params: jsonObject.default({}),
});

/** A part of a group: a tool, or an agent that works on an assignment in a run of its own. */
export const networkTask = z.discriminatedUnion('type', [
  useTool,
  z.strictObject({
    type: z.literal('DELEGATE'),
    agent: z.string().max(200),
    assignment: z.string().max(1_000_000),
    context: json.optional(),
  }),
]);
export type NetworkTask = z.infer<typeof networkTask>;

/** A decision of an agent, as the runtime judges it. */
export const instruction = z.strictObject({
  reasoning: z.string().max(100_000).optional(),
  action: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('RESPOND'), payload: json }),
    z
      .strictObject({ type: z.literal('TASK_RESPOND'), payload: json })
      .describe('What an agent answers that was given a task.'),
    useTool,
    z.strictObject({ type: z.literal('TASK_GROUP'), tasks: z.array(networkTask).min(1).max(1000) }),
    z.strictObject({
      type: z.literal('ROUTE_TO_AGENT'),
      agent: z.string().max(200),
      context: json.optional(),
    }),
  ]),
});
export type Instruction = z.infer<typeof instruction>;

const judged = z.object({
  status: z
    .enum(['ok', 'retry', 'error'])
    .describe(
      '`retry`: the model’s fault, and it may decide again. `error`: the operator’s, and the run fails.',
    ),
  code: z.string().nullable(),
  message: z.string().nullable(),
  response: json.optional(),
  nextAgent: z.string().optional(),
  params: jsonObject
    .describe('What the agent gave, as it would be called with; never what the system gives.')
    .optional(),
});
export const verdict = judged.extend({
  tasks: z.array(judged).describe('Of a group: task by task. The group is as its worst.').optional(),
});
export type Verdict = z.infer<typeof verdict>;

// ---- endpoints. `{network}` is an id or a name.

const networkRef = z.string().min(1).max(200);
const networkParams = z.object({ network: networkRef });
const agentParams = z.object({ network: networkRef, key: networkKey });
const versionNumber = wholeNumber.positive().max(2_147_483_647);
const versionParams = z.object({ network: networkRef, version: inAddress(versionNumber) });
const base = '/v1/networks';
const DOCUMENTS =
  'Documents in snake case with `equipped_tools`, `allowed_routes`, `adjacency` and `default_value` are accepted.';
/** A thousand agents with their prompts. */
const DEFINITION_BYTES = 4_194_304;
const edits = [
  'name_invalid',
  'network_archived',
  'key_taken',
  'unknown_key',
  'self_route',
  'too_many_defaults',
  'tool_not_found',
  'agent_not_found',
  'model_not_found',
  'tool_schema_invalid',
] as const;

/** Without defaults: what is left out stays, also within `policy` and `response`. */
const networkPatch = z.strictObject({
  name: name.optional(),
  description: z.string().max(10_000).nullable().optional(),
  policy: patchOf(networkPolicy).optional(),
  response: patchOf(responseContract).optional(),
  logPolicy: logPolicy.optional(),
  metadata: metadata.optional(),
});

const agentPatch = z.strictObject({
  key: networkKey.optional(),
  agentId: agentId.nullable().optional(),
  displayName: z.string().max(200).nullable().optional(),
  description: z.string().max(10_000).optional(),
  prompt: z.string().max(1_000_000).optional(),
  modelId: modelId.nullable().optional(),
  allowRespond: z.boolean().optional(),
  allowTaskGroup: z.boolean().optional(),
  isDefault: z.boolean().optional(),
  metadata: metadata.optional(),
});

/** All of them are looked for in all that comes back from tools, in many forms: what that takes must be bounded. */
export const SYSTEM_PARAMS = { characters: 65_536, values: 1_000 };

const systemParams = z
  .record(z.string().max(64), json)
  .refine((params) => JSON.stringify(params).length <= SYSTEM_PARAMS.characters, {
    error: `take more than ${SYSTEM_PARAMS.characters} characters as JSON`,
    abort: true,
  })
  .refine(
    (params) => valuesIn(params) <= SYSTEM_PARAMS.values,
    `have more than ${SYSTEM_PARAMS.values} values`,
  )
  .describe('What tools get that no agent may give or see. Kept encrypted, and shown nowhere.')
  .default({});

function valuesIn(value: Json): number {
  if (value === null || typeof value !== 'object') return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + valuesIn(item), 0);
}

export const invocation = z.strictObject({
  input: z
    .union([z.string().min(1).max(1_000_000), jsonObject], { error: 'must be a text or an object' })
    .describe('What is asked.'),
  version: versionNumber.describe('Left out: the current one.').optional(),
  agent: networkKey.describe('Where it begins; left out: the default agent.').optional(),
  systemParams,
  mode: z
    .enum(['background', 'wait', 'stream'])
    .describe(
      '`wait`: the answer comes when the run has ended, or after `timeoutMs` as it is then. `stream`, or `Accept: text/event-stream`: the answer is the stream of its events.',
    )
    .default('background'),
  timeoutMs: z.number().int().min(100).max(600_000).default(60_000),
  user: z.string().min(1).max(500).regex(oneLine).refine(isFree, 'is reserved').optional(),
  metadata: metadata.default({}),
});
export type Invocation = z.infer<typeof invocation>;

export const invoked = run.extend({
  network: z.object({ id, name, version: z.number().int() }),
  response: json.describe('The payload, once it has responded; null before.'),
  agent: z.string().nullable().describe('The agent that is at it, or that responded.'),
});
export type Invoked = z.infer<typeof invoked>;

const draft = z
  .boolean()
  .describe('What is being edited, as it would be published now, in the place of a version.')
  .default(false);

export const networkEndpoints = {
  create: endpoint({
    method: 'POST',
    path: base,
    tag: 'networks',
    summary: 'Make a network, with all or nothing in it',
    description: DOCUMENTS,
    scope: 'networks:write',
    body: networkSource(networkDefinition),
    bodyBytes: DEFINITION_BYTES,
    status: 201,
    response: network,
    problems: ['name_taken', ...edits],
  }),
  list: endpoint({
    method: 'GET',
    path: base,
    tag: 'networks',
    summary: 'Networks, newest first',
    scope: 'networks:read',
    query: listQuery.extend({ status: networkStatus.optional() }),
    status: 200,
    response: page(network),
  }),
  get: endpoint({
    method: 'GET',
    path: `${base}/{network}`,
    tag: 'networks',
    summary: 'One network',
    scope: 'networks:read',
    params: networkParams,
    status: 200,
    response: network,
  }),
  update: endpoint({
    method: 'PATCH',
    path: `${base}/{network}`,
    tag: 'networks',
    summary: 'Change a network; fields that are left out stay, those of `policy` and `response` too',
    scope: 'networks:write',
    params: networkParams,
    body: networkPatch,
    status: 200,
    response: network,
    problems: ['name_taken', ...edits],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: `${base}/{network}`,
    tag: 'networks',
    summary: 'Delete a network; its runs stay',
    scope: 'networks:write',
    params: networkParams,
    status: 204,
    problems: ['network_in_use'],
  }),
  definition: endpoint({
    method: 'GET',
    path: `${base}/{network}/definition`,
    tag: 'networks',
    summary: 'The whole network as one document, as it is edited',
    description:
      'With `names` it has the names of agents and models in the place of their ids, and can be applied where the same names are there.',
    scope: 'networks:read',
    params: networkParams,
    query: z.strictObject({ names: z.enum(['true', 'false']).default('false') }),
    status: 200,
    response: networkDefinition,
  }),
  apply: endpoint({
    method: 'PUT',
    path: `${base}/{network}/definition`,
    tag: 'networks',
    summary: 'Make a network what a document says; made where there is none of that name',
    description: `${DOCUMENTS} Idempotent. With \`dryRun\` the differences are returned and nothing is changed. With \`updatedAt\`, the request is refused if the network was changed since.`,
    scope: 'networks:write',
    params: networkParams,
    query: z.strictObject({
      dryRun: z.enum(['true', 'false']).default('false'),
      updatedAt: timestamp
        .describe(
          'That of the network which the document was made of; another one is refused (`network_changed`).',
        )
        .optional(),
      against: inAddress(wholeNumber.positive().max(2_147_483_647))
        .describe(
          'A version that `versionChanges` compares with: what publishing would change, tools, models and agents of the project included.',
        )
        .optional(),
    }),
    body: networkSource(networkDefinition),
    bodyBytes: DEFINITION_BYTES,
    status: 200,
    response: z.object({
      network: network.nullable(),
      changes: z.array(change),
      problems: z
        .array(networkProblem)
        .describe('What keeps it from being published, as `validate` tells it.'),
      versionChanges: z
        .array(change)
        .nullable()
        .describe(
          'In what a version that is made of it would differ from the version `against`, as `diff` tells it. Null where that was not asked for, and where problems keep it from being published.',
        ),
    }),
    problems: ['name_taken', 'network_changed', 'version_not_found', ...edits],
  }),
  copy: endpoint({
    method: 'POST',
    path: `${base}/{network}/copy`,
    tag: 'networks',
    summary: 'A new draft with the same in it',
    scope: 'networks:write',
    params: networkParams,
    body: z.strictObject({ name }),
    status: 201,
    response: network,
    problems: ['name_taken', 'name_invalid'],
  }),
  graph: endpoint({
    method: 'GET',
    path: `${base}/{network}/graph`,
    tag: 'networks',
    summary: 'Agents, tools and routes as nodes and edges, as they are edited',
    scope: 'networks:read',
    params: networkParams,
    status: 200,
    response: z.object({
      network,
      agents: z.array(networkAgent),
      tools: z.array(networkTool),
      adjacency: z.array(z.object({ from: networkKey, to: networkKey })),
    }),
  }),
  addAgent: endpoint({
    method: 'POST',
    path: `${base}/{network}/agents`,
    tag: 'networks',
    summary: 'Add an agent',
    scope: 'networks:write',
    params: networkParams,
    body: agentSource(networkAgentDefinition),
    bodyBytes: 2_097_152,
    status: 201,
    response: networkAgent,
    problems: edits,
  }),
  agents: endpoint({
    method: 'GET',
    path: `${base}/{network}/agents`,
    tag: 'networks',
    summary: 'Its agents, by key',
    scope: 'networks:read',
    params: networkParams,
    status: 200,
    response: z.object({ data: z.array(networkAgent) }),
  }),
  updateAgent: endpoint({
    method: 'PATCH',
    path: `${base}/{network}/agents/{key}`,
    tag: 'networks',
    summary: 'Change an agent; made the default, it takes the place of the one that was',
    scope: 'networks:write',
    params: agentParams,
    body: agentPatch,
    bodyBytes: 2_097_152,
    status: 200,
    response: networkAgent,
    problems: edits,
  }),
  removeAgent: endpoint({
    method: 'DELETE',
    path: `${base}/{network}/agents/{key}`,
    tag: 'networks',
    summary: 'Remove an agent to which no route leads',
    scope: 'networks:write',
    params: agentParams,
    status: 204,
    problems: ['agent_in_use', 'network_archived'],
  }),
  setAgentTools: endpoint({
    method: 'PUT',
    path: `${base}/{network}/agents/{key}/tools`,
    tag: 'networks',
    summary: 'All tools of an agent, in the place of those it had',
    scope: 'networks:write',
    params: agentParams,
    body: z.strictObject({ tools: z.array(networkKey).max(2000) }),
    status: 200,
    response: networkAgent,
    problems: edits,
  }),
  setAgentRoutes: endpoint({
    method: 'PUT',
    path: `${base}/{network}/agents/{key}/routes`,
    tag: 'networks',
    summary: 'All routes of an agent, in the place of those it had',
    scope: 'networks:write',
    params: agentParams,
    body: z.strictObject({ routes: z.array(networkKey).max(2000) }),
    status: 200,
    response: networkAgent,
    problems: edits,
  }),
  tools: endpoint({
    method: 'GET',
    path: `${base}/{network}/tools`,
    tag: 'networks',
    summary: 'Its tools, by key',
    scope: 'networks:read',
    params: networkParams,
    status: 200,
    response: z.object({ data: z.array(networkTool) }),
  }),
  setTools: endpoint({
    method: 'PUT',
    path: `${base}/{network}/tools`,
    tag: 'networks',
    summary: 'All its tools, in the place of those it had',
    scope: 'networks:write',
    params: networkParams,
    body: z.strictObject({ tools: z.array(networkToolDefinition).max(2000) }),
    bodyBytes: DEFINITION_BYTES,
    status: 200,
    response: z.object({ data: z.array(networkTool) }),
    problems: ['tool_in_use', ...edits],
  }),
  validate: endpoint({
    method: 'POST',
    path: `${base}/{network}/validate`,
    tag: 'networks',
    summary: 'All that is wrong with it, at once',
    scope: 'networks:read',
    params: networkParams,
    status: 200,
    response: z.object({ ok: z.boolean(), problems: z.array(networkProblem) }),
  }),
  publish: endpoint({
    method: 'POST',
    path: `${base}/{network}/publish`,
    tag: 'networks',
    summary: 'Compile it, and have runs use that from now on',
    description: 'The same content as the current version makes no new one (`created: false`).',
    scope: 'networks:write',
    params: networkParams,
    body: z.strictObject({ notes: z.string().max(2000).nullable().default(null) }).prefault({}),
    status: 200,
    response: networkVersion.extend({ created: z.boolean() }),
    problems: ['network_invalid', 'network_archived'],
  }),
  versions: endpoint({
    method: 'GET',
    path: `${base}/{network}/versions`,
    tag: 'networks',
    summary: 'Versions, newest first',
    scope: 'networks:read',
    params: networkParams,
    query: listQuery,
    status: 200,
    response: page(networkVersion),
  }),
  version: endpoint({
    method: 'GET',
    path: `${base}/{network}/versions/{version}`,
    tag: 'networks',
    summary: 'A version with its snapshot',
    scope: 'networks:read',
    params: versionParams,
    status: 200,
    response: networkVersion.extend({ snapshot: jsonObject }),
    problems: ['version_not_found'],
  }),
  diff: endpoint({
    method: 'GET',
    path: `${base}/{network}/diff`,
    tag: 'networks',
    summary: 'What two versions differ in',
    scope: 'networks:read',
    params: networkParams,
    query: z.strictObject({ from: inAddress(versionNumber), to: inAddress(versionNumber) }),
    status: 200,
    response: z.object({ from: z.number().int(), to: z.number().int(), changes: z.array(change) }),
    problems: ['version_not_found'],
  }),
  rollback: endpoint({
    method: 'POST',
    path: `${base}/{network}/rollback`,
    tag: 'networks',
    summary: 'Have runs use an earlier version from now on',
    scope: 'networks:write',
    params: networkParams,
    body: z.strictObject({ version: versionNumber }),
    status: 200,
    response: networkVersion,
    problems: ['network_archived', 'version_not_found'],
  }),
  archive: endpoint({
    method: 'POST',
    path: `${base}/{network}/archive`,
    tag: 'networks',
    summary: 'Take no new runs',
    scope: 'networks:write',
    params: networkParams,
    body: z.strictObject({ archived: z.boolean().default(true) }).prefault({}),
    status: 200,
    response: network,
  }),
  export: endpoint({
    method: 'GET',
    path: `${base}/{network}/versions/{version}/export`,
    tag: 'networks',
    summary: 'A version as a file that can be checked',
    scope: 'networks:read',
    params: versionParams,
    status: 200,
    response: networkFile,
    problems: ['version_not_found'],
  }),
  import: endpoint({
    method: 'POST',
    path: `${base}/import`,
    tag: 'networks',
    summary: 'A new draft from such a file, if its checksum is right',
    scope: 'networks:write',
    body: networkFile.extend({ name: name.describe('Left out: the one that it had.').optional() }),
    bodyBytes: 2 * DEFINITION_BYTES,
    status: 201,
    response: network,
    problems: ['checksum_wrong', 'name_taken', ...edits],
  }),
  invoke: endpoint({
    method: 'POST',
    path: `${base}/{network}/invoke`,
    tag: 'networks',
    summary: 'Run a network',
    description:
      'A stream is that of the run from its first event on, or after `Last-Event-ID`, and ends with `invoked` once the run has ended. Who leaves it stops nothing; sent again with the same Idempotency-Key, the request streams the same run.',
    scope: 'networks:run',
    params: networkParams,
    body: invocation,
    status: 201,
    response: invoked,
    frames: [
      ...eventFrames,
      {
        name: 'Invoked',
        event: 'invoked',
        description: 'Last: the run, as it has ended.',
        schema: invoked,
      },
    ],
    problems: [
      'network_not_published',
      'network_archived',
      'version_not_found',
      'unknown_key',
      'unknown_system_param',
    ],
  }),
  runs: endpoint({
    method: 'GET',
    path: `${base}/{network}/runs`,
    tag: 'networks',
    summary: 'Its runs, newest first',
    scope: 'networks:read',
    params: networkParams,
    query: listQuery,
    status: 200,
    response: page(invoked),
  }),
  run: endpoint({
    method: 'GET',
    path: `${base}/{network}/runs/{runId}`,
    tag: 'networks',
    summary: 'One of its runs, as the invocation answers it',
    description:
      'With `waitMs` the answer comes when the run has ended, or after so long as it is then. `GET /v1/runs/{runId}` has the steps and calls.',
    scope: 'networks:read',
    params: z.object({ network: networkRef, runId: id }),
    query: z.strictObject({
      waitMs: inAddress(wholeNumber.nonnegative().max(50_000))
        .describe('How long to wait for its end.')
        .prefault(0),
    }),
    status: 200,
    response: invoked,
  }),
  check: endpoint({
    method: 'POST',
    path: `${base}/{network}/check`,
    tag: 'networks',
    summary: 'Judge one instruction, without a model and without effect',
    scope: 'networks:read',
    params: networkParams,
    body: z.strictObject({
      version: versionNumber.optional(),
      draft,
      agent: z.string().max(64),
      instruction,
      delegated: z.boolean().describe('As in a task that the agent was given.').default(false),
      systemParams,
    }),
    status: 200,
    response: verdict,
    problems: [
      'network_not_published',
      'version_not_found',
      'network_invalid',
      'unknown_key',
      'unknown_system_param',
    ],
  }),
  prompt: endpoint({
    method: 'POST',
    path: `${base}/{network}/prompt`,
    tag: 'networks',
    summary: 'The exact prompt that an agent would get',
    scope: 'networks:read',
    params: networkParams,
    body: z.strictObject({
      version: versionNumber.optional(),
      draft,
      agent: z.string().max(64).optional(),
      delegated: z.boolean().describe('As in a task that the agent was given.').default(false),
      input: z.union([z.string().max(1_000_000), jsonObject]).default(''),
    }),
    status: 200,
    response: z.object({
      agent: networkKey,
      system: z.string(),
      messages: z.array(json),
      tools: z.array(z.object({ name: z.string(), description: z.string(), inputSchema: jsonObject })),
    }),
    problems: ['network_not_published', 'version_not_found', 'network_invalid', 'unknown_key'],
  }),
} as const;
