import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useMemo } from 'react';
import { shortId } from './format.ts';
import { agentsQuery, entitiesQuery, queryClient } from './queries.ts';

/** Those that take work, by name. */
export function useAgents(): Api.Agent[] | undefined {
  const { data } = useQuery(agentsQuery);
  return useMemo(
    () =>
      data
        ?.filter(({ status }) => status === 'active')
        .sort((one, other) => one.name.localeCompare(other.name)),
    [data],
  );
}

/** What an agent is called, by its id. */
export function useAgentName(): (agentId: string | null | undefined) => string {
  const { data } = useQuery(agentsQuery);
  return useMemo(() => {
    const names = new Map(data?.map(({ id, name }) => [id, name]));
    return (agentId) => {
      if (!agentId) return 'An agent that is gone';
      if (data && !names.has(agentId)) askOnce(agentId);
      return names.get(agentId) ?? shortId(agentId);
    };
  }, [data]);
}

const asked = new Set<string>();

/** Who is not among those that are known may be new: all are asked for again, once for each that is missed. */
function askOnce(agentId: string): void {
  if (asked.has(agentId)) return;
  asked.add(agentId);
  // Not while something is drawn. Several at once are one question: those under way are not asked again.
  setTimeout(() => queryClient.invalidateQueries(agentsQuery, { cancelRefetch: false }));
}

export function nameOfEntity(entity: Pick<Api.Entity, 'id' | 'displayName' | 'externalId'>): string {
  return entity.displayName ?? entity.externalId ?? shortId(entity.id);
}

/** Those who can be spoken for: Troupe's own stand for nobody in particular. */
export function isPerson(entity: Api.Entity): boolean {
  return entity.type === 'human' && !entity.externalId?.startsWith('troupe:');
}

export function usePeople(enabled = true): Api.Entity[] | undefined {
  const { data } = useQuery({ ...entitiesQuery, enabled });
  return useMemo(() => data?.filter(isPerson), [data]);
}
