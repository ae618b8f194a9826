import { QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, AuthenticationError } from '@troupe/sdk';
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
 * Keys begin with the noun, so that what changed can be asked for again by its noun: `['runs', 'list', filter]`. Names that all pages need,
 * such as those of agents, are here; what one page needs stands with the page.
 */
export const agentsQuery = queryOptions({
  queryKey: ['agents', 'names'],
  queryFn: async () => {
    const all = [];
    for await (const agent of troupe.all(({ query }) =>
      troupe.agents.list({ query: { ...query, limit: 100 } }),
    )) {
      all.push(agent);
      if (all.length >= 1_000) break;
    }
    return all;
  },
  staleTime: 30_000,
});

export const entitiesQuery = queryOptions({
  queryKey: ['entities', 'names'],
  queryFn: async () => {
    const all = [];
    for await (const entity of troupe.all(({ query }) =>
      troupe.entities.list({ query: { ...query, limit: 100 } }),
    )) {
      all.push(entity);
      if (all.length >= 1_000) break;
    }
    return all;
  },
  staleTime: 30_000,
});

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
