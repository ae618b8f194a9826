import type {
  NetworkAgent,
  NetworkAgentDefinition,
  NetworkDefinition,
  NetworkTool,
  NetworkToolDefinition,
} from '@troupe/protocol';
import { notFound, Refusal } from '../../base/index.ts';
import type { Author, Database, NetworkRows } from '../../store/index.ts';
import { editNetwork } from './change.ts';
import { networkAgents, networkTools, sortedByKey } from './network-parts.ts';
import { wholeNetwork } from './networks.ts';

// The agents and the tools of a network, one by one: each edit is a change of the whole definition.

export async function addNetworkAgent(
  db: Database,
  author: Author,
  idOrName: string,
  agent: NetworkAgentDefinition,
): Promise<NetworkAgent> {
  const rows = await editNetwork(db, author, idOrName, (before) => ({
    definition: { ...before, agents: [...before.agents, agent] },
    at: within(before.agents.length),
  }));
  return required(rows, agent.key);
}

export async function getNetworkAgent(
  db: Database,
  project: string,
  { network, key }: { network: string; key: string },
): Promise<NetworkAgent> {
  return required(await wholeNetwork(db, project, network), key);
}

export async function listNetworkAgents(db: Database, project: string, idOrName: string) {
  return { data: sortedByKey(networkAgents(await wholeNetwork(db, project, idOrName))) };
}

type AgentPatch = { [Field in keyof NetworkAgentDefinition]?: NetworkAgentDefinition[Field] | undefined };

/** With another key, the routes to it lead to that. Made the default, it takes the place of the one that was. */
export async function updateNetworkAgent(
  db: Database,
  author: Author,
  { network, key }: { network: string; key: string },
  patch: AgentPatch,
): Promise<NetworkAgent> {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const rows = await editNetwork(db, author, network, (before) => {
    const index = placeOf(before, key);
    const after = { ...before.agents[index]!, ...(given as Partial<NetworkAgentDefinition>) };
    const agents = before.agents.map((agent, place) =>
      place === index
        ? after
        : {
            ...agent,
            isDefault: agent.isDefault && given.isDefault !== true,
            routes: agent.routes.map((to) => (isSame(to, key) ? after.key : to)),
          },
    );
    return { definition: { ...before, agents }, at: within(index) };
  });
  return required(rows, patch.key ?? key);
}

/** What it routes to is no reason to keep it; what routes to it is. */
export async function removeNetworkAgent(
  db: Database,
  author: Author,
  { network, key }: { network: string; key: string },
): Promise<void> {
  await editNetwork(db, author, network, (before) => {
    const index = placeOf(before, key);
    const from = before.agents.filter(({ routes }) => routes.some((to) => isSame(to, key)));
    if (from.length > 0) throw agentInUse(from.map((agent) => agent.key));
    return { definition: { ...before, agents: before.agents.toSpliced(index, 1) } };
  });
}

export async function listNetworkTools(db: Database, project: string, idOrName: string) {
  return { data: sortedByKey(networkTools(await wholeNetwork(db, project, idOrName))) };
}

export async function setNetworkTools(
  db: Database,
  author: Author,
  idOrName: string,
  tools: NetworkToolDefinition[],
): Promise<{ data: NetworkTool[] }> {
  const rows = await editNetwork(db, author, idOrName, (before, found) => {
    const stay = new Set(tools.map(({ key }) => key.toLowerCase()));
    const gone = networkTools(found).filter(({ key }) => !stay.has(key.toLowerCase()));
    const used = gone.filter(({ usedBy }) => usedBy.length > 0);
    if (used.length > 0) throw toolInUse(used);
    return { definition: { ...before, tools } };
  });
  return { data: sortedByKey(networkTools(rows)) };
}

function placeOf({ agents }: NetworkDefinition, key: string): number {
  const index = agents.findIndex((agent) => isSame(agent.key, key));
  if (index === -1) throw notFound('agent of the network');
  return index;
}

function required(rows: NetworkRows, key: string): NetworkAgent {
  return networkAgents(rows).find((agent) => isSame(agent.key, key))!;
}

function isSame(one: string, two: string): boolean {
  return one.toLowerCase() === two.toLowerCase();
}

/** What stands in the request is told by its place there. */
function within(index: number) {
  const start = `agents.${index}.`;
  return (path: string) => (path.startsWith(start) ? path.slice(start.length) : path);
}

function agentInUse(from: string[]): Refusal {
  const named = from.slice(0, 10).map((key) => `"${key}"`);
  const more = from.length > 10 ? ` and ${from.length - 10} more` : '';
  const detail = `Routes lead to the agent, from ${named.join(', ')}${more}.`;
  return new Refusal('conflict', 'agent_in_use', detail, { hint: 'Take these routes away first.' });
}

function toolInUse(used: NetworkTool[]): Refusal {
  const named = ({ key, usedBy }: NetworkTool) => `"${key}" by ${usedBy.slice(0, 10).join(', ')}`;
  const detail = `Tools that would go are in use: ${used.slice(0, 10).map(named).join('; ')}.`;
  return new Refusal('conflict', 'tool_in_use', detail, {
    hint: 'Take them from these agents first.',
    issues: used.map(({ key, usedBy }) => ({
      path: 'tools',
      message: `must have "${key}", which ${usedBy.slice(0, 10).join(', ')} may call`,
    })),
  });
}
