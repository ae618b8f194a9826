import { type Changed, type ChangedCollection, systemEndpoints } from '@troupe/protocol';
import { ApiError } from './errors.ts';
import { pauseOrOnline } from './online.ts';
import { framesOf } from './sse.ts';
import { pauseBefore, type Transport } from './transport.ts';

export interface ChangesOptions {
  /** Left out: all. */
  collections?: readonly ChangedCollection[];
  signal?: AbortSignal;
  /** A connection without a sign of life for so long is made anew. */
  silenceMs?: number;
  /** Told of every connection that was lost or could not be made; then it is tried again. */
  onDisconnect?: (error: unknown) => void;
}

/** `resync`: something may have been missed, so ask for every list again. */
export type ChangesItem = { type: 'resync' } | ({ type: 'changed' } & Changed);

const SILENCE_MS = 45_000;

/** Which lists have changed, until the signal. Throws only where the key does not allow it: everything else is tried again. */
export async function* watchChanges(
  transport: Transport,
  { collections, signal, silenceMs = SILENCE_MS, onDisconnect }: ChangesOptions = {},
): AsyncGenerator<ChangesItem> {
  const query = collections ? { collections: collections.join(',') } : {};
  let failures = 0;
  while (!signal?.aborted) {
    const connection = new AbortController();
    const cut = () => connection.abort();
    signal?.addEventListener('abort', cut, { once: true });
    let silence = setTimeout(cut, silenceMs);
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(cut, silenceMs);
    };
    let failure: unknown = null;
    let retryMs = 0;
    // Connections that end before they brought anything are made less and less often.
    let isOfUse = false;
    try {
      const response = await transport.send(
        systemEndpoints.changes,
        { query },
        { accept: 'text/event-stream', signal: connection.signal, stream: true },
      );
      for await (const { event, data, retryMs: asked } of framesOf(response.body!, alive)) {
        if (asked !== null) retryMs = asked;
        isOfUse = true;
        if (event === 'disconnecting') break;
        if (event === 'resync') yield { type: 'resync' };
        else if (event === 'changed') yield { type: 'changed', ...(JSON.parse(data) as Changed) };
      }
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) throw error;
      failure = error;
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener('abort', cut);
      connection.abort();
    }
    if (signal?.aborted) return;
    onDisconnect?.(failure);
    failures = isOfUse ? 0 : failures + 1;
    await pauseOrOnline(Math.max(retryMs, pauseBefore(Math.max(failures - 1, 0), failure)), signal);
  }
}
