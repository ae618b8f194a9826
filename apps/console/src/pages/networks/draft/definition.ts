import type { Api } from '@troupe/sdk';

// What a network is edited as, and every edit as a function from one document to the next. Keys are the same whatever the case.

export type Definition = Api.NetworkDefinition;
export type AgentDefinition = Api.NetworkAgentDefinition;
export interface Position {
  x: number;
  y: number;
}

export const sameKey = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
const has = (keys: readonly string[], key: string) => keys.some((one) => sameKey(one, key));
const without = (keys: readonly string[], key: string) => keys.filter((one) => !sameKey(one, key));

export function agentOf(definition: Definition, key: string): AgentDefinition | undefined {
  return definition.agents.find((agent) => sameKey(agent.key, key));
}

/** Where runs begin: the one that says so, or the only one. */
export function defaultAgentOf({ agents }: Definition): string | null {
  return (
    (agents.find(({ isDefault }) => isDefault) ?? (agents.length === 1 ? agents[0] : undefined))?.key ?? null
  );
}

/** The document of what `graph` answers: network, agents and tools as of one moment. */
export function definitionOf({
  network,
  agents,
  tools,
}: {
  network: Api.Network;
  agents: Api.NetworkAgent[];
  tools: Api.NetworkTool[];
}): Definition {
  const { name, description, policy, response, logPolicy, metadata } = network;
  return {
    name,
    description,
    policy,
    response,
    logPolicy,
    tools: tools.map(({ key, description, params }) => ({ key, description, params })),
    agents: agents.map(({ networkId: _, ...agent }) => agent),
    metadata,
  };
}

/** A key of a name, which nobody here has yet. */
export function freeKey(definition: Definition, name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 60);
  const wanted = plain || 'agent';
  for (let number = 1; ; number++) {
    const key = number === 1 ? wanted : `${wanted}-${number}`;
    if (!agentOf(definition, key)) return key;
  }
}

export const BLANK_AGENT: Omit<AgentDefinition, 'key'> = {
  agentId: null,
  displayName: null,
  description: '',
  prompt: '',
  modelId: null,
  allowRespond: false,
  allowTaskGroup: false,
  isDefault: false,
  tools: [],
  routes: [],
  metadata: {},
};

/** The first one is where runs begin, and may respond: alone it is a network that works. */
export function addAgent(
  definition: Definition,
  given: Partial<AgentDefinition> & { key: string },
  position?: Position,
): Definition {
  const isFirst = definition.agents.length === 0;
  const agent = { ...BLANK_AGENT, isDefault: isFirst, allowRespond: isFirst, ...given };
  const next = { ...definition, agents: [...definition.agents, agent] };
  return position ? moveAgent(next, agent.key, position) : next;
}

export function changeAgent(
  definition: Definition,
  key: string,
  change: Partial<AgentDefinition>,
): Definition {
  return {
    ...definition,
    agents: definition.agents.map((agent) => {
      if (sameKey(agent.key, key)) return { ...agent, ...change };
      // At most one is the default.
      return change.isDefault && agent.isDefault ? { ...agent, isDefault: false } : agent;
    }),
  };
}

/** Routes and its place follow. */
export function renameAgent(definition: Definition, from: string, to: string): Definition {
  const named = (key: string) => (sameKey(key, from) ? to : key);
  const positions = Object.entries(positionsOf(definition)).map(([key, place]) => [named(key), place]);
  return withPositions(
    {
      ...definition,
      agents: definition.agents.map((agent) => ({
        ...agent,
        key: named(agent.key),
        routes: agent.routes.map(named),
      })),
    },
    Object.fromEntries(positions),
  );
}

export function removeAgent(definition: Definition, key: string): Definition {
  const { [key]: _, ...positions } = positionsOf(definition);
  const gone = agentOf(definition, key);
  const left: Definition = {
    ...definition,
    agents: definition.agents
      .filter((agent) => agent !== gone)
      .map((agent) => (has(agent.routes, key) ? { ...agent, routes: without(agent.routes, key) } : agent)),
  };
  const tidy = (gone?.tools ?? []).reduce(dropUnused, left);
  return withPositions(tidy, positions);
}

export function hasRoute(definition: Definition, from: string, to: string): boolean {
  return has(agentOf(definition, from)?.routes ?? [], to);
}

export function setRoute(definition: Definition, from: string, to: string, isThere: boolean): Definition {
  const routes = agentOf(definition, from)?.routes;
  if (!routes || has(routes, to) === isThere || sameKey(from, to)) return definition;
  return changeAgent(definition, from, { routes: isThere ? [...routes, to] : without(routes, to) });
}

/** Equips an agent with a tool of the project, which the network then has too, or takes it away. */
export function setTool(definition: Definition, agent: string, tool: string, isThere: boolean): Definition {
  const tools = agentOf(definition, agent)?.tools;
  if (!tools || has(tools, tool) === isThere) return definition;
  if (!isThere) return dropUnused(changeAgent(definition, agent, { tools: without(tools, tool) }), tool);
  const isKnown = definition.tools.some(({ key }) => sameKey(key, tool));
  const known = isKnown
    ? definition.tools
    : [...definition.tools, { key: tool, description: null, params: null }];
  return changeAgent({ ...definition, tools: known }, agent, { tools: [...tools, tool] });
}

/** A tool that nobody has and that is not described anew here goes from the network as it came. */
function dropUnused(definition: Definition, tool: string): Definition {
  if (definition.agents.some(({ tools }) => has(tools, tool))) return definition;
  return {
    ...definition,
    tools: definition.tools.filter(
      ({ key, description, params }) => !sameKey(key, tool) || description !== null || params !== null,
    ),
  };
}

/** Where agents stand is kept in the network's metadata, which is no part of what is published. */
const LAYOUT = 'layout';

export function positionsOf({ metadata }: Pick<Definition, 'metadata'>): Record<string, Position> {
  const kept = metadata[LAYOUT];
  if (kept === null || typeof kept !== 'object' || Array.isArray(kept)) return {};
  const places = Object.entries(kept).flatMap(([key, place]): [string, Position][] => {
    if (place === null || typeof place !== 'object' || Array.isArray(place)) return [];
    const { x, y } = place;
    return typeof x === 'number' && typeof y === 'number' ? [[key, { x, y }]] : [];
  });
  return Object.fromEntries(places);
}

function withPositions(definition: Definition, positions: Record<string, Position>): Definition {
  const { [LAYOUT]: _, ...rest } = definition.metadata;
  const isEmpty = Object.keys(positions).length === 0;
  return { ...definition, metadata: isEmpty ? rest : { ...rest, [LAYOUT]: { ...positions } as never } };
}

export function moveAgent(definition: Definition, key: string, { x, y }: Position): Definition {
  const place = { x: Math.round(x), y: Math.round(y) };
  return withPositions(definition, { ...positionsOf(definition), [key]: place });
}

export function placeAgents(definition: Definition, places: ReadonlyMap<string, Position>): Definition {
  return withPositions(definition, Object.fromEntries(places));
}

export function forgetPositions(definition: Definition): Definition {
  return withPositions(definition, {});
}

/** Without what has no part in what runs. */
export function withoutLayout(definition: Definition): Definition {
  return withPositions(definition, {});
}
