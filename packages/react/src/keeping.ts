import type { Troupe } from '@troupe/sdk';
import type { Outbox, Outgoing } from './outbox.ts';
import { identityOf, type KeptMessage, mayHaveUnsent, Unsent } from './unsent.ts';

/** Who speaks, and whether what they say is kept until it is sent. */
export interface Speaking {
  as: string | null;
  keepUnsent: boolean;
}

/** What keeps the outbox of a session or a space in the storage of the browser, from when it is opened until the answered function is called. */
export function keepUnsent<Message extends { id: string; createdAt: string }>(
  troupe: Troupe,
  { as, place }: { as: string | null; place: string },
  outbox: Outbox<Message>,
  again: (kept: KeptMessage) => Outgoing<Message>,
): () => void {
  const ending = new AbortController();
  let forget = () => {};
  if (mayHaveUnsent(place)) outbox.hold();
  void identityOf(troupe, as, ending).then((identity) => {
    if (ending.signal.aborted) return outbox.release();
    const unsent = identity === null ? null : new Unsent(identity, place);
    forget = unsent?.onDiscard((id) => outbox.forget(id)) ?? forget;
    outbox.keepIn(unsent, again);
  });
  return () => {
    ending.abort();
    forget();
  };
}
