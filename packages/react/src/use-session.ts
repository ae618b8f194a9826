import type { SessionResult } from './results.ts';

/** A session: what was said, what is being said, and what is going on. A component is drawn again only for what it reads of the result. */
export function useSession(agentId: string, sessionId: string): SessionResult {
  throw new Error(`not yet: ${agentId} ${sessionId}`);
}
