import { queryOptions } from '@tanstack/react-query';
import { troupe } from './client.ts';

/** Their names; nobody is shown their values. */
export const secretsQuery = queryOptions({
  queryKey: ['secrets', 'all'],
  queryFn: async () => {
    const all = [];
    for await (const secret of troupe.all(({ query }) =>
      troupe.access.listSecrets({ query: { ...query, limit: 200 } }),
    ))
      all.push(secret);
    return all;
  },
});
