import { type Connected, type Delta, type Event, sessionEndpoints } from '@troupe/protocol';
import { ApiError } from './errors.ts';
import { framesOf } from './sse.ts';
import { pause, pauseBefore, type Transport } from './transport.ts';

/** What a stream brings. Events are stored and come in order, each once; deltas are live and may be missed. */
export type StreamItem =
  | { kind: 'connected'; connected: Connected }
  | { kind: 'event'; event: Event }
  | { kind: 'delta'; delta: Delta };

export interface StreamOptions {
  /** Everything after this sequence. Default: 0, from the beginning. */
  after?: number;
  /** Only these types; `run.*` means all that begin so. Deltas come in any case. */
  types?: string[];
  signal?: AbortSignal;
}

/** The server sends a sign of life every 15 s; a connection without one for so long is dead. */
const SILENCE_MS = 45_000;

/**
 * A session's events, for ever: replayed from where the caller is, then live. A connection that ends is made again from
 * the last event that was seen, so that none is missed and none comes twice. It ends by the signal, by leaving the
 * loop, or by an error that trying again cannot mend.
 */
export async function* streamSession(
  transport: Transport,
  params: { agentId: string; sessionId: string },
  { after = 0, types, signal }: StreamOptions = {},
): AsyncGenerator<StreamItem> {
  let last = after;
  let failures = 0;
  let retryMs: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const connection = new AbortController();
    const cut = () => connection.abort();
    signal?.addEventListener('abort', cut, { once: true });
    let silence = setTimeout(cut, SILENCE_MS);
    try {
      const response = await transport.send(
        sessionEndpoints.events,
        { params, query: types ? { types: types.join(',') } : {} },
        {
          accept: 'text/event-stream',
          headers: { 'last-event-id': String(last) },
          signal: connection.signal,
          stream: true,
        },
      );
      const alive = () => {
        clearTimeout(silence);
        silence = setTimeout(cut, SILENCE_MS);
      };
      for await (const frame of framesOf(response.body!, alive)) {
        if (frame.retryMs !== null) retryMs = frame.retryMs;
        if (frame.data === '') continue;
        if (frame.event === 'disconnecting') break;
        const data: unknown = JSON.parse(frame.data);
        if (frame.event === 'connected') {
          failures = 0;
          yield { kind: 'connected', connected: data as Connected };
        } else if (frame.id === null) {
          yield { kind: 'delta', delta: data as Delta };
        } else {
          const event = data as Event;
          if (event.sequence <= last) continue;
          last = event.sequence;
          yield { kind: 'event', event };
        }
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const final = error instanceof ApiError && error.status < 500 && error.status !== 429;
      if (final) throw error;
      failures += 1;
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener('abort', cut);
      connection.abort();
    }
    await pause(Math.max(retryMs ?? 0, failures > 0 ? pauseBefore(failures - 1) : 0), signal);
    retryMs = null;
  }
}
