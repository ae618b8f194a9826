import { useGiven } from './provider.tsx';
import type { Paged, SessionMessage, SpaceMessage } from './results.ts';
import { sessionStore } from './session-store.ts';
import { type Shared, useShared } from './shared.ts';
import { spaceStore } from './space-store.ts';

type State = Omit<Paged<SessionMessage | SpaceMessage>, 'loadOlder'>;

/** The messages of a session or a space, and older ones where they are asked for. */
export function useMessages(of: { agentId: string; sessionId: string }): Paged<SessionMessage>;
export function useMessages(of: { spaceId: string; as?: string }): Paged<SpaceMessage>;
export function useMessages(
  of: { agentId: string; sessionId: string } | { spaceId: string; as?: string },
): Paged<SessionMessage> | Paged<SpaceMessage> {
  const given = useGiven();
  const store =
    'spaceId' in of ? spaceStore(given, of.spaceId, of.as) : sessionStore(given, of.agentId, of.sessionId);
  return useShared(store as Shared<State>, store.actions) as Paged<SessionMessage> | Paged<SpaceMessage>;
}
