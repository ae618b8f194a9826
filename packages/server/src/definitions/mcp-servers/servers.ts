import type { McpServerDefinition, McpServerPatch, SnapshotMcpServer } from '@troupe/protocol';
import {
  canonicalJson,
  inUse,
  type ListQuery,
  newId,
  notFound,
  type Page,
  Refusal,
  readPageById,
} from '../../base/index.ts';
import {
  type Author,
  type Database,
  deleteMcpServer as deleteRow,
  insertMcpServer,
  inTransaction,
  isPointedAt,
  isTaken,
  listMcpServers as listRows,
  lockToolsOfMcpServer,
  type McpServerRow,
  noteChange,
  readMcpServer,
  type Transaction,
  updateMcpServer as updateRow,
} from '../../store/index.ts';
import { checkCommand, checkMcpServer } from './check.ts';
import type { McpPort } from './port.ts';

/** What uses a server, at most. */
const MOST_TOLD = 10;

export async function createMcpServer(
  db: Database,
  author: Author,
  mcp: McpPort,
  definition: McpServerDefinition,
): Promise<McpServerRow> {
  checkMcpServer(definition);
  await checkCommand(author.project, definition.command, mcp);
  const id = newId();
  const { name, transport } = definition;
  const row = await changing(db, async (transaction) => {
    await insertMcpServer(transaction, { id, project: author.project, definition });
    await noteChange(transaction, author, {
      action: 'mcp_server.created',
      target: id,
      data: { name, transport },
    });
    return required(transaction, author.project, id);
  });
  return row;
}

export async function getMcpServer(db: Database, project: string, id: string): Promise<McpServerRow> {
  return required(db.rows, project, id);
}

export async function listMcpServers(
  db: Database,
  project: string,
  { name, ...query }: ListQuery & { name?: string | undefined },
): Promise<Page<McpServerRow>> {
  return readPageById(query, (range) => listRows(db.rows, project, { name, ...range }));
}

/** Where nothing differs, nothing is written: its tools would be compiled anew. */
export async function updateMcpServer(
  db: Database,
  author: Author,
  mcp: McpPort,
  { id, patch }: { id: string; patch: McpServerPatch },
): Promise<McpServerRow> {
  // What is not there is not there, whatever it was to become.
  await required(db.rows, author.project, id);
  await checkCommand(author.project, patch.command, mcp);
  const row = await changing(db, async (transaction) => {
    const found = await required(transaction, author.project, id, { lock: true });
    const before = definitionOf(found);
    const given = Object.entries(patch).filter(([, value]) => value !== undefined);
    const definition = { ...before, ...Object.fromEntries(given) } as McpServerDefinition;
    checkMcpServer(definition);
    const fields = Object.keys(definition) as (keyof McpServerDefinition)[];
    const changed = fields.filter(
      (field) => canonicalJson(before[field]) !== canonicalJson(definition[field]),
    );
    if (changed.length === 0) return found;
    await updateRow(transaction, found.id, definition);
    const data = { name: definition.name, changed };
    await noteChange(transaction, author, { action: 'mcp_server.changed', target: found.id, data });
    return required(transaction, author.project, id);
  });
  return row;
}

export async function deleteMcpServer(db: Database, author: Author, id: string): Promise<void> {
  try {
    await inTransaction(db, async (transaction) => {
      const { name } = await required(transaction, author.project, id, { lock: true });
      const tools = await lockToolsOfMcpServer(transaction, author.project, id);
      const uses = tools.slice(0, MOST_TOLD).map((tool) => `the tool "${tool.name}"`);
      if (tools.length > MOST_TOLD) uses.push(`and ${tools.length - MOST_TOLD} more tools`);
      if (uses.length > 0) throw serverInUse(uses);
      await deleteRow(transaction, id);
      await noteChange(transaction, author, { action: 'mcp_server.deleted', target: id, data: { name } });
    });
  } catch (error) {
    throw isPointedAt(error) ? serverInUse(['a tool that was made just now']) : error;
  }
}

function serverInUse(uses: string[]): Refusal {
  const { message } = inUse('MCP server', uses);
  return new Refusal('conflict', 'in_use', message, { hint: 'Delete these first.' });
}

export async function required(
  rows: Transaction,
  project: string,
  id: string,
  options: { keep?: boolean; lock?: boolean } = {},
): Promise<McpServerRow> {
  const row = await readMcpServer(rows, project, id, options);
  if (!row) throw notFound('MCP server');
  return row;
}

/** Without what the server keeps of it. */
export function definitionOf(row: McpServerRow): McpServerDefinition {
  const { name, transport, url, headers, command, args, env, allow } = row;
  return { name, transport, url, headers, command, args, env, allow };
}

/** As a run would get it. */
export function pinned(row: McpServerRow): SnapshotMcpServer {
  return { id: row.id, ...definitionOf(row) };
}

async function changing(
  db: Database,
  work: (transaction: Transaction) => Promise<McpServerRow>,
): Promise<McpServerRow> {
  try {
    return await inTransaction(db, work);
  } catch (error) {
    if (!isTaken(error, 'mcp_servers_name')) throw error;
    throw new Refusal('conflict', 'name_taken', 'The project has an MCP server of this name already.', {
      hint: 'Names are compared without regard to case.',
      issues: [{ path: 'name', message: 'is taken' }],
      cause: error,
    });
  }
}
