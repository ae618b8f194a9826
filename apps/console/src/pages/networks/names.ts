import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { agentsQuery, modelsQuery } from '../../data/queries.ts';
import type { Names } from './diff/changes.ts';

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
