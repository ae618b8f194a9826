import { z } from 'zod';
import { secretName } from './access.ts';
import { baseVersion, id, listQuery, metadata, oneLine, page, timestamp, toolName } from './common.ts';
import { endpoint } from './endpoint.ts';
import { json, jsonObject } from './json.ts';
import { toolMcp } from './mcp-servers.ts';
import { networkKey, plainToolParam, toolParam } from './networks.ts';
import { toolEffect } from './tool-calls.ts';
import { fromSource, sourceFields, toolSource } from './tool-source.ts';

/**
 * `http`: the server calls an address. `client`, `ui`: somebody outside answers. `static`: always the same output. `echo`: its arguments.
 * `mcp`: a tool of an MCP server. `code`: a function of a worker. `network`, `agent`: a run of one.
 */
export const toolKind = z.enum(['http', 'client', 'ui', 'static', 'echo', 'mcp', 'code', 'network', 'agent']);
export type ToolKind = z.infer<typeof toolKind>;

const oneLineText = z.string().max(8_000).regex(oneLine, 'must be one line');

/**
 * What is sent. Texts may hold `{{input.path.to.value}}` and `{{secrets.NAME}}`; scheme, host and port of the address may not.
 * A value that is nothing but one template keeps its JSON type, and is left out where the input has none.
 */
export const toolRequest = z.strictObject({
  url: oneLineText.min(1),
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'is no name of a header'), oneLineText)
    .default({}),
  query: z.record(z.string().min(1).max(200), z.union([oneLineText, z.number(), z.boolean()])).default({}),
  /** Absent: the arguments as JSON, and nothing with GET, HEAD and DELETE. */
  body: json.optional(),
});
export type ToolRequest = z.infer<typeof toolRequest>;

const pointer = z
  .string()
  .max(1_000)
  .regex(/^(\/([^~]|~[01])*)*$/, 'is no JSON Pointer (RFC 6901)');

export const toolResponse = z.strictObject({
  /** What of a JSON answer the model gets: one value, or several by name. Absent: `{ status, data }`. */
  pick: z.union([pointer, z.record(z.string().min(1).max(100), pointer)]).optional(),
  /** More is refused where the answer is JSON, and cut off where it is text. */
  maxBytes: z.number().int().min(1_000).max(16_777_216).default(262_144),
  /** `auto`: what its content type says. */
  as: z.enum(['auto', 'json', 'text']).default('auto'),
});
export type ToolResponse = z.infer<typeof toolResponse>;

/** The network that a call runs. Its input is what the model gives: `input` alone as it is, else all of it as an object. */
export const toolNetwork = z.strictObject({
  network: z.string().min(1).max(200).describe('Its id or its name.'),
  version: z.number().int().positive().max(2_147_483_647).describe('Left out: the current one.').optional(),
  agent: networkKey.describe('Where it begins; left out: its default agent.').optional(),
});
export type ToolNetwork = z.infer<typeof toolNetwork>;

/** The agent that a call asks. */
export const toolAgent = z.strictObject({
  agent: z.string().min(1).max(200).describe('Its id or its name.'),
});
export type ToolAgent = z.infer<typeof toolAgent>;

/** For whoever shows calls to people. */
export const toolDisplay = z.strictObject(
  {
    /** The component that renders the call. */
    customUI: z.string().min(1).max(200).nullable().default(null),
    /** `result`: a space sees it once it has one. A tool that somebody answers is always seen from the beginning. */
    when: z.enum(['always', 'result']).default('always'),
    showInput: z.boolean().default(true),
    showOutput: z.boolean().default(true),
  },
  {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys' && (keys as string[]).includes('mode')
        ? '"mode" is replaced by `visible` of the tool, with `showInput` and `showOutput`'
        : undefined,
  },
);
export type ToolDisplay = z.infer<typeof toolDisplay>;

const timeoutMs = z.number().int().min(1).max(600_000);
const deadlineMs = z
  .number()
  .int()
  .min(1)
  .max(30 * 86_400_000);
const text = z.string().max(10_000);

