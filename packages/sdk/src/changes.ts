import { type Changed, type ChangedCollection, systemEndpoints } from '@troupe/protocol';
import { ApiError } from './errors.ts';
import { framesOf } from './sse.ts';
import { pause, pauseBefore, type Transport } from './transport.ts';

export interface ChangesOptions {
  /** Only of these. Default: all. */
  collections?: ChangedCollection[];
  signal?: AbortSignal;
  /** A connection that says nothing for so long is made again. Default: 45,000. */
  silenceMs?: number;
  onDisconnect?: () => void;
}

/** `resync`: something may have been missed; ask for everything again. It comes first, and after every break. */
export type ChangesItem = { kind: 'resync' } | ({ kind: 'changed' } & Changed);

/** That lists have changed, for ever: until the signal, the end of the loop, or an error that trying again cannot mend. */
export async function* changesOf(
  transport: Transport,
  { collections, signal, silenceMs = 45_000, onDisconnect }: ChangesOptions = {},
): AsyncGenerator<ChangesItem> {
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    const connection = new AbortController();
    const cut = () => connection.abort();
    signal?.addEventListener('abort', cut, { once: true });
    let silence = setTimeout(cut, silenceMs);
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(cut, silenceMs);
    };
    let retryMs = 0;
    let failure: unknown;
    try {
      const query = collections ? { collections: collections.join(',') } : {};
      const response = await transport.send(
        systemEndpoints.changes,
        { query },
        { accept: 'text/event-stream', signal: connection.signal, stream: true },
      );
      for await (const frame of framesOf(response.body!, alive)) {
        if (frame.retryMs !== null) retryMs = frame.retryMs;
        if (frame.event === 'disconnecting') break;
        if (frame.event === 'resync') yield { kind: 'resync' };
        else if (frame.event === 'changed') yield { kind: 'changed', ...(JSON.parse(frame.data) as Changed) };
        else continue;
        failures = 0;
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
      failure = error;
      failures++;
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener('abort', cut);
      connection.abort();
    }
    onDisconnect?.();
    await pause(Math.max(retryMs, failure ? pauseBefore(failures - 1, failure) : 0), signal);
  }
}
