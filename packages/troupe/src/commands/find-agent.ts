import type { Agent } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { CommandError } from '../failure.ts';

export const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** By id, else by name, whatever the case; archived ones too, whose names stay taken. */
export async function findAgent(troupe: Troupe, nameOrId: string): Promise<Agent> {
  if (ID.test(nameOrId)) return troupe.agents.get({ params: { agentId: nameOrId } });
  const close: string[] = [];
  for (const status of ['active', 'archived'] as const) {
    const { data } = await troupe.agents.list({ query: { search: nameOrId, limit: 200, status } });
    const found = data.find((agent) => agent.name.toLowerCase() === nameOrId.toLowerCase());
    if (found) return found;
    close.push(...data.map((agent) => `"${agent.name}"`));
  }
  const hint =
    close.length > 0 ? `Is it ${close.slice(0, 5).join(' or ')}?` : '`troupe agents list` shows all.';
  throw new CommandError('agent_not_found', `There is no agent "${nameOrId}". ${hint}`);
}
