import { QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { AuthenticationError } from '@troupe/sdk';
import { troupe } from './client.ts';

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    // A key that was revoked or has expired meanwhile: the gate asks for another.
    onError: (error, { queryKey }) => {
      if (error instanceof AuthenticationError && queryKey[0] !== 'system')
        void queryClient.invalidateQueries({ queryKey: ['system'] });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The SDK has tried again already.
      retry: false,
      refetchOnWindowFocus: true,
      // The server may be on this machine, where no network is needed; what cannot be reached says so.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

/**
 * Keys begin with the noun, so that all queries of a noun can be invalidated together: `['runs', 'list', filter]`. Lists that several pages
 * need are here; the queries of one page stand with the page.
 */
export const agentsQuery = queryOptions({
  queryKey: ['agents', 'names'],
  queryFn: () => listAll(troupe.agents.list),
  staleTime: 30_000,
});

export const entitiesQuery = queryOptions({
  queryKey: ['entities', 'names'],
  queryFn: () => listAll(troupe.entities.list),
  staleTime: 30_000,
});

export const modelsQuery = queryOptions({
  queryKey: ['models', 'all'],
  queryFn: () => listAll(troupe.models.listModels),
});

export const providersQuery = queryOptions({
  queryKey: ['models', 'providers'],
  queryFn: () => listAll(troupe.models.listProviders),
});

export const toolsQuery = queryOptions({
  queryKey: ['tools', 'all'],
  queryFn: () => listAll(troupe.tools.list),
});

/** The names of all secrets. Their values are not readable. */
export const secretsQuery = queryOptions({
  queryKey: ['secrets', 'all'],
  queryFn: () => listAll(troupe.access.listSecrets),
});

/** More than a person can choose from. */
const MAX_LISTED = 2_000;

/** All pages of a list, up to a limit. */
async function listAll<Item>(
  list: (page: { query: { cursor?: string; limit: number } }) => Promise<{
    data: Item[];
    nextCursor: string | null;
  }>,
): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of troupe.all(({ query }) => list({ query: { ...query, limit: 200 } }))) {
    all.push(item);
    if (all.length >= MAX_LISTED) break;
  }
  return all;
}
