import {
  defaultEffect,
  inputSchemaOf,
  type Json,
  type SnapshotTool,
  type ToolDefinition,
  type ToolKind,
  type ToolPatch,
} from '@troupe/protocol';
import {
  canonicalJson,
  type ListQuery,
  newId,
  notFound,
  type Page,
  Refusal,
  readPageById,
  versionConflict,
} from '../../base/index.ts';
import {
  type Author,
  agentsWithTool,
  type Database,
  deleteTool as deleteRow,
  insertTool,
  inTransaction,
  isPointedAt,
  isTaken,
  listTools as listRows,
  networksWithTool,
  noteChange,
  readMcpServer,
  readTool,
  type ToolRow,
  type Transaction,
  updateTool as updateRow,
} from '../../store/index.ts';
import { checkTool, withSecretNames } from './check.ts';
import { definitionOf, toWrite } from './definition.ts';
import { toSnapshotTool } from './snapshot-tools.ts';

export async function createTool(db: Database, author: Author, given: ToolDefinition): Promise<ToolRow> {
  const { project } = author;
  const definition = checkedTool(given);
  const { name, kind } = definition;
  const id = newId();
  try {
    const row = await inTransaction(db, async (transaction) => {
      await keepServer(transaction, project, definition);
      await insertTool(transaction, { id, project, name, kind, write: toWrite(definition) });
      const data = { name, kind, version: 1 };
      await noteChange(transaction, author, { action: 'tool.created', target: id, data });
      return required(transaction, project, id);
    });
    return row;
  } catch (error) {
    if (!isTaken(error, 'tools_name')) throw error;
    throw new Refusal('conflict', 'name_taken', `The project has a tool "${name}" already.`, {
      hint: 'Names are compared without regard to case. Change that tool, or take another name.',
      issues: [{ path: 'name', message: 'is taken' }],
      cause: error,
    });
  }
}

export async function getTool(db: Database, project: string, id: string): Promise<ToolRow> {
  return required(db.rows, project, id);
}

export async function listTools(
  db: Database,
  project: string,
  {
    name,
    kind,
    agentId,
    ...query
  }: ListQuery & {
    name?: string | undefined;
    kind?: ToolKind | undefined;
    agentId?: string | undefined;
  },
): Promise<Page<ToolRow>> {
  return readPageById(query, (range) => listRows(db.rows, project, { name, kind, agentId, ...range }));
}

/** Where nothing differs, nothing is written: the version tells of changes. */
export async function updateTool(
  db: Database,
  author: Author,
  id: string,
  { baseVersion, ...patch }: ToolPatch,
): Promise<ToolRow> {
  const row = await inTransaction(db, async (transaction) => {
    const found = await required(transaction, author.project, id, { lock: true });
    if (found.agent_id !== null) throw ofAgent(found);
    if (baseVersion !== undefined && baseVersion !== found.version)
      throw versionConflict('tool', found.version);
    const before = definitionOf(found);
    const definition = checkedTool(patched(before, patch));
    const fields = Object.keys(definition) as (keyof ToolDefinition)[];
    const changed = fields.filter((field) => textOf(before[field]) !== textOf(definition[field]));
    if (changed.length === 0) return found;
    await keepServer(transaction, author.project, definition);
    await updateRow(transaction, found.id, toWrite(definition));
    const data = { name: found.name, version: found.version + 1, changed };
    await noteChange(transaction, author, { action: 'tool.changed', target: found.id, data });
    return required(transaction, author.project, id);
  });
  return row;
}

export async function deleteTool(db: Database, author: Author, id: string): Promise<void> {
  try {
    await inTransaction(db, async (transaction) => {
      const { name, version } = await required(transaction, author.project, id, { lock: true });
      const agents = await agentsWithTool(transaction, id);
      const networks = await networksWithTool(transaction, id);
      const uses = [
        ...agents.map((agent) => `the agent "${agent}"`),
        ...networks.map((network) => `the network "${network}"`),
      ];
      if (uses.length > 0) throw inUse(uses.join(', '));
      await deleteRow(transaction, id);
      await noteChange(transaction, author, { action: 'tool.deleted', target: id, data: { name, version } });
    });
  } catch (error) {
    throw isPointedAt(error) ? inUse('an agent or a network that began to have it just now') : error;
  }
}

