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
