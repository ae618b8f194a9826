import type { Paged, SessionMessage, SpaceMessage } from './results.ts';

/** The messages of a session or a space, and older ones where they are asked for. */
export function useMessages(of: { agentId: string; sessionId: string }): Paged<SessionMessage>;
export function useMessages(of: { spaceId: string; as?: string }): Paged<SpaceMessage>;
export function useMessages(_of: object): Paged<SessionMessage> | Paged<SpaceMessage> {
  throw new Error('not yet');
}
