import {
  logPolicy,
  type Network,
  type NetworkAgent,
  type NetworkTool,
  networkPolicy,
  responseContract,
} from '@troupe/protocol';
import type { NetworkRow, NetworkRows } from '../../store/index.ts';
import { definitionOf } from './definition.ts';

/** Parsed, since a row may have been written before a field was known. */
export function presentNetwork(row: NetworkRow): Network {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    status: row.status,
    currentVersion: row.current_version,
    publishedAt: row.published_at?.toISOString() ?? null,
    policy: networkPolicy.parse(row.policy),
    response: responseContract.parse(row.response),
    logPolicy: logPolicy.parse(row.log_policy),
    metadata: row.metadata,
    agentCount: row.agent_count,
    toolCount: row.tool_count,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

/** In the order of the definition. */
export function presentAgents(rows: NetworkRows): NetworkAgent[] {
  return definitionOf(rows).agents.map((agent) => ({ ...agent, networkId: rows.network.id }));
}

export function presentTools({ tools, agents }: NetworkRows): NetworkTool[] {
  const usedBy = new Map<string, string[]>(tools.map(({ tool_id }) => [tool_id, []]));
  for (const agent of agents) for (const id of agent.tools) usedBy.get(id)!.push(agent.key);
  return tools.map(({ tool_id, key, kind, description, params }) => ({
    key,
    description,
    params,
    toolId: tool_id,
    kind,
    usedBy: usedBy.get(tool_id)!,
  }));
}

/** As dictionaries have it; the same everywhere, whatever the language of the machine. */
export function sortedByKey<Item extends { key: string }>(items: Item[]): Item[] {
  const folded = (item: Item) => item.key.toLowerCase();
  return items.toSorted((one, two) => (folded(one) < folded(two) ? -1 : folded(one) > folded(two) ? 1 : 0));
}
