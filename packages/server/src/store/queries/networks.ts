import type {
  Json,
  JsonObject,
  NetworkDefinition,
  NetworkStatus,
  ToolKind,
  ToolParam,
} from '@troupe/protocol';
import { isId, newId } from '../../base/index.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { changesOf, type NetworkChanges } from './network-changes.ts';
import { canonicalJson } from './snapshots.ts';

export interface NetworkRow {
  id: string;
  name: string;
  description: string | null;
  status: NetworkStatus;
  current_version: number | null;
  current_version_id: string | null;
  published_at: Date | null;
  policy: JsonObject;
  response: JsonObject;
  log_policy: JsonObject;
  metadata: JsonObject;
  agent_count: number;
  tool_count: number;
  created_at: Date;
  updated_at: Date;
}

export interface NetworkToolRow {
  tool_id: string;
  /** The name that the tool has in the project. */
  key: string;
  kind: ToolKind;
  description: string | null;
  params: ToolParam[] | null;
  position: number;
}

export interface NetworkAgentRow {
  id: string;
  key: string;
  agent_id: string | null;
  display_name: string | null;
  description: string;
  prompt: string;
  model_id: string | null;
  allow_respond: boolean;
  allow_task_group: boolean;
  is_default: boolean;
  metadata: JsonObject;
  position: number;
  /** Ids of tools of the network, in the agent's order. */
  tools: string[];
  /** Ids of agents of the network, in the agent's order. */
  routes: string[];
}

/** All rows of one network, as of one moment. */
export interface NetworkRows {
  network: NetworkRow;
  /** In the order of the definition. */
  tools: NetworkToolRow[];
  agents: NetworkAgentRow[];
}

function selectNetworks(rows: Transaction, project: string) {
  return rows
    .selectFrom('networks')
    .where('networks.project_id', '=', project)
    .select([
      'networks.id',
      'networks.name',
      'networks.description',
      'networks.current_version',
      'networks.current_version_id',
      'networks.created_at',
      'networks.updated_at',
      sql<NetworkStatus>`networks.status`.as('status'),
      sql<JsonObject>`networks.policy`.as('policy'),
      sql<JsonObject>`networks.response`.as('response'),
      sql<JsonObject>`networks.log_policy`.as('log_policy'),
      sql<JsonObject>`networks.metadata`.as('metadata'),
      sql<Date | null>`(select v.published_at from troupe.network_versions v
        where v.network_id = networks.id and v.version = networks.current_version)`.as('published_at'),
      sql<number>`(select count(*) from troupe.network_agents a where a.network_id = networks.id)`.as(
        'agent_count',
      ),
      sql<number>`(select count(*) from troupe.network_tools t where t.network_id = networks.id)`.as(
        'tool_count',
      ),
    ]);
}

/** The one that has the id, else the one that has the name, whatever the case. */
function called(rows: Transaction, project: string, idOrName: string) {
  const byName = sql<boolean>`troupe.folded(networks.name) = troupe.folded(${idOrName})`;
  const all = selectNetworks(rows, project);
  if (!isId(idOrName)) return all.where(byName);
  return all
    .where((or) => or.or([or('networks.id', '=', idOrName), byName]))
    .orderBy(sql`networks.id = ${idOrName}`, 'desc')
    .limit(1);
}

export async function findNetwork(
  rows: Transaction,
  project: string,
  idOrName: string,
): Promise<NetworkRow | undefined> {
  return called(rows, project, idOrName).executeTakeFirst();
}

/** The network with all that is in it, in one statement: nobody's change is seen by half. */
export async function readNetwork(
  rows: Transaction,
  project: string,
  idOrName: string,
): Promise<NetworkRows | undefined> {
  const found = await called(rows, project, idOrName)
    .select([
      sql<NetworkToolRow[]>`(select coalesce(json_agg(json_build_object('tool_id', x.tool_id, 'key', t.name,
          'kind', t.kind, 'description', x.description, 'params', x.params, 'position', x.position) order by x.position, t.name), '[]')
        from troupe.network_tools x join troupe.tools t on t.id = x.tool_id
        where x.network_id = networks.id)`.as('tools'),
      sql<Omit<NetworkAgentRow, 'tools' | 'routes'>[]>`(select coalesce(json_agg(json_build_object('id', a.id,
          'key', a.key, 'agent_id', a.agent_id, 'display_name', a.display_name, 'description', a.description,
          'prompt', a.prompt, 'model_id', a.model_id, 'allow_respond', a.allow_respond, 'allow_task_group', a.allow_task_group,
          'is_default', a.is_default, 'metadata', a.metadata, 'position', a.position) order by a.position, a.key), '[]')
        from troupe.network_agents a where a.network_id = networks.id)`.as('agents'),
      // Flat, and put together by the program: a search per agent would be a thousand.
      sql<[string, string][]>`(select coalesce(json_agg(json_build_array(x.network_agent_id, x.tool_id)
          order by x.position), '[]') from troupe.network_agent_tools x where x.network_id = networks.id)`.as(
        'carried',
      ),
      sql<[string, string][]>`(select coalesce(json_agg(json_build_array(r.from_id, r.to_id)
          order by r.position), '[]') from troupe.network_routes r where r.network_id = networks.id)`.as(
        'routes',
      ),
    ])
    .executeTakeFirst();
  if (!found) return undefined;
  const { tools, agents, carried, routes, ...network } = found;
  const toolsOf = grouped(carried);
  const routesOf = grouped(routes);
  return {
    network,
    tools,
    agents: agents.map((agent) => ({
      ...agent,
      tools: toolsOf.get(agent.id) ?? [],
      routes: routesOf.get(agent.id) ?? [],
    })),
  };
}

