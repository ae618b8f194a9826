import { queryOptions } from '@tanstack/react-query';
import { troupe } from '../../data/client.ts';

export const agentQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['agents', 'one', agentId],
    queryFn: () => troupe.agents.get({ params: { agentId } }),
  });

export const capabilitiesQuery = queryOptions({
  queryKey: ['capabilities'],
  queryFn: async () => (await troupe.capabilities.list()).data,
  staleTime: 300_000,
});

/** All of a list, as long as a person could choose from it. */
async function whole<Item>(
  list: (page: { query: { cursor?: string; limit: number } }) => Promise<{
    data: Item[];
    nextCursor: string | null;
  }>,
): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of troupe.all(({ query }) => list({ query: { ...query, limit: 200 } }))) {
    all.push(item);
    if (all.length >= 2_000) break;
  }
  return all;
}

export const modelsQuery = queryOptions({
  queryKey: ['models', 'all'],
  queryFn: () => whole(troupe.models.listModels),
});

export const providersQuery = queryOptions({
  queryKey: ['models', 'providers'],
  queryFn: () => whole(troupe.models.listProviders),
});

export const toolsQuery = queryOptions({
  queryKey: ['tools', 'all'],
  queryFn: () => whole(troupe.tools.list),
});
