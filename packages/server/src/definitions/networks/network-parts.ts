import type { NetworkAgent, NetworkTool } from '@troupe/protocol';
import type { NetworkRows } from '../../store/index.ts';
import { definitionOf } from './definition.ts';

/** In the order of the definition. */
export function networkAgents(rows: NetworkRows): NetworkAgent[] {
  return definitionOf(rows).agents.map((agent) => ({ ...agent, networkId: rows.network.id }));
}

export function networkTools({ tools, agents }: NetworkRows): NetworkTool[] {
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
