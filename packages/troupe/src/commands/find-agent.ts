import type { Agent } from '@troupe/protocol';
import { type Troupe, TroupeClientError } from '@troupe/sdk';

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** By id, else by name, whatever the case. */
export async function findAgent(troupe: Troupe, nameOrId: string): Promise<Agent> {
  if (ID.test(nameOrId)) return troupe.agents.get({ params: { agentId: nameOrId } });
  const { data } = await troupe.agents.list({ query: { search: nameOrId, limit: 200 } });
  const found = data.find((agent) => agent.name.toLowerCase() === nameOrId.toLowerCase());
  if (found) return found;
  const close = data.slice(0, 5).map((agent) => `"${agent.name}"`);
  throw new TroupeClientError(
    `There is no agent "${nameOrId}".${close.length > 0 ? ` Is it ${close.join(' or ')}?` : ' `troupe agents list` shows all.'}`,
  );
}
