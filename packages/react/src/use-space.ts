import type { ActiveAgent, Api } from '@troupe/sdk';
import { useGiven } from './provider.tsx';
import type { SpaceResult } from './results.ts';
import { useShared } from './shared.ts';
import { spaceStore } from './space-store.ts';

export interface UseSpaceOptions {
  /** The entity to speak, read and type for, where a key is used. Default: that of the provider. */
  as?: string | undefined;
}

/**
 * A space: what is said, who says it, and who is about to. A component is drawn again only for what it reads of the result.
 * Null: there is none yet.
 */
export function useSpace(spaceId: string | null, { as }: UseSpaceOptions = {}): SpaceResult {
  const store = spaceStore(useGiven(), spaceId, as);
  return useShared(store, store.actions);
}

export function useMembers(spaceId: string | null, options?: UseSpaceOptions): readonly Api.Membership[] {
  return useSpace(spaceId, options).members;
}

export function useActiveAgents(spaceId: string | null, options?: UseSpaceOptions): readonly ActiveAgent[] {
  return useSpace(spaceId, options).activeAgents;
}
