import type { Api } from '@troupe/react';
import type { GraphAgent } from './types.ts';

interface PlacedProblems {
  /** By the key of the agent. */
  agents: Map<string, string[]>;
  /** By `routeName`. */
  routes: Map<string, string[]>;
  tools: Map<string, string[]>;
  /** What is wrong with the whole. */
  rest: string[];
}

export const routeName = (from: string, to: string): string => `${from.toLowerCase()}→${to.toLowerCase()}`;

/** Where each is shown. Paths name agents by key, or by their place in a document. */
export function placeProblems(
  problems: readonly Api.NetworkProblem[],
  agents: readonly GraphAgent[],
): PlacedProblems {
  const placed: PlacedProblems = { agents: new Map(), routes: new Map(), tools: new Map(), rest: [] };
  const names = new Map(agents.map((agent) => [agent.key.toLowerCase(), agent]));
  const add = (map: Map<string, string[]>, name: string, message: string) =>
    map.set(name, [...(map.get(name) ?? []), message]);
  for (const { path, message } of problems) {
    const [list, name = '', field, place] = path.split('.');
    const agent =
      list === 'agents'
        ? (names.get(name.toLowerCase()) ?? (/^\d+$/.test(name) ? agents[Number(name)] : undefined))
        : undefined;
    const to = agent && field === 'routes' && place !== undefined ? agent.routes?.[Number(place)] : undefined;
    if (agent && to && names.has(to.toLowerCase()) && to.toLowerCase() !== agent.key.toLowerCase()) {
      add(placed.routes, routeName(agent.key, to), message);
    } else if (agent) add(placed.agents, agent.key, message);
    else if (list === 'tools' && name) add(placed.tools, name.toLowerCase(), message);
    else placed.rest.push(message);
  }
  return placed;
}
