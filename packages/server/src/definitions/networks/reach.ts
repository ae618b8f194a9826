import type { NetworkAgentDefinition } from '@troupe/protocol';
import { fold } from './compile.ts';

type Agents = readonly NetworkAgentDefinition[];

/** How many hand-overs it takes from one of these to each that can be reached, by folded key. */
export function distancesFrom(agents: Agents, starts: Agents): Map<string, number> {
  return walk(new Map(agents.map(({ key, routes }) => [fold(key), routes.map(fold)])), starts);
}

/** How many it takes from each to the nearest of these. */
export function distancesTo(agents: Agents, ends: Agents): Map<string, number> {
  const back = new Map<string, string[]>(agents.map(({ key }) => [fold(key), []]));
  for (const { key, routes } of agents) for (const to of routes) back.get(fold(to))?.push(fold(key));
  return walk(back, ends);
}

function walk(edges: ReadonlyMap<string, string[]>, starts: Agents): Map<string, number> {
  const distances = new Map<string, number>(starts.map(({ key }) => [fold(key), 0]));
  // Grows while it is gone through: breadth first.
  const queue = [...distances.keys()];
  for (const from of queue) {
    for (const to of edges.get(from) ?? []) {
      if (distances.has(to) || !edges.has(to)) continue;
      distances.set(to, distances.get(from)! + 1);
      queue.push(to);
    }
  }
  return distances;
}
