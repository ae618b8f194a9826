import { type JsonObject, toolAgent, toolNetwork } from '@troupe/protocol';
import { Refusal } from '../../base/index.ts';
import {
  agentNamed,
  type NamedNetwork,
  networksNamed,
  type ToolRow,
  type Transaction,
} from '../../store/index.ts';
import { pinAgent } from '../agents/index.ts';

/** What a tool that begins runs will run, whatever becomes of the network or the agent that it names; or why it cannot. */
export type Pin = { pinned: JsonObject } | { code: string; message: string };

/** The network that has the tools, as it is being compiled. */
export interface Self {
  id: string | null;
  agents: readonly { key: string; isDefault: boolean }[];
  wallMs: number;
}

/** By the names of the tools in lower case. A version of a network keeps them: see `taskOf` in doors for who reads them. */
export async function pinsOf(
  rows: Transaction,
  project: string,
  { tools, self }: { tools: readonly ToolRow[]; self: Self },
): Promise<Map<string, Pin>> {
  const pins = new Map<string, Pin>();
  const asked = tools
    .filter(({ kind }) => kind === 'network')
    .map(({ name, config }) => {
      const { network, version = null, agent = null } = toolNetwork.parse(config.network);
      return { tool: name.toLowerCase(), network, version, agent };
    });
  const found = new Map((await networksNamed(rows, project, asked)).map((one) => [one.tool, one]));
  for (const one of asked) pins.set(one.tool, networkPin(one, found.get(one.tool), self));
  for (const { name, kind, config } of tools) {
    if (kind !== 'agent') continue;
    pins.set(name.toLowerCase(), await agentPin(rows, project, toolAgent.parse(config.agent).agent));
  }
  return pins;
}

function networkPin(
  asked: { network: string; version: number | null; agent: string | null },
  found: NamedNetwork | undefined,
  self: Self,
): Pin {
  const problem = (code: string, message: string): Pin => ({ code, message });
  if (!found) return problem('network_not_found', `There is no network "${asked.network}" in the project.`);
  if (found.status === 'archived')
    return problem('network_archived', `The network "${found.name}" is archived.`);
  if (found.id === self.id && asked.version === null) return selfPin(asked.agent, found.name, self);
  if (found.snapshotId === null)
    return asked.version === null
      ? problem('network_not_published', `The network "${found.name}" was never published.`)
      : problem('version_not_found', `The network "${found.name}" has no version ${asked.version}.`);
  if (found.agent === null)
    return problem('unknown_key', `The network "${found.name}" has no agent "${asked.agent}".`);
  const { id, name, version, snapshotId, agent, wallMs } = found;
  return { pinned: { snapshot: snapshotId, network: { id, name, version }, agent, wallMs } };
}

/**
 * Itself, without a version: the very one that is compiled, which has no number yet. To pin the one before would make a new version of
 * the same content, each time that it is published.
 */
function selfPin(asked: string | null, name: string, { agents, wallMs }: Self): Pin {
  const agent =
    asked === null
      ? (agents.find(({ isDefault }) => isDefault) ?? (agents.length === 1 ? agents[0] : undefined))
      : agents.find(({ key }) => key.toLowerCase() === asked.toLowerCase());
  if (agent) return { pinned: { self: true, agent: agent.key, wallMs } };
  return asked === null
    ? {
        code: 'no_default',
        message: `The network "${name}" has no default agent, where the tool would begin.`,
      }
    : { code: 'unknown_key', message: `The network "${name}" has no agent "${asked}".` };
}

async function agentPin(rows: Transaction, project: string, ref: string): Promise<Pin> {
  const id = await agentNamed(rows, project, ref);
  if (!id) return { code: 'agent_not_found', message: `There is no active agent "${ref}" in the project.` };
  try {
    const { snapshotId, entityId, wallMs } = await pinAgent(rows, project, id);
    return {
      pinned: { snapshot: snapshotId, agent: id, entity: entityId, wallMs },
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.code, message: error.message };
  }
}
