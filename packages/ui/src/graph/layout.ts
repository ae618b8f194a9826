import { Graph, layout } from '@dagrejs/dagre';
import { heightOf, WIDTH } from './boxes.ts';
import { beginningFirst, inLayers } from './layers.ts';
import { routeName } from './problems.ts';
import type { GraphAgent, Layout, Position } from './types.ts';

/** The same for agents that are laid out the same way. */
export function shapeOf(agents: readonly GraphAgent[]): string {
  return JSON.stringify(
    agents.map((agent) => [agent.key, agent.isDefault ?? false, heightOf(agent), agent.routes ?? []]),
  );
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

/** Beyond this a layout is a ribbon, of which nothing can be read once all of it is shown. */
const LONGEST = 4;
/** Dagre takes 0.2 s for 40 agents with two routes each, 5 s for 200, and minutes for 1,000. */
const MOST_FOR_DAGRE = 30;

function laidOut(agents: readonly GraphAgent[], direction: 'right' | 'down'): Layout {
  if (agents.length > MOST_FOR_DAGRE) return inLayers(agents, direction);
  const laid = laidByDagre(agents, direction);
  const ends = agents.map((agent) => ({ ...laid.places.get(agent.key)!, height: heightOf(agent) }));
  const width = Math.max(...ends.map(({ x }) => x + WIDTH));
  const height = Math.max(...ends.map((end) => end.y + end.height));
  const isRibbon = direction === 'right' ? width > LONGEST * height : height > LONGEST * width;
  // Where many routes lead back, all agents become one long chain. A short one is read as such.
  return isRibbon && agents.length > 12 ? inLayers(agents, direction) : laid;
}

function laidByDagre(agents: readonly GraphAgent[], direction: 'right' | 'down'): Layout {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({
    rankdir: direction === 'right' ? 'LR' : 'TB',
    nodesep: 40,
    ranksep: 96,
    marginx: 0,
    marginy: 0,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  const byName = new Map(agents.map((agent) => [agent.key.toLowerCase(), agent]));
  const ordered = beginningFirst(agents);
  for (const agent of ordered) graph.setNode(agent.key, { width: WIDTH, height: heightOf(agent) });
  for (const agent of ordered) {
    for (const route of agent.routes ?? []) {
      const to = byName.get(route.toLowerCase());
      if (to && to !== agent) graph.setEdge(agent.key, to.key);
    }
  }
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
