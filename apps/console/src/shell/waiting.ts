import { queryOptions } from '@tanstack/react-query';
import { troupe } from '../data/client.ts';

/** How much waits in the inbox, for the mark beside its name. */
export const waitingQuery = queryOptions({
  queryKey: ['inbox', 'count'],
  queryFn: async () => (await troupe.inbox.list({ query: { limit: 100 } })).data.length,
});
