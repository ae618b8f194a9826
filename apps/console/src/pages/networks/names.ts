import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { troupe } from '../../data/client.ts';
import { agentsQuery } from '../../data/queries.ts';
import type { Names } from './diff/changes.ts';

const MOST = 1_000;

/** All tools of the project, to be given to agents. */
export const toolsQuery = queryOptions({
  queryKey: ['tools', 'of-networks'],
  queryFn: async () => {
    const all = [];
    for await (const tool of troupe.all(({ query }) =>
      troupe.tools.list({ query: { ...query, limit: 200 } }),
    )) {
      all.push(tool);
      if (all.length >= MOST) break;
    }
    return all;
  },
  staleTime: 30_000,
});

/** Models that agents can be given, with the names of their providers. */
export const modelsQuery = queryOptions({
  queryKey: ['models', 'of-networks'],
  queryFn: async () => {
    const all = [];
    for await (const model of troupe.all(({ query }) =>
      troupe.models.listModels({ query: { ...query, limit: 200 } }),
    )) {
      all.push(model);
      if (all.length >= MOST) break;
    }
    return all;
  },
  staleTime: 30_000,
});

/** What ids of agents and models stand for, as far as it is known. */
export function useNames(): Names {
  const { data: agents } = useQuery(agentsQuery);
  const { data: models } = useQuery(modelsQuery);
  return useMemo(
    () => ({
      agent: (id) => agents?.find((agent) => agent.id === id)?.name ?? id,
      model: (id) => models?.find((model) => model.id === id)?.displayName ?? id,
    }),
    [agents, models],
  );
}
