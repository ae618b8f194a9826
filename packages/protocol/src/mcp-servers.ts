import { z } from 'zod';
import { id, listQuery, name, oneLine, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { jsonObject } from './json.ts';

// Servers that speak the Model Context Protocol: where they are, and which of their tools a project may use.

export const mcpTransport = z.enum(['http', 'stdio']);
export type McpTransport = z.infer<typeof mcpTransport>;

const oneLineText = z.string().max(8_000).regex(oneLine, 'must be one line');
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'is no name of a header');
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, 'is no name of a variable');
/** As the server calls it. */
export const mcpToolName = z.string().min(1).max(200).regex(oneLine);

/**
 * Everything about a server that a person defines. Texts may hold `{{secrets.NAME}}`; scheme, host and port of the address and the
 * command may not.
 */
export const mcpServerDefinition = z.strictObject({
  name,
  /** `http`: at an address (streamable HTTP). `stdio`: a program on the machine of the worker, which the operator must have allowed. */
  transport: mcpTransport,
  url: oneLineText.min(1).nullable().default(null),
  headers: z.record(headerName, oneLineText).default({}),
  command: oneLineText.min(1).nullable().default(null),
  args: z.array(z.string().max(8_000)).max(100).default([]),
  env: z.record(variableName, z.string().max(8_000)).default({}),
  /** The tools that may be imported and called, by the names that the server has for them. Null: all. */
  allow: z.array(mcpToolName).max(1_000).nullable().default(null),
});
export type McpServerDefinition = z.infer<typeof mcpServerDefinition>;

export const newMcpServer = mcpServerDefinition.meta({
  examples: [
    {
      name: 'issues',
      transport: 'http',
      url: 'https://mcp.example.com/mcp',
      headers: { authorization: 'Bearer {{secrets.ISSUES_TOKEN}}' },
    },
  ],
});

const { shape: field } = mcpServerDefinition;

/** The transport stays. */
export const mcpServerPatch = z.strictObject({
  name: name.optional(),
  url: field.url.unwrap().optional(),
  headers: field.headers.unwrap().optional(),
  command: field.command.unwrap().optional(),
  args: field.args.unwrap().optional(),
  env: field.env.unwrap().optional(),
  allow: field.allow.unwrap().optional(),
});
export type McpServerPatch = z.infer<typeof mcpServerPatch>;

export const mcpServer = z.object({
  ...mcpServerDefinition.shape,
  id,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type McpServer = z.infer<typeof mcpServer>;

/** A server as a run has it: what was compiled stays what it was. Secrets are named in it, never contained. */
export const snapshotMcpServer = z.strictObject({ id, ...mcpServerDefinition.shape });
export type SnapshotMcpServer = z.infer<typeof snapshotMcpServer>;

const definitionHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'is no SHA-256 in hexadecimal')
  .describe('SHA-256 of name, description, schemas and annotations, as canonical JSON.');

/** Which tool of which server a tool of the project calls, and what its definition must be then. */
export const toolMcp = z.strictObject({ server: id, tool: mcpToolName, definitionHash });
export type ToolMcp = z.infer<typeof toolMcp>;

/** A tool as the server describes it now. */
export const mcpTool = z.object({
  name: z.string(),
  title: z.string().nullable(),
  description: z.string(),
  inputSchema: jsonObject,
  annotations: jsonObject,
  definitionHash: z.string(),
  /** By the server's `allow`. */
  allowed: z.boolean(),
});
export type McpTool = z.infer<typeof mcpTool>;

const failure = z.object({ code: z.string(), message: z.string() });

export const mcpServerTest = z.object({
  ok: z.boolean(),
  error: failure.optional(),
  durationMs: z.number().int(),
  /** What the server says of itself; null where it said nothing. */
  server: z.object({ name: z.string(), version: z.string() }).nullable(),
  protocolVersion: z.string().nullable(),
  tools: z.array(mcpTool),
});
export type McpServerTest = z.infer<typeof mcpServerTest>;

const imported = z.object({
  /** As the server calls it. */
  tool: z.string(),
  /** As the project does. */
  name: z.string(),
  toolId: id,
});
export const mcpImport = z.object({
  created: z.array(imported),
  updated: z.array(imported),
  unchanged: z.array(imported),
  /** Tools of the project that the server no longer has, or that it may no longer be asked for. They stay, and calls of them fail. */
  gone: z.array(imported),
  /** What could not be imported, and why. */
  refused: z.array(z.object({ tool: z.string(), ...failure.shape })),
});
export type McpImport = z.infer<typeof mcpImport>;

const params = z.object({ mcpServerId: id });
const problems = ['mcp_server_invalid', 'mcp_command_not_allowed', 'name_taken'] as const;

export const mcpServerEndpoints = {
  create: endpoint({
    method: 'POST',
    path: '/v1/mcp-servers',
    tag: 'mcp servers',
    summary: 'Add an MCP server',
    description:
      'Nothing is connected. `POST …/test` shows whether it answers, `POST …/import` makes tools of what it offers. Programs (`stdio`) must be among those that the operator allows with TROUPE_MCP_COMMANDS.',
    scope: 'agents:write',
    body: newMcpServer,
    status: 201,
    response: mcpServer,
    problems,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/mcp-servers',
    tag: 'mcp servers',
    summary: 'MCP servers, newest first',
    scope: 'agents:read',
    query: listQuery.extend({
      /** The one of this name. */
      name: z.string().max(200).optional(),
    }),
    status: 200,
    response: page(mcpServer),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/mcp-servers/{mcpServerId}',
    tag: 'mcp servers',
    summary: 'One MCP server',
    scope: 'agents:read',
    params,
    status: 200,
    response: mcpServer,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/mcp-servers/{mcpServerId}',
    tag: 'mcp servers',
    summary: 'Change an MCP server; fields that are left out stay',
    description:
      'The next run of every agent with tools of it gets the server as it is then; runs that have begun and published versions of networks keep what they have.',
    scope: 'agents:write',
    params,
    body: mcpServerPatch,
    status: 200,
    response: mcpServer,
    problems,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/mcp-servers/{mcpServerId}',
    tag: 'mcp servers',
    summary: 'Delete an MCP server that no tool uses',
    scope: 'agents:write',
    params,
    status: 204,
    problems: ['in_use'],
  }),
  test: endpoint({
    method: 'POST',
    path: '/v1/mcp-servers/{mcpServerId}/test',
    tag: 'mcp servers',
    summary: 'Connect to an MCP server and show what it offers',
    description: 'No tool is called. What goes wrong is told as `error`.',
    scope: 'agents:write',
    params,
    body: z.strictObject({}),
    status: 200,
    response: mcpServerTest,
  }),
  import: endpoint({
    method: 'POST',
    path: '/v1/mcp-servers/{mcpServerId}/import',
    tag: 'mcp servers',
    summary: 'Make tools of the project of what an MCP server offers now',
    description:
      'Tools are called `<server>_<tool>`, and pin the definition that the server gives now: a call of a tool whose definition has changed fails until it is imported again.',
    scope: 'agents:write',
    params,
    body: z.strictObject({
      /** Only these, by the names that the server has for them. Absent: all that are allowed. */
      tools: z.array(mcpToolName).min(1).max(1_000).optional(),
    }),
    status: 200,
    response: mcpImport,
    problems: ['mcp_unreachable', 'mcp_tool_name_secret', 'name_taken'],
  }),
} as const;
