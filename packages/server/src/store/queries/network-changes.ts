import type { Json, NetworkDefinition } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { NetworkAgentRow, NetworkRows, NetworkToolRow } from './networks.ts';
import { canonicalJson } from './snapshots.ts';

/** An agent, and a tool or another agent. */
interface Pair {
  a: string;
  b: string;
}

interface Difference<Put, Gone> {
  /** New, or other than before. */
  put: Put[];
  gone: Gone[];
}

export interface NetworkChanges {
  tools: Difference<Omit<NetworkToolRow, 'key' | 'kind'>, string>;
  agents: Difference<Omit<NetworkAgentRow, 'tools' | 'routes'>, string>;
  carried: Difference<Pair & { position: number }, Pair>;
  routes: Difference<Pair & { position: number }, Pair>;
  /** Another agent becomes the default. */
  noDefault: boolean;
}

/**
 * What of the rows must become other for a definition; null: nothing. Found by the program, since Postgres, which knows nothing of
 * the size of a list that it is given, would compare ten thousand routes with ten thousand.
 */
export function changesOf(
  { tools, agents }: NetworkRows,
  definition: NetworkDefinition,
  toolIds: ReadonlyMap<string, string>,
): NetworkChanges | null {
  const toolId = (key: string) => known(toolIds, key);
  const before = new Map(agents.map((agent) => [agent.key.toLowerCase(), agent.id]));
  const agentIds = new Map(
    definition.agents.map(({ key }) => [key.toLowerCase(), before.get(key.toLowerCase()) ?? newId()]),
  );
  const agentId = (key: string) => known(agentIds, key);
  const putAgents = definition.agents.map((agent, position) => ({
    id: agentId(agent.key),
    key: agent.key,
    agent_id: agent.agentId,
    display_name: agent.displayName,
    description: agent.description,
    prompt: agent.prompt,
    model_id: agent.modelId,
    allow_respond: agent.allowRespond,
    allow_task_group: agent.allowTaskGroup,
    is_default: agent.isDefault,
    metadata: agent.metadata,
    position,
  }));
  const putTools = definition.tools.map(({ key, description, params }, position) => ({
    tool_id: toolId(key),
    description,
    params,
    position,
  }));
  const changes = {
    tools: difference(
      tools.map(({ key: _, kind: __, ...tool }) => tool),
      putTools,
      ({ tool_id }) => tool_id,
    ),
    agents: difference(
      agents.map(({ tools: _, routes: __, ...agent }) => agent),
      putAgents,
      ({ id }) => id,
    ),
    carried: pairDifference(
      new Map(agents.map(({ id, tools }) => [id, tools])),
      new Map(definition.agents.map(({ key, tools }) => [agentId(key), tools.map(toolId)])),
    ),
    routes: pairDifference(
      new Map(agents.map(({ id, routes }) => [id, routes])),
      new Map(definition.agents.map(({ key, routes }) => [agentId(key), routes.map(agentId)])),
    ),
  };
  const differs = Object.values(changes).some(({ put, gone }) => put.length > 0 || gone.length > 0);
  if (!differs) return null;
  const was = agents.find(({ is_default }) => is_default)?.id;
  const becomes = putAgents.find(({ is_default }) => is_default)?.id;
  return { ...changes, noDefault: was !== undefined && was !== becomes };
}

function known(ids: ReadonlyMap<string, string>, key: string): string {
  const id = ids.get(key.toLowerCase());
  if (id === undefined) throw new Error(`the definition was not checked: it names "${key}"`);
  return id;
}

/** Where the list of an agent differs at all, it is numbered anew, so that the next one has no ties. */
function pairDifference(before: ReadonlyMap<string, string[]>, after: ReadonlyMap<string, string[]>) {
  const put: (Pair & { position: number })[] = [];
  const gone: Pair[] = [];
  for (const [a, list] of after) {
    const old = before.get(a) ?? [];
    if (old.length === list.length && old.every((b, index) => b === list[index])) continue;
    put.push(...list.map((b, position) => ({ a, b, position })));
  }
  for (const [a, old] of before) {
    const list = new Set(after.get(a) ?? []);
    gone.push(...old.filter((b) => !list.has(b)).map((b) => ({ a, b })));
  }
  return { put, gone };
}

function difference<Row extends object>(
  before: Row[],
  after: Row[],
  keyOf: (row: Row) => string,
): Difference<Row, string> {
  const rest = new Map(before.map((row) => [keyOf(row), row]));
  const put = after.filter((row) => {
    const key = keyOf(row);
    const old = rest.get(key);
    rest.delete(key);
    return old === undefined || textOf(old) !== textOf(row);
  });
  return { put, gone: [...rest.keys()] };
}

function textOf(row: object): string {
  return canonicalJson(row as Json);
}
