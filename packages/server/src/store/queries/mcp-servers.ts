import type { McpServerDefinition, McpTransport } from '@troupe/protocol';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { selectTools, type ToolRow } from './tools.ts';

export interface McpServerRow {
  id: string;
  name: string;
  transport: McpTransport;
  url: string | null;
  headers: Record<string, string>;
  command: string | null;
  args: string[];
  env: Record<string, string>;
  /** Null: all. */
  allow: string[] | null;
  created_at: Date;
  updated_at: Date;
}

function selectMcpServers(rows: Transaction, project: string) {
  return rows
    .selectFrom('mcp_servers')
    .where('project_id', '=', project)
    .select([
      'id',
      'name',
      'url',
      'command',
      'created_at',
      'updated_at',
      sql<McpTransport>`transport`.as('transport'),
      sql<Record<string, string>>`headers`.as('headers'),
      sql<string[]>`args`.as('args'),
      sql<Record<string, string>>`env`.as('env'),
      sql<string[] | null>`allow`.as('allow'),
    ]);
}

/** `keep`: it can be neither changed nor deleted until the transaction ends. `lock`: nor looked at by those who keep it. */
export async function readMcpServer(
  rows: Transaction,
  project: string,
  id: string,
  { keep = false, lock = false }: { keep?: boolean; lock?: boolean } = {},
): Promise<McpServerRow | undefined> {
  const found = selectMcpServers(rows, project).where('id', '=', id);
  return (lock ? found.forUpdate() : keep ? found.forShare() : found).executeTakeFirst();
}

export async function listMcpServers(
  rows: Transaction,
  project: string,
  { name, before, limit }: { name?: string | undefined; before: string | undefined; limit: number },
): Promise<McpServerRow[]> {
  return selectMcpServers(rows, project)
    .$if(before !== undefined, (query) => query.where('id', '<', before!))
    .$if(name !== undefined, (query) =>
      query.where(sql<boolean>`troupe.folded(name) = troupe.folded(${name!})`),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** Another server may have the name: see `isTaken` with `mcp_servers_name`. */
export async function insertMcpServer(
  transaction: Transaction,
  { id, project, definition }: { id: string; project: string; definition: McpServerDefinition },
): Promise<void> {
  await transaction
    .insertInto('mcp_servers')
    .values({ id, project_id: project, transport: definition.transport, ...columnsOf(definition) })
    .execute();
}

export async function updateMcpServer(
  transaction: Transaction,
  id: string,
  definition: McpServerDefinition,
): Promise<void> {
  await transaction
    .updateTable('mcp_servers')
    .set({ ...columnsOf(definition), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  // What was compiled from its tools is old now.
  await transaction
    .updateTable('tools')
    .set({ version: sql<number>`version + 1`, updated_at: sql<Date>`now()` })
    .where('mcp_server_id', '=', id)
    .execute();
}

function columnsOf({ name, url, headers, command, args, env, allow }: McpServerDefinition) {
  return {
    name,
    url,
    headers: toJsonText(headers),
    command,
    args: toJsonText(args),
    env: toJsonText(env),
    allow: allow && toJsonText(allow),
  };
}

export async function deleteMcpServer(transaction: Transaction, id: string): Promise<void> {
  await transaction.deleteFrom('mcp_servers').where('id', '=', id).execute();
}

/** All tools of the project that are tools of this server; locked, by id. */
export async function lockToolsOfMcpServer(
  transaction: Transaction,
  project: string,
  server: string,
): Promise<ToolRow[]> {
  return selectTools(transaction, project)
    .where('mcp_server_id', '=', server)
    .orderBy('id')
    .forUpdate('tools')
    .execute();
}
