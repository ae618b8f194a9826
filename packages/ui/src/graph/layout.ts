import { Graph, layout } from '@dagrejs/dagre';
import { routeName } from './problems.ts';
import type { GraphAgent, Position } from './types.ts';

export const WIDTH = 224;
/** Chips that are shown; the rest is a number. */
export const CHIPS = 4;

/** Near enough to keep boxes apart before they have been measured. */
export function heightOf({ tools = [], description }: GraphAgent): number {
  const chips = Math.min(tools.length, CHIPS + 1);
  return 54 + (description ? 34 : 0) + (chips > 0 ? 8 + Math.ceil(chips / 2) * 24 : 0);
}

export interface Layout {
  places: Map<string, Position>;
  /** By `routeName`: points on the way of those routes that would lie behind the boxes between. */
  ways: Map<string, readonly Position[]>;
}

/** A place for every agent. Those that have one keep it; where some have, the others are put below all of it. */
export function layoutOf(
  agents: readonly GraphAgent[],
  positions: Readonly<Record<string, Position>>,
  direction: 'right' | 'down',
): Layout {
  const places = new Map<string, Position>();
  for (const { key } of agents) {
    const place = Object.hasOwn(positions, key) ? positions[key] : undefined;
    if (place) places.set(key, place);
  }
  const left = agents.filter(({ key }) => !places.has(key));
  if (left.length === 0) return { places, ways: new Map() };
  const known = agents.filter(({ key }) => places.has(key));
  const bottom = Math.max(...known.map((agent) => places.get(agent.key)!.y + heightOf(agent) + 48), 0);
  const laid = laidOut(left, direction);
  if (known.length === 0) return laid;
  for (const [key, { x, y }] of laid.places) places.set(key, { x, y: y + bottom });
  return { places, ways: new Map() };
}

/** Columns of boxes that can still be read side by side. */
const MOST_RANKS = 12;

function laidOut(agents: readonly GraphAgent[], direction: 'right' | 'down'): Layout {
  // Where runs begin comes first, so that cycles are cut behind it.
  const ordered = [...agents].sort((a, b) => Number(b.isDefault ?? false) - Number(a.isDefault ?? false));
  const byName = new Map(agents.map((agent) => [agent.key.toLowerCase(), agent.key]));
  const routes = ordered.flatMap(({ key, routes = [] }) =>
    routes.flatMap((route): Route[] => {
      const to = byName.get(route.toLowerCase());
      return to && to !== key ? [[key, to]] : [];
    }),
  );
  const laid = ranked(ordered, routes, direction);
  const ranks = new Set([...laid.places.values()].map(({ x }) => x)).size;
  if (direction === 'down' || ranks <= MOST_RANKS) return laid;
  // Every route leads on to the next rank there, so that a long detour makes a strip of sixty: the shortest ways decide instead.
  return ranked(ordered, shortest(ordered, routes), direction);
}

type Route = readonly [from: string, to: string];

function ranked(
  agents: readonly GraphAgent[],
  routes: readonly Route[],
  direction: 'right' | 'down',
): Layout {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({
    rankdir: direction === 'right' ? 'LR' : 'TB',
    nodesep: 40,
    ranksep: 96,
    marginx: 0,
    marginy: 0,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const agent of agents) graph.setNode(agent.key, { width: WIDTH, height: heightOf(agent) });
  for (const [from, to] of routes) graph.setEdge(from, to);
  layout(graph);
  const places = new Map<string, Position>();
  for (const agent of agents) {
    const node = graph.node(agent.key) as { x?: number; y?: number; width: number; height: number };
    places.set(agent.key, {
      x: Math.round((node.x ?? 0) - node.width / 2),
      y: Math.round((node.y ?? 0) - node.height / 2),
    });
  }
  const ways = new Map<string, readonly Position[]>();
  for (const { v, w } of graph.edges()) {
    const points: Position[] = graph.edge(v, w).points ?? [];
    // Beside the two ends: those to the next rank have one point or none, and are drawn straight.
    if (points.length > 4) ways.set(routeName(v, w), points.slice(1, -1));
  }
  return { places, ways };
}

/** The routes by which an agent is reached in the fewest steps. */
function shortest(agents: readonly GraphAgent[], routes: readonly Route[]): Route[] {
  const onward = new Map<string, string[]>();
  for (const [from, to] of routes) onward.set(from, [...(onward.get(from) ?? []), to]);
  const depth = new Map<string, number>();
  for (const { key } of agents) {
    if (depth.has(key)) continue;
    depth.set(key, 0);
    // Grows while it is gone through.
    const reached = [key];
    for (const from of reached) {
      for (const to of onward.get(from) ?? []) {
        if (depth.has(to)) continue;
        depth.set(to, depth.get(from)! + 1);
        reached.push(to);
      }
    }
  }
  return routes.filter(([from, to]) => depth.get(to) === depth.get(from)! + 1);
}
