import type { AgentDefinition, AgentSnapshot, JsonObject } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { saveSnapshotWithin } from './snapshots.ts';
import { deleteOtherAgentTools, type ToolRow } from './tools.ts';

/** The columns of an inline tool that its definition sets. */
export type InlineToolRow = Omit<
  ToolRow,
  'id' | 'agent_id' | 'mcp_server' | 'version' | 'created_at' | 'updated_at'
>;

export interface AgentRow {
  id: string;
  entity_id: string;
  name: string;
  description: string | null;
  system_prompt: string;
  default_model_id: string | null;
  tags: string[];
  /** fallbackModelIds, approvals, approvers, answer, limits, inDoubt, replyWaiting, metadata. */
  config: JsonObject;
  capabilities: { id: string; config: JsonObject }[];
  /** By name, in the agent's order. */
  tools: string[];
  /** Inline tools in the same order, with the columns of their definitions. */
  inline_tools: InlineToolRow[];
  version: number;
  status: 'active' | 'archived';
  created_at: Date;
  updated_at: Date;
}

/** The agent with its entity and its capabilities, in one statement: all of one version. */
function selectAgents(rows: Transaction, project: string) {
  return rows
    .selectFrom('agents')
    .innerJoin('entities', 'entities.agent_id', 'agents.id')
    .where('agents.project_id', '=', project)
    .select([
      'agents.id',
      'entities.id as entity_id',
      'agents.name',
      'agents.description',
      'agents.system_prompt',
      'agents.default_model_id',
      'agents.tags',
      'agents.version',
      'agents.status',
      'agents.created_at',
      'agents.updated_at',
      sql<JsonObject>`agents.config`.as('config'),
      sql<
        AgentRow['capabilities']
      >`(select coalesce(json_agg(json_build_object('id', c.capability_id, 'config', c.config)
        order by c.position), '[]') from troupe.agent_capabilities c where c.agent_id = agents.id)`.as(
        'capabilities',
      ),
      sql<string[]>`(select coalesce(json_agg(t.name order by x.position), '[]') from troupe.agent_tools x
        join troupe.tools t on t.id = x.tool_id where x.agent_id = agents.id)`.as('tools'),
      sql<
        InlineToolRow[]
      >`(select coalesce(json_agg(json_build_object('name', t.name, 'display_name', t.display_name,
          'description', t.description, 'kind', t.kind, 'input_schema', t.input_schema, 'params', t.params,
          'effect', t.effect, 'approval', t.approval, 'visible', t.visible, 'config', t.config) order by x.position), '[]')
        from troupe.agent_tools x join troupe.tools t on t.id = x.tool_id
        where x.agent_id = agents.id and t.agent_id = agents.id)`.as('inline_tools'),
    ]);
}

export async function readAgent(
  rows: Transaction,
  project: string,
  agent: string,
): Promise<AgentRow | undefined> {
  return selectAgents(rows, project).where('agents.id', '=', agent).executeTakeFirst();
}

/** Whoever else wants to change the agent waits. Runs, which only point at it, do not. */
export async function lockAgent(
  transaction: Transaction,
  project: string,
  agent: string,
): Promise<AgentRow | undefined> {
  const locked = await transaction
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', project)
    .where('id', '=', agent)
    .forNoKeyUpdate()
    .executeTakeFirst();
  // Read after the lock, in a statement of its own: its snapshot has what the one before us wrote.
  return locked && readAgent(transaction, project, agent);
}

export async function lockAgentNamed(
  transaction: Transaction,
  project: string,
  name: string,
): Promise<AgentRow | undefined> {
  const found = await transaction
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', project)
    .where(sql`troupe.folded(name)`, '=', sql`troupe.folded(${name})`)
    .executeTakeFirst();
  return found && lockAgent(transaction, project, found.id);
}

/** Whether one has the name, also an archived one. */
export async function hasAgentNamed(rows: Transaction, project: string, name: string): Promise<boolean> {
  const found = await rows
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', project)
    .where(sql`troupe.folded(name)`, '=', sql`troupe.folded(${name})`)
    .executeTakeFirst();
  return found !== undefined;
}

/** Those of the ids that are active; they can be neither archived nor changed before the transaction ends. */
export async function keepAgents(
  transaction: Transaction,
  project: string,
  agents: readonly string[],
): Promise<string[]> {
  if (agents.length === 0) return [];
  const rows = await transaction
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', project)
    .where('id', 'in', agents)
    .where('status', '=', 'active')
    .orderBy('id')
    .forShare()
    .execute();
  return rows.map(({ id }) => id);
}

/** Where in networks it is, in words; at most ten. Tools that name it: `toolsThatName`. */
export async function usesOfAgent(transaction: Transaction, agent: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('network_agents')
    .innerJoin('networks', 'networks.id', 'network_agents.network_id')
    .select(['network_agents.key', 'networks.name'])
    .where('network_agents.agent_id', '=', agent)
    .orderBy('networks.name')
    .orderBy('network_agents.key')
    .limit(10)
    .execute();
  return rows.map(({ key, name }) => `the agent "${key}" of the network "${name}"`);
}

export interface AgentFilter {
  status: 'active' | 'archived';
  tag?: string | undefined;
  search?: string | undefined;
  /** Only those older than this one. */
  before: string | undefined;
  limit: number;
}

