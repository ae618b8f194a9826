import { queryOptions, useQuery } from '@tanstack/react-query';
import { troupe } from '../../data/client.ts';
import { agentsQuery } from '../../data/queries.ts';
import { doorWords } from './filter.ts';

/** Networks by their id, for lists that name them. */
export const networkNamesQuery = queryOptions({
  queryKey: ['networks', 'names'],
  queryFn: async () => {
    const names: { id: string; name: string }[] = [];
    for await (const { id, name } of troupe.all(({ query }) =>
      troupe.networks.list({ query: { ...query, limit: 100 } }),
    )) {
      names.push({ id, name });
      if (names.length >= 1_000) break;
    }
    return names;
  },
  staleTime: 30_000,
});

export interface Worked {
  agentId: string | null;
  networkId: string | null;
  door: string;
}

/** Who works in a run: the name of its network, else of its agent. */
export function useWhoWorks(): (run: Worked) => string {
  const agents = useQuery(agentsQuery);
  const networks = useQuery(networkNamesQuery);
  const agentNames = new Map(agents.data?.map(({ id, name }) => [id, name]));
  const networkNames = new Map(networks.data?.map(({ id, name }) => [id, name]));
  return ({ agentId, networkId }) => {
    if (networkId) return networkNames.get(networkId) ?? (networks.data ? 'a network that is gone' : '…');
    if (agentId) return agentNames.get(agentId) ?? (agents.data ? 'an agent that is archived' : '…');
    return 'an agent that is gone';
  };
}

export function doorWord(door: string): string {
  return doorWords[door as keyof typeof doorWords] ?? door;
}