/** As a run would get it, but for the approval; only what the server executes itself can be looked at. */
export async function toolToTest(db: Database, project: string, id: string): Promise<SnapshotTool> {
  const row = await required(db.rows, project, id);
  if (row.kind === 'client' || row.kind === 'ui') {
    throw new Refusal(
      'conflict',
      'tool_not_triable',
      `"${row.name}" is answered by a client, not by the server, so it cannot be tried here.`,
      {
        hint: 'Give it to an agent, have the agent call it, and answer with POST /v1/runs/{runId}/tool-results.',
      },
    );
  }
  const { waitsFor: _, ...tool } = toSnapshotTool(row);
  return tool;
}

/** The same, of what can be called without a run. */
export async function toolToTry(db: Database, project: string, id: string): Promise<SnapshotTool> {
  const tool = await toolToTest(db, project, id);
  if (tool.provider === 'network' || tool.provider === 'agent') {
    throw new Refusal(
      'conflict',
      'tool_not_triable',
      `"${tool.name}" begins a run, which a call of another run must wait for.`,
      {
        hint: 'Invoke the network, or talk with the agent.',
      },
    );
  }
  return tool;
}

/** The server of an mcp tool must be there, and stays until the transaction ends. */
async function keepServer(
  transaction: Transaction,
  project: string,
  { mcp }: Pick<ToolDefinition, 'mcp'>,
): Promise<void> {
  if (!mcp || (await readMcpServer(transaction, project, mcp.server, { keep: true }))) return;
  throw new Refusal(
    'invalid',
    'mcp_server_not_found',
    `There is no MCP server ${mcp.server} in the project.`,
    {
      hint: 'GET /v1/mcp-servers lists those that there are.',
      issues: [{ path: 'mcp.server', message: 'is no MCP server of the project' }],
    },
  );
}

async function required(
  rows: Transaction,
  project: string,
  id: string,
  options: { lock?: boolean } = {},
): Promise<ToolRow> {
  const row = await readTool(rows, project, id, options);
  if (!row) throw notFound('tool');
  return row;
}

/** An effect that nobody chose goes with the method: a GET that becomes a POST must not be sent again freely. */
function patched(before: ToolDefinition, patch: Omit<ToolPatch, 'baseVersion'>): ToolDefinition {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const after = { ...before, ...given } as ToolDefinition;
  const byMethod = ({ kind, request }: ToolDefinition) => defaultEffect(kind, request?.method ?? 'GET');
  // A schema that was made of the parameters goes with them.
  const made = ({ params }: ToolDefinition) => (params ? inputSchemaOf(params) : { type: 'object' });
  if (patch.inputSchema === undefined && textOf(before.inputSchema) === textOf(made(before)))
    after.inputSchema = made(after);
  const unchosen = patch.effect === undefined && before.effect === byMethod(before);
  return unchosen ? { ...after, effect: byMethod(after) } : after;
}

/** The checked definition, with secret names as they are stored. */
export function checkedTool(given: ToolDefinition): ToolDefinition {
  const definition = normal(given);
  checkTool(definition);
  return definition;
}

function normal(definition: ToolDefinition): ToolDefinition {
  return definition.request ? { ...definition, request: withSecretNames(definition.request) } : definition;
}

function ofAgent({ name, agent_id }: ToolRow): Refusal {
  return new Refusal(
    'conflict',
    'tool_of_agent',
    `The tool "${name}" belongs to an agent and changes with it.`,
    {
      hint: `PATCH /v1/agents/${agent_id} with \`inlineTools\` changes it.`,
    },
  );
}

function inUse(by: string): Refusal {
  return new Refusal('conflict', 'tool_in_use', `The tool is in use by ${by}.`, {
    hint: 'Take it from these first.',
  });
}

function textOf(value: unknown): string {
  return canonicalJson(value as Json);
}
