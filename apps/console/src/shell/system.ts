import { queryOptions } from '@tanstack/react-query';
import { troupe } from '../data/client.ts';

/** What server this is and who is asking; the first request of the page. */
export const systemQuery = queryOptions({
  queryKey: ['system'],
  queryFn: () => troupe.system.get(),
  staleTime: 60_000,
});