function grouped(pairs: [string, string][]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [from, to] of pairs) {
    const group = groups.get(from);
    if (group) group.push(to);
    else groups.set(from, [to]);
  }
  return groups;
}

/** Whoever else wants to change or publish the network waits. Runs, which only point at it, do not. */
export async function lockNetwork(
  transaction: Transaction,
  project: string,
  idOrName: string,
): Promise<NetworkRows | undefined> {
  const found = await findNetwork(transaction, project, idOrName);
  if (!found) return undefined;
  const locked = await transaction
    .selectFrom('networks')
    .select('id')
    .where('project_id', '=', project)
    .where('id', '=', found.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  // Read after the lock, in a statement of its own: its snapshot has what the one before us wrote.
  return locked && readNetwork(transaction, project, found.id);
}

export async function listNetworks(
  rows: Transaction,
  project: string,
  filter: { status?: NetworkStatus | undefined; before: string | undefined; limit: number },
): Promise<NetworkRow[]> {
  const { status, before, limit } = filter;
  return selectNetworks(rows, project)
    .$if(before !== undefined, (query) => query.where('networks.id', '<', before!))
    .$if(status !== undefined, (query) => query.where('networks.status', '=', status!))
    .orderBy('networks.id', 'desc')
    .limit(limit)
    .execute();
}

/** A draft with nothing in it yet. Another network may have the name: see `isTaken` with `networks_name`. */
export async function insertNetwork(
  transaction: Transaction,
  project: string,
  definition: NetworkDefinition,
): Promise<NetworkRows> {
  const id = newId();
  await transaction
    .insertInto('networks')
    .values({ id, project_id: project, ...columnsOf(definition, toJsonText) })
    .execute();
  return (await readNetwork(transaction, project, id))!;
}

export async function deleteNetwork(transaction: Transaction, id: string): Promise<void> {
  // Routes first: an agent to which one leads is not deleted.
  await transaction.deleteFrom('network_routes').where('network_id', '=', id).execute();
  await transaction.deleteFrom('network_agent_tools').where('network_id', '=', id).execute();
  await transaction.deleteFrom('networks').where('id', '=', id).execute();
}

/**
 * Makes the rows what the definition says, writing only what differs. The network must be locked, `rows` be read under that lock,
 * and the definition be checked (definitions/networks/check.ts). Answers the rows as they are then. The same rows: nothing differed.
 */
export async function writeDefinition(
  transaction: Transaction,
  { project, rows }: { project: string; rows: NetworkRows },
  definition: NetworkDefinition,
): Promise<NetworkRows> {
  const { id } = rows.network;
  const had = new Map(rows.tools.map(({ key, tool_id }) => [key.toLowerCase(), tool_id]));
  const more = definition.tools.map(({ key }) => key.toLowerCase()).filter((key) => !had.has(key));
  const toolIds = new Map([...had, ...(await toolIdsOf(transaction, project, more))]);
  const changes = changesOf(rows, definition, toolIds);
  const before = canonicalJson(columnsOf(definitionColumns(rows.network), (value) => value) as Json);
  const after = canonicalJson(columnsOf(definition, (value) => value) as Json);
  if (before === after && changes === null) return rows;
  await transaction
    .updateTable('networks')
    .set({ ...columnsOf(definition, toJsonText), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  if (changes) await writeChanges(transaction, id, changes);
  return (await readNetwork(transaction, project, id))!;
}

/** By their names in lower case. Locked, so that none of them is deleted before the network has it. */
async function toolIdsOf(
  transaction: Transaction,
  project: string,
  names: string[],
): Promise<[string, string][]> {
  if (names.length === 0) return [];
  const found = await transaction
    .selectFrom('tools')
    .select(['id', sql<string>`lower(name)`.as('key')])
    .where('project_id', '=', project)
    .where('agent_id', 'is', null)
    .where(sql<boolean>`lower(name) = any(${names})`)
    .orderBy('id')
    .forKeyShare()
    .execute();
  return found.map(({ id, key }) => [key, id]);
}

/** What is no longer there goes before what is new, and routes and equipment before what they point at. */
async function writeChanges(
  transaction: Transaction,
  network: string,
  { tools, agents, carried, routes, noDefault }: NetworkChanges,
): Promise<void> {
  const run = (statement: ReturnType<typeof sql>) => statement.execute(transaction);
  if (routes.gone.length > 0) {
    await run(sql`delete from troupe.network_routes r using jsonb_to_recordset(${toJsonText(routes.gone)}::jsonb)
      as x(a uuid, b uuid) where r.from_id = x.a and r.to_id = x.b`);
  }
  if (carried.gone.length > 0) {
    await run(sql`delete from troupe.network_agent_tools c using jsonb_to_recordset(${toJsonText(carried.gone)}::jsonb)
      as x(a uuid, b uuid) where c.network_agent_id = x.a and c.tool_id = x.b`);
  }
  if (agents.gone.length > 0) {
    await run(
      sql`delete from troupe.network_agents where network_id = ${network} and id = any(${agents.gone})`,
    );
  }
  if (tools.gone.length > 0) {
    await run(
      sql`delete from troupe.network_tools where network_id = ${network} and tool_id = any(${tools.gone})`,
    );
  }
  // One at most is the default at any moment, also within a statement.
  if (noDefault) {
    await run(
      sql`update troupe.network_agents set is_default = false where network_id = ${network} and is_default`,
    );
  }
  if (tools.put.length > 0) {
    await run(sql`insert into troupe.network_tools as t (network_id, tool_id, position, description, params)
      select ${network}, x.tool_id, x.position, x.description, nullif(x.params, 'null'::jsonb)
      from jsonb_to_recordset(${toJsonText(tools.put)}::jsonb)
        as x(tool_id uuid, position int, description text, params jsonb)
      on conflict (network_id, tool_id) do update set position = excluded.position,
        description = excluded.description, params = excluded.params`);
  }
  if (agents.put.length > 0) {
    await run(sql`insert into troupe.network_agents as a (id, network_id, position, key, agent_id, display_name,
        description, prompt, model_id, allow_respond, allow_task_group, is_default, metadata)
      select x.id, ${network}, x.position, x.key, x.agent_id, x.display_name, x.description, x.prompt, x.model_id,
        x.allow_respond, x.allow_task_group, x.is_default, x.metadata
      from jsonb_to_recordset(${toJsonText(agents.put)}::jsonb) as x(id uuid, position int, key text, agent_id uuid,
        display_name text, description text, prompt text, model_id uuid, allow_respond boolean,
        allow_task_group boolean, is_default boolean,
        metadata jsonb)
      on conflict (id) do update set position = excluded.position, key = excluded.key, agent_id = excluded.agent_id,
        display_name = excluded.display_name, description = excluded.description, prompt = excluded.prompt,
        model_id = excluded.model_id, allow_respond = excluded.allow_respond,
        allow_task_group = excluded.allow_task_group, is_default = excluded.is_default,
        metadata = excluded.metadata`);
  }
  if (carried.put.length > 0) {
    await run(sql`insert into troupe.network_agent_tools (network_id, network_agent_id, tool_id, position)
      select ${network}, x.a, x.b, x.position
      from jsonb_to_recordset(${toJsonText(carried.put)}::jsonb) as x(a uuid, b uuid, position int)
      on conflict (network_agent_id, tool_id) do update set position = excluded.position`);
  }
  if (routes.put.length > 0) {
    await run(sql`insert into troupe.network_routes (network_id, from_id, to_id, position)
      select ${network}, x.a, x.b, x.position
      from jsonb_to_recordset(${toJsonText(routes.put)}::jsonb) as x(a uuid, b uuid, position int)
      on conflict (from_id, to_id) do update set position = excluded.position`);
  }
}

type Columns = Pick<
  NetworkDefinition,
  'name' | 'description' | 'policy' | 'response' | 'logPolicy' | 'metadata'
>;

function definitionColumns(row: NetworkRow): Columns {
  const { name, description, policy, response, log_policy, metadata } = row;
  return { name, description, policy, response, logPolicy: log_policy, metadata } as unknown as Columns;
}

function columnsOf<Value>(
  { name, description, policy, response, logPolicy, metadata }: Columns,
  written: (value: object) => Value,
) {
  return {
    name,
    description,
    policy: written(policy),
    response: written(response),
    log_policy: written(logPolicy),
    metadata: written(metadata),
  };
}
