import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useMemo } from 'react';
import { shortId } from './format.ts';
import { agentsQuery, entitiesQuery } from './queries.ts';

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
    return (agentId) => (agentId ? (names.get(agentId) ?? shortId(agentId)) : 'An agent that is gone');
  }, [data]);
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
