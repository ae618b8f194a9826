import { MarkerType } from '@xyflow/react';
import type { AgentNode } from './agent-node.tsx';
import { placeProblems, routeName } from './problems.ts';
import type { RouteEdge } from './route-edge.tsx';
import type { GraphPath, GraphSelection, Layout, NetworkGraphProps, Position } from './types.ts';

const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

function lightOf(name: string, active: ReadonlySet<string>, visited: ReadonlySet<string>) {
  return active.has(name) ? 'active' : visited.has(name) ? 'visited' : null;
}

function namesOf(path: GraphPath | undefined): { agents: Set<string>; routes: Set<string> } {
  return {
    agents: new Set(path?.agents?.map((key) => key.toLowerCase())),
    routes: new Set(path?.routes?.map(([from, to]) => routeName(from, to))),
  };
}

type Given = Pick<
  NetworkGraphProps,
  'agents' | 'problems' | 'active' | 'visited' | 'selected' | 'editable' | 'direction'
>;

/** What is drawn, from what was given. What was measured and moved by hand is kept from before. */
export function elementsOf(
  given: Given,
  { places, ways }: Layout,
): { nodes: AgentNode[]; edges: RouteEdge[]; rest: readonly string[] } {
  const { agents, problems = [], selected, editable = false, direction = 'right' } = given;
  const [active, visited] = [namesOf(given.active), namesOf(given.visited)];
  const placed = placeProblems(problems, agents);
  const keys = new Map(agents.map(({ key }) => [key.toLowerCase(), key]));
  const nodes = agents.map((agent): AgentNode => {
    const name = agent.displayName || agent.key;
    return {
      id: agent.key,
      type: 'agent',
      position: places.get(agent.key) ?? { x: 0, y: 0 },
      data: {
        agent,
        problems: placed.agents.get(agent.key) ?? [],
        badTools: agent.tools?.filter((tool) => placed.tools.has(tool.toLowerCase())) ?? [],
        light: lightOf(agent.key.toLowerCase(), active.agents, visited.agents),
        isEditable: editable,
        direction,
      },
      ariaLabel: `Agent ${name}${agent.isDefault ? ', where runs begin' : ''}${agent.allowRespond ? ', may respond' : ''}`,
      ...(selected === undefined ? {} : { selected: isAgent(selected, agent.key) }),
    };
  });
  const all = new Set(agents.flatMap(({ key, routes = [] }) => routes.map((to) => routeName(key, to))));
  const edges = agents.flatMap(({ key, routes = [] }) =>
    [...new Set(routes)].flatMap((route): RouteEdge[] => {
      const to = keys.get(route.toLowerCase());
      if (!to || same(to, key)) return [];
      const name = routeName(key, to);
      const light = lightOf(name, active.routes, visited.routes);
      const issues = placed.routes.get(name) ?? [];
      return [
        {
          id: name,
          source: key,
          target: to,
          type: 'route',
          data: {
            problems: issues,
            light,
            isTwoWay: all.has(routeName(to, key)),
            way: ways.get(name) ?? null,
            ends: endsOf(places, key, to),
          },
          ariaLabel: `Route from ${key} to ${to}${light ? `, ${light}` : ''}`,
          markerEnd: { type: MarkerType.ArrowClosed, width: 18, height: 18, color: colourOf(light, issues) },
          zIndex: light ? 1 : 0,
          ...(selected === undefined ? {} : { selected: isRoute(selected, key, to) }),
        },
      ];
    }),
  );
  return { nodes, edges, rest: placed.rest };
}

function endsOf(places: Layout['places'], from: string, to: string): readonly Position[] {
  return [places.get(from), places.get(to)].filter((place) => place !== undefined);
}

function colourOf(light: 'active' | 'visited' | null, problems: readonly string[]): string {
  if (problems.length > 0) return 'var(--troupe-bad)';
  return light ? 'var(--troupe-accent)' : 'var(--troupe-faint)';
}

const isAgent = (selected: GraphSelection | null, key: string) =>
  selected !== null && 'agent' in selected && same(selected.agent, key);
const isRoute = (selected: GraphSelection | null, from: string, to: string) =>
  selected !== null && 'route' in selected && same(selected.route[0], from) && same(selected.route[1], to);
