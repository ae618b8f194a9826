import { useGiven } from './provider.tsx';
import type { SessionResult } from './results.ts';
import { sessionStore } from './session-store.ts';
import { useShared } from './shared.ts';

/**
 * A session: what was said, what is being said, and what is going on. A component is drawn again only for what it reads of the result.
 * Null: there is none yet.
 */
export function useSession(agentId: string | null, sessionId: string | null): SessionResult {
  const store = sessionStore(useGiven(), agentId, sessionId);
  return useShared(store, store.actions);
}