/** Everything about a tool that a person defines. */
export const toolDefinition = z.strictObject({
  /** As the model calls it. It stays: agents carry the tool by it. */
  name: toolName,
  displayName: z.string().max(200).nullable().default(null),
  description: text.default(''),
  kind: toolKind,
  /** What a call must be given, as JSON Schema. */
  inputSchema: jsonObject.default({ type: 'object' }),
  /** Who gives which parameter in a network. Null: the agent gives all that the schema has. */
  params: z.array(toolParam).max(100).nullable().default(null),
  effect: toolEffect,
  /** Whether a person must approve every call. Not for `client` and `ui`, which somebody answers anyway. */
  approval: z.boolean().default(false),
  visible: z.boolean(),
  /** How long the server may take to execute it. */
  timeoutMs: timeoutMs.default(30_000),
  /** How long somebody outside may take, to approve or to answer. */
  deadlineMs: deadlineMs.default(86_400_000),
  /** What the answer of a client must look like (`client`, `ui`). */
  outputSchema: jsonObject.nullable().default(null),
  /** What it always answers (`static`). */
  output: json.nullable().default(null),
  /** What is sent (`http`), and what of the answer is given to the model. */
  request: toolRequest.nullable().default(null),
  response: toolResponse.nullable().default(null),
  /** What is run (`network`), who is asked (`agent`). */
  network: toolNetwork.nullable().default(null),
  agent: toolAgent.nullable().default(null),
  /** What is called (`mcp`). `POST /v1/mcp-servers/{mcpServerId}/import` fills it in. */
  mcp: toolMcp.nullable().default(null),
  /** The function that workers have under this name (`code`). */
  function: toolName.nullable().default(null),
  /**
   * A secret of the project that the tool needs. An http tool sends it as `authorization: Bearer …`, unless its request
   * uses the secret elsewhere.
   */
  secretRef: secretName.nullable().default(null),
  display: toolDisplay.prefault({}),
  metadata: metadata.default({}),
});
export type ToolDefinition = z.infer<typeof toolDefinition>;

const { shape: field } = toolDefinition;

/** A new tool; also accepts tool JSON with `executionType` and `execution`, or with `key` and `provider_type`. */
export const newTool = toolSource(
  z
    .strictObject(
      {
        name: field.name,
        displayName: field.displayName,
        description: field.description,
        kind: toolKind.optional(),
        /** Absent: derived from the `params` with the source `agent`. */
        inputSchema: jsonObject.optional(),
        params: z.array(plainToolParam).max(100).nullable().default(null),
        /** Absent: `pure` for GET, HEAD, static and echo tools, `idempotent` for network and agent tools, otherwise `once`. */
        effect: toolEffect.optional(),
        approval: field.approval,
        /** Absent: true for `ui`. */
        visible: z.boolean().optional(),
        timeoutMs: timeoutMs.optional(),
        deadlineMs: deadlineMs.optional(),
        outputSchema: field.outputSchema,
        /** Absent: `{ "status": "ok" }`. */
        output: json.optional(),
        request: toolRequest.optional(),
        response: field.response,
        network: field.network,
        agent: field.agent,
        mcp: field.mcp,
        /** Absent: the name of the tool. */
        function: toolName.optional(),
        secretRef: field.secretRef,
        display: field.display,
        metadata: field.metadata,
        ...sourceFields,
      },
      {
        error: ({ code, keys }) =>
          code === 'unrecognized_keys' && (keys as string[]).includes('displayTool')
            ? '"displayTool" is replaced by `visible` (or `visibility`)'
            : undefined,
      },
    )
    .meta({
      examples: [
        {
          name: 'fetchWeather',
          kind: 'http',
          request: { url: 'https://api.example.com/current?city={{input.city}}' },
        },
      ],
    })
    .transform(fromSource)
    .pipe(toolDefinition),
);

export const toolPatch = z.strictObject({
  displayName: z.string().max(200).nullable().optional(),
  description: text.optional(),
  inputSchema: jsonObject.optional(),
  params: field.params.unwrap().optional(),
  effect: toolEffect.optional(),
  approval: z.boolean().optional(),
  visible: z.boolean().optional(),
  timeoutMs: timeoutMs.optional(),
  deadlineMs: deadlineMs.optional(),
  outputSchema: jsonObject.nullable().optional(),
  output: json.optional(),
  request: toolRequest.optional(),
  response: toolResponse.nullable().optional(),
  network: toolNetwork.nullable().optional(),
  agent: toolAgent.nullable().optional(),
  mcp: toolMcp.optional(),
  function: toolName.optional(),
  secretRef: secretName.nullable().optional(),
  display: toolDisplay.optional(),
  metadata: metadata.optional(),
  baseVersion: baseVersion('tool'),
});
export type ToolPatch = z.infer<typeof toolPatch>;

