import type { JsonObject, SnapshotMcpServer, ToolEffect, ToolKind, ToolParam } from '@troupe/protocol';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';

export interface ToolRow {
  id: string;
  /** The agent that it belongs to; null: it is a tool of the project. */
  agent_id: string | null;
  name: string;
  display_name: string | null;
  description: string;
  kind: ToolKind;
  input_schema: JsonObject;
  /** Who gives which parameter; null: the agent gives all. */
  params: ToolParam[] | null;
  effect: ToolEffect;
  approval: boolean;
  visible: boolean;
  /** What the kind needs, and the rest: see `toolDefinition` of the contract. */
  config: JsonObject;
  /** The server that an mcp tool is of, as it is now. */
  mcp_server: SnapshotMcpServer | null;
  version: number;
  created_at: Date;
  updated_at: Date;
}

export function selectTools(rows: Transaction, project: string) {
  return rows
    .selectFrom('tools')
    .where('project_id', '=', project)
    .select([
      'id',
      'agent_id',
      'name',
      'display_name',
      'description',
      'effect',
      'approval',
      'visible',
      'version',
      'created_at',
      'updated_at',
      sql<ToolKind>`kind`.as('kind'),
      sql<JsonObject>`input_schema`.as('input_schema'),
      sql<ToolParam[] | null>`params`.as('params'),
      sql<JsonObject>`config`.as('config'),
      sql<SnapshotMcpServer | null>`(select jsonb_build_object('id', s.id, 'name', s.name, 'transport', s.transport, 'url', s.url,
        'headers', s.headers, 'command', s.command, 'args', s.args, 'env', s.env, 'allow', s.allow)
        from troupe.mcp_servers s where s.id = tools.mcp_server_id)`.as('mcp_server'),
    ]);
}

/**
 * Existing tools with these names, in no order: tools of the project, and of the agent if one is given. With a lock, they can be
 * neither deleted nor changed until the transaction ends.
 */
export async function toolsNamed(
  rows: Transaction,
  project: string,
  names: readonly string[],
  { keep = false, agent }: { keep?: boolean; agent?: string | undefined } = {},
): Promise<ToolRow[]> {
  if (names.length === 0) return [];
  const folded = names.map((name) => name.toLowerCase());
  const found = selectTools(rows, project)
    .where(sql<string>`lower(name)`, 'in', folded)
    .where((is) =>
      agent === undefined
        ? is('agent_id', 'is', null)
        : is.or([is('agent_id', 'is', null), is('agent_id', '=', agent)]),
    );
  return (keep ? found.orderBy('id').forShare() : found).execute();
}

export async function readTool(
  rows: Transaction,
  project: string,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<ToolRow | undefined> {
  const found = selectTools(rows, project).where('id', '=', id);
  return (lock ? found.forUpdate() : found).executeTakeFirst();
}

export async function listTools(
  rows: Transaction,
  project: string,
  filter: {
    name?: string | undefined;
    kind?: ToolKind | undefined;
    /** Omitted: tools of the project. */
    agentId?: string | undefined;
    before: string | undefined;
    limit: number;
  },
): Promise<ToolRow[]> {
  const { name, kind, agentId, before, limit } = filter;
  return selectTools(rows, project)
    .where((is) => (agentId === undefined ? is('agent_id', 'is', null) : is('agent_id', '=', agentId)))
    .$if(before !== undefined, (query) => query.where('id', '<', before!))
    .$if(name !== undefined, (query) => query.where(sql<string>`lower(name)`, '=', name!.toLowerCase()))
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind!))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

export type ToolWrite = Omit<
  ToolRow,
  'id' | 'agent_id' | 'name' | 'kind' | 'mcp_server' | 'version' | 'created_at' | 'updated_at'
>;

/** Another tool may have the name: see `isTaken` with `tools_name`. */
export async function insertTool(
  transaction: Transaction,
  {
    id,
    project,
    name,
    kind,
    write,
  }: { id: string; project: string; name: string; kind: ToolKind; write: ToolWrite },
): Promise<void> {
  await transaction
    .insertInto('tools')
    .values({ id, project_id: project, name, kind, ...columnsOf(write) })
    .execute();
}

export async function updateTool(transaction: Transaction, id: string, write: ToolWrite): Promise<void> {
  await transaction
    .updateTable('tools')
    .set({ ...columnsOf(write), version: sql<number>`version + 1`, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/** Inserts or changes a tool of an agent. */
export async function putAgentTool(
  transaction: Transaction,
  {
    id,
    project,
    agent,
    name,
    kind,
    write,
  }: { id: string; project: string; agent: string; name: string; kind: ToolKind; write: ToolWrite },
): Promise<void> {
  const columns = { name, kind, ...columnsOf(write) };
  await transaction
    .insertInto('tools')
    .values({ id, project_id: project, agent_id: agent, ...columns })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ ...columns, version: sql<number>`tools.version + 1`, updated_at: sql<Date>`now()` }),
    )
    .execute();
}

/** By id. */
export async function toolsOfAgent(
  transaction: Transaction,
  project: string,
  agent: string,
): Promise<ToolRow[]> {
  return selectTools(transaction, project).where('agent_id', '=', agent).orderBy('id').execute();
}

/** Deletes all other tools of an agent. The agent must no longer carry them. */
export async function deleteOtherAgentTools(
  transaction: Transaction,
  agent: string,
  kept: string[],
): Promise<void> {
  await transaction
    .deleteFrom('tools')
    .where('agent_id', '=', agent)
    .where(sql<boolean>`id <> all(${kept}::uuid[])`)
    .execute();
}

function columnsOf({ input_schema, params, config, ...plain }: ToolWrite) {
  return {
    ...plain,
    input_schema: toJsonText(input_schema),
    params: params && toJsonText(params),
    config: toJsonText(config),
  };
}

export async function deleteTool(transaction: Transaction, id: string): Promise<void> {
  await transaction.deleteFrom('tools').where('id', '=', id).execute();
}

/** The names of agents that carry it, archived ones too. */
export async function agentsWithTool(transaction: Transaction, id: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('agent_tools')
    .innerJoin('agents', 'agents.id', 'agent_tools.agent_id')
    .select('agents.name')
    .where('agent_tools.tool_id', '=', id)
    .orderBy('agents.name')
    .limit(10)
    .execute();
  return rows.map(({ name }) => name);
}

/** The names of networks that have it. */
export async function networksWithTool(transaction: Transaction, id: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('network_tools')
    .innerJoin('networks', 'networks.id', 'network_tools.network_id')
    .select('networks.name')
    .where('network_tools.tool_id', '=', id)
    .orderBy('networks.name')
    .limit(10)
    .execute();
  return rows.map(({ name }) => name);
}
