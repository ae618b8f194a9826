import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { systemQuery } from '../shell/system.ts';
import { usePeople } from './names.ts';
import { useSettings } from './settings.ts';

export interface Me {
  /** Whom one speaks for in spaces; null: nobody was chosen. */
  entityId: string | null;
  /** With the token of a person one is that person, and nobody else. */
  canSwitch: boolean;
  person: Api.Entity | undefined;
  people: Api.Entity[] | undefined;
}

export function useMe(): Me {
  const { data: system } = useQuery(systemQuery);
  const { entityId } = useSettings();
  const isPerson = system?.caller.kind === 'user';
  const people = usePeople(!isPerson);
  if (isPerson)
    return { entityId: system.caller.entityId, canSwitch: false, person: undefined, people: undefined };
  const person = people?.find(({ id }) => id === entityId);
  // One who is gone, or of another project that this browser looked at before, speaks for nobody.
  return { entityId: people && !person ? null : entityId, canSwitch: true, person, people };
}