export async function listAgents(db: Database, project: string, filter: AgentFilter): Promise<AgentRow[]> {
  let query = selectAgents(db.rows, project).where('agents.status', '=', filter.status);
  if (filter.before !== undefined) query = query.where('agents.id', '<', filter.before);
  if (filter.tag !== undefined)
    query = query.where(sql<boolean>`agents.tags @> array[${filter.tag}]::text[]`);
  if (filter.search !== undefined) {
    const pattern = `%${filter.search.replaceAll(/[\\%_]/g, '\\$&')}%`;
    query = query.where((or) =>
      or.or([or('agents.name', 'ilike', pattern), or('agents.description', 'ilike', pattern)]),
    );
  }
  return query.orderBy('agents.id', 'desc').limit(filter.limit).execute();
}

export interface AgentWrite {
  project: string;
  definition: AgentDefinition;
  /** The tools that the definition names, in its order. */
  toolIds: string[];
  /** The one this makes. */
  version: number;
  snapshot: AgentSnapshot;
  notes: string | null;
}

export async function insertAgent(transaction: Transaction, id: string, write: AgentWrite): Promise<void> {
  const { project, definition, version } = write;
  await transaction
    .insertInto('agents')
    .values({ id, project_id: project, version, ...columnsOf(definition) })
    .execute();
  await transaction
    .insertInto('entities')
    .values({ id: newId(), project_id: project, type: 'agent', agent_id: id, display_name: definition.name })
    .execute();
  await writeVersion(transaction, id, write);
}

/** The row must be locked, and `version` be the next. */
export async function updateAgent(transaction: Transaction, id: string, write: AgentWrite): Promise<void> {
  const { definition, version } = write;
  await transaction
    .updateTable('agents')
    .set({ version, ...columnsOf(definition), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  await transaction
    .updateTable('entities')
    .set({ display_name: definition.name, updated_at: sql<Date>`now()` })
    .where('agent_id', '=', id)
    .where('display_name', 'is distinct from', definition.name)
    .execute();
  await writeVersion(transaction, id, write);
}

/** The row must be locked. */
export async function setAgentStatus(
  transaction: Transaction,
  id: string,
  status: 'active' | 'archived',
): Promise<void> {
  await transaction
    .updateTable('agents')
    .set({ status, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

function columnsOf(definition: AgentDefinition) {
  const {
    fallbackModelIds,
    approvals,
    approvers,
    answer,
    compaction,
    limits,
    inDoubt,
    replyWaiting,
    metadata,
  } = definition;
  return {
    name: definition.name,
    description: definition.description,
    system_prompt: definition.systemPrompt,
    default_model_id: definition.defaultModelId,
    tags: definition.tags,
    config: toJsonText({
      fallbackModelIds,
      approvals,
      approvers,
      answer,
      compaction,
      limits,
      inDoubt,
      replyWaiting,
      metadata,
    }),
  };
}

/** A capability that the agent had before keeps its row. */
async function writeCapabilities(
  transaction: Transaction,
  agent: string,
  capabilities: AgentDefinition['capabilities'],
): Promise<void> {
  const ids = capabilities.map(({ id }) => id);
  await transaction
    .deleteFrom('agent_capabilities')
    .where('agent_id', '=', agent)
    .$if(ids.length > 0, (query) => query.where('capability_id', 'not in', ids))
    .execute();
  if (ids.length === 0) return;
  await transaction
    .insertInto('agent_capabilities')
    .values(
      capabilities.map(({ id, config }, position) => ({
        id: newId(),
        agent_id: agent,
        capability_id: id,
        position,
        config: toJsonText(config),
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'capability_id']).doUpdateSet(({ ref }) => ({
        position: ref('excluded.position'),
        config: ref('excluded.config'),
      })),
    )
    .execute();
}

export interface AgentCapabilityRow {
  id: string;
  agent_id: string;
  capability_id: string;
  position: number;
  config: JsonObject;
  created_at: Date;
}

export async function listAgentCapabilities(rows: Transaction, agent: string): Promise<AgentCapabilityRow[]> {
  return rows
    .selectFrom('agent_capabilities')
    .select([
      'id',
      'agent_id',
      'capability_id',
      'position',
      sql<JsonObject>`config`.as('config'),
      'created_at',
    ])
    .where('agent_id', '=', agent)
    .orderBy('position')
    .execute();
}

async function writeVersion(transaction: Transaction, id: string, write: AgentWrite): Promise<void> {
  const { project, definition, toolIds, version, snapshot, notes } = write;
  await writeCapabilities(transaction, id, definition.capabilities);
  await transaction.deleteFrom('agent_tools').where('agent_id', '=', id).execute();
  if (toolIds.length > 0) {
    await transaction
      .insertInto('agent_tools')
      .values(toolIds.map((tool_id, position) => ({ agent_id: id, tool_id, position })))
      .execute();
  }
  await deleteOtherAgentTools(transaction, id, toolIds);
  const snapshotId = await saveSnapshotWithin(transaction, project, snapshot);
  await transaction
    .insertInto('agent_versions')
    .values({
      agent_id: id,
      version,
      snapshot_id: snapshotId,
      definition: toJsonText(definition),
      notes,
    })
    .execute();
}
