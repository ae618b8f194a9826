import { type BodyInputOf, clientEndpoints } from '@troupe/protocol';
import { NotFoundError } from './errors.ts';
import { insist } from './insist.ts';
import { pause, type Transport } from './transport.ts';

/** A client counts as online for a minute after it was heard of: one sign of life may be lost. */
const SEEN_MS = 30_000;

/** Registers a program as a client and keeps it online until the signal is aborted. Throws where that cannot be. */
export async function keepPresence(
  transport: Transport,
  body: BodyInputOf<typeof clientEndpoints.register>,
  signal: AbortSignal,
  everyMs = SEEN_MS,
): Promise<void> {
  const register = () => insist(() => transport.call(clientEndpoints.register, { body }, { signal }), signal);
  let { id: clientId } = await register();
  for (;;) {
    await pause(everyMs, signal);
    try {
      const seen = () => transport.call(clientEndpoints.seen, { params: { clientId } }, { signal });
      await insist(seen, signal);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // Somebody forgot it, but it is still there.
      clientId = (await register()).id;
    }
  }
}
