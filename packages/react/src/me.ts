import { ApiError, type Troupe } from '@troupe/sdk';

/** After a try that did not reach the server, for as long as it takes. */
const AGAIN_MS = 1_000;

const asked = new WeakMap<Troupe, Promise<string | null>>();

/** The person that the token of a client names; null where there is none. Asked until the server says it, and then no more. */
export function meOf(troupe: Troupe): Promise<string | null> {
  const before = asked.get(troupe);
  if (before) return before;
  const me = ask(troupe);
  asked.set(troupe, me);
  return me;
}

async function ask(troupe: Troupe): Promise<string | null> {
  for (;;) {
    try {
      return (await troupe.system.get()).caller.entityId;
    } catch (error) {
      // A token that is refused may be another time.
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
        if (error.status === 401) asked.delete(troupe);
        return null;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}
