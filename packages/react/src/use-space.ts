import type { ActiveAgent, Api } from '@troupe/sdk';
import type { SpaceResult } from './results.ts';

export interface UseSpaceOptions {
  /** The entity to speak, read and type for, where a key is used. Default: that of the provider. */
  as?: string | undefined;
}

/** A space: what is said, who says it, and who is about to. A component is drawn again only for what it reads of the result. */
export function useSpace(spaceId: string, _options: UseSpaceOptions = {}): SpaceResult {
  throw new Error(`not yet: ${spaceId}`);
}

export function useMembers(spaceId: string): readonly Api.Membership[] {
  return useSpace(spaceId).members;
}

export function useActiveAgents(spaceId: string): readonly ActiveAgent[] {
  return useSpace(spaceId).activeAgents;
}
