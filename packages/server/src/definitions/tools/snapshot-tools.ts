import {
  type Json,
  type SnapshotMcpServer,
  type SnapshotTool,
  snapshotTool,
  toolDisplay,
  toolMcp,
  toolRequest,
} from '@troupe/protocol';
import { mapTexts, Refusal, templateOf } from '../../base/index.ts';
import { type ToolRow, type Transaction, toolsNamed } from '../../store/index.ts';

/** The tools of the project that an agent names, in its order; one that is not there is refused. */
export async function toolsOf(
  rows: Transaction,
  project: string,
  names: readonly string[],
  options: { keep?: boolean; agent?: string } = {},
): Promise<ToolRow[]> {
  const found = await toolsNamed(rows, project, names, options);
  // Inline tools come last and override others with the same name.
  const ordered = found.toSorted(
    (one, other) => Number(one.agent_id !== null) - Number(other.agent_id !== null),
  );
  const byName = new Map(ordered.map((row) => [row.name.toLowerCase(), row]));
  return names.map((name, index) => {
    const row = byName.get(name.toLowerCase());
    if (row) return row;
    throw new Refusal('invalid', 'tool_not_found', `There is no tool "${name}" in the project.`, {
      hint: 'GET /v1/tools lists those that there are.',
      issues: [{ path: `tools.${index}`, message: 'is no tool of the project' }],
    });
  });
}

/** As a run gets it. Secrets are named in it, never contained. */
export function toSnapshotTool(row: ToolRow): SnapshotTool {
  const { response, output, outputSchema, network, agent, secretRef, timeoutMs, deadlineMs } = row.config;
  const request = withSecret(row.config);
  const outside = row.kind === 'client' || row.kind === 'ui';
  const mcp = row.mcp_server && mcpOf(row, row.mcp_server);
  const set = {
    request,
    response,
    output,
    outputSchema,
    network,
    agent,
    secretRef,
    function: row.config.function,
  };
  const config = { toolId: row.id, version: row.version, ...set, ...mcp };
  return snapshotTool.parse({
    name: row.name,
    description: row.description,
    provider: outside ? 'client' : row.kind,
    inputSchema: row.input_schema,
    effect: row.effect,
    ...(outside ? { waitsFor: 'client' } : row.approval ? { waitsFor: 'approval' } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...shownOf(row),
    config: Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)),
  });
}

/** The secret is sent in the `authorization` header, unless the request uses it elsewhere. */
function withSecret({ request, secretRef }: ToolRow['config']): Json | undefined {
  if (request === undefined || typeof secretRef !== 'string') return request;
  const sent = toolRequest.parse(request);
  let isNamed = false;
  mapTexts(sent as Json, (text) => {
    isNamed ||= templateOf(text).some((part) => part.from === 'secrets' && part.name === secretRef);
    return text;
  });
  const isSet = Object.keys(sent.headers).some((name) => name.toLowerCase() === 'authorization');
  if (isNamed || isSet) return request;
  return { ...sent, headers: { ...sent.headers, authorization: `Bearer {{secrets.${secretRef}}}` } } as Json;
}

/** With the server as it is now, so that changing it changes no run that has begun. */
function mcpOf({ config }: ToolRow, server: SnapshotMcpServer) {
  const { tool, definitionHash } = toolMcp.parse(config.mcp);
  return { server, tool, definitionHash };
}

/** What a space sees of its calls. Whoever is to answer one must see it before there is a result. */
function shownOf({ visible, kind, config }: ToolRow): Pick<SnapshotTool, 'shown'> {
  if (!visible) return {};
  const display = toolDisplay.parse(config.display ?? {});
  const answered = kind === 'client' || kind === 'ui';
  return {
    shown: {
      when: answered ? 'always' : display.when,
      input: display.showInput,
      output: display.showOutput,
      ...(display.customUI === null ? {} : { customUI: display.customUI }),
    },
  };
}