export const tool = z.object({
  ...toolDefinition.shape,
  id,
  /** The agent that it belongs to; null: any agent and network of the project can use it. */
  agentId: id.nullable(),
  /** Goes up with every change. */
  version: z.number().int().positive(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Tool = z.infer<typeof tool>;

/** How a call went that nobody but the caller asked for. */
export const toolTrial = z.object({
  ok: z.boolean(),
  output: json.optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  durationMs: z.number().int(),
  /** What was sent, without secrets; null where nothing was. */
  request: z
    .object({
      method: z.string(),
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string().nullable(),
    })
    .nullable(),
});
export type ToolTrial = z.infer<typeof toolTrial>;
export type ToolTrialRequest = NonNullable<ToolTrial['request']>;

/** Whether calls of a tool would reach what executes them. */
export const toolTest = z.object({
  ok: z.boolean(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  durationMs: z.number().int(),
  /** What was looked at, in a sentence. */
  checked: z.string(),
  /** The call, where arguments were given. */
  trial: toolTrial.optional(),
});
export type ToolTest = z.infer<typeof toolTest>;

const toolParams = z.object({ toolId: id });
const refusals = ['tool_schema_invalid', 'tool_invalid', 'mcp_server_not_found'] as const;

export const toolEndpoints = {
  create: endpoint({
    method: 'POST',
    path: '/v1/tools',
    tag: 'tools',
    summary: 'Define a tool',
    description:
      'Tool JSON with `executionType`, `visibility` and `execution` is accepted unchanged: gateway is `http`, external is `client`, space is `ui`, internal is `static`. So is tool JSON with `key`, `provider_type`, `params_schema` and `secret_ref`.',
    scope: 'agents:write',
    body: newTool,
    status: 201,
    response: tool,
    problems: ['name_taken', ...refusals],
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/tools',
    tag: 'tools',
    summary: 'Tools that people defined, newest first',
    scope: 'agents:read',
    query: listQuery.extend({
      /** The one of this name. */
      name: z.string().max(64).optional(),
      kind: toolKind.optional(),
      /** The tools of this agent alone; omitted: tools of the project. */
      agentId: id.optional(),
    }),
    status: 200,
    response: page(tool),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/tools/{toolId}',
    tag: 'tools',
    summary: 'One tool',
    scope: 'agents:read',
    params: toolParams,
    status: 200,
    response: tool,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/tools/{toolId}',
    tag: 'tools',
    summary: 'Change a tool; fields that are left out stay, null clears',
    description:
      'Name and kind stay what they are. The next run of every agent that carries it gets the tool as it is then; runs that have begun keep what they began with.',
    scope: 'agents:write',
    params: toolParams,
    body: toolPatch,
    status: 200,
    response: tool,
    problems: [...refusals, 'version_conflict', 'tool_of_agent'],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/tools/{toolId}',
    tag: 'tools',
    summary: 'Delete a tool that no agent carries and no network has',
    scope: 'agents:write',
    params: toolParams,
    status: 204,
    problems: ['tool_in_use'],
  }),
  try: endpoint({
    method: 'POST',
    path: '/v1/tools/{toolId}/try',
    tag: 'tools',
    summary: 'Execute a tool alone, as a worker would',
    description:
      'With secrets, timeout and guard, and without a run. It takes effect, and no approval is asked for. What goes wrong is told as `error`, as a model would read it.',
    scope: 'agents:write',
    params: toolParams,
    body: z.strictObject({ arguments: jsonObject.default({}) }),
    status: 200,
    response: toolTrial,
    problems: ['tool_not_triable'],
  }),
  test: endpoint({
    method: 'POST',
    path: '/v1/tools/{toolId}/test',
    tag: 'tools',
    summary: 'See whether calls of a tool would reach what executes them',
    description:
      'Without `arguments` nothing is called: an http tool has its secrets looked up and its server asked for HEAD /, an mcp tool is connected to and its definition compared with the one that is pinned, workers that have the function of a code tool are counted, and what a network or agent tool would run is looked up. With `arguments` it is executed too, as with `try`.',
    scope: 'agents:write',
    params: toolParams,
    body: z.strictObject({ arguments: jsonObject.optional() }),
    status: 200,
    response: toolTest,
    problems: ['tool_not_triable'],
  }),
} as const;
