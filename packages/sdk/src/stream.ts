import type {
  BodyInputOf,
  Connected,
  Delta,
  Event,
  Invoked,
  Json,
  networkEndpoints,
  runEndpoints,
  sessionEndpoints,
  spaceEndpoints,
  Typing,
} from '@troupe/protocol';
import { ApiError, TroupeClientError } from './errors.ts';
import { onOnline, pauseOrOnline } from './online.ts';
import { framesOf } from './sse.ts';
import { pauseBefore, type Transport } from './transport.ts';

/** What a stream brings. Events are stored and come in order, each once; deltas and who is typing are live and may be missed. */
export type StreamItem =
  | { kind: 'connected'; connected: Connected }
  | { kind: 'event'; event: Event }
  | { kind: 'delta'; delta: Delta }
  | { kind: 'typing'; typing: Typing };

/** What an invocation brings: the same, and as the last of it how its run ended. */
export type InvocationItem<Response = Json> =
  | StreamItem
  | {
      kind: 'invoked';
      /** `response` is null where it ended without one. */
      invoked: Omit<Invoked, 'response'> & { response: Response | null };
    };

export interface StreamOptions {
  /** Everything after this sequence. Default: 0, from the beginning. */
  after?: number;
  /** Only these types; `run.*` means all that begin so. */
  types?: string[];
  signal?: AbortSignal;
  /** The server gives a sign of life every 15 s; a connection without one for so long is given up. Default: 45,000. */
  silenceMs?: number;
  /** Called whenever a connection has ended, before another one is made. */
  onDisconnect?: () => void;
}

/** Where events come from: a session, a space, or a run. */
export type EventSource =
  | { endpoint: typeof sessionEndpoints.events; params: { agentId: string; sessionId: string } }
  | { endpoint: typeof spaceEndpoints.events; params: { spaceId: string } }
  | { endpoint: typeof runEndpoints.events; params: { runId: string } };

/** An invocation, and the events of the run that it starts. */
export interface InvocationSource {
  endpoint: typeof networkEndpoints.invoke;
  params: { network: string };
  body: BodyInputOf<typeof networkEndpoints.invoke>;
  /** With which every connection after the first one finds the run that the first one started. */
  idempotencyKey: string;
}

/**
 * The events of a session, a space or a run, for ever: replayed from where the caller is, then live. A connection that ends is made again from
 * the last event that was seen, so that none is missed and none comes twice. It ends by the signal, by leaving the
 * loop, or by an error that trying again cannot mend.
 */
export function streamEvents(
  transport: Transport,
  source: EventSource,
  options?: StreamOptions,
): AsyncGenerator<StreamItem> {
  return streamItems(transport, source, options) as AsyncGenerator<StreamItem>;
}

/** The same for the run that is started, and no longer than that runs. */
export function streamInvocation(
  transport: Transport,
  source: InvocationSource,
  options?: StreamOptions,
): AsyncGenerator<InvocationItem> {
  return streamItems(transport, source, options);
}

async function* streamItems(
  transport: Transport,
  source: EventSource | InvocationSource,
  { after = 0, types, signal, silenceMs = 45_000, onDisconnect }: StreamOptions = {},
): AsyncGenerator<InvocationItem> {
  const { endpoint, params } = source;
  const invocation =
    'body' in source
      ? { input: { body: source.body }, options: { idempotencyKey: source.idempotencyKey } }
      : null;
  let last = after;
  let failures = 0;
  for (;;) {
    signal?.throwIfAborted();
    const connection = new AbortController();
    const cut = () => connection.abort();
    signal?.addEventListener('abort', cut, { once: true });
    // Whoever was offline has a connection that may never bring anything again.
    const forget = onOnline(cut);
    let silence = setTimeout(cut, silenceMs);
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(cut, silenceMs);
    };
    let retryMs = 0;
    let failure: unknown;
    // Connections that end before they brought anything are made less and less often.
    let isOfUse = false;
    try {
      const response = await transport.send(
        endpoint,
        { params, query: types ? { types: types.join(',') } : {}, ...invocation?.input },
        {
          accept: 'text/event-stream',
          headers: { 'last-event-id': String(last) },
          signal: connection.signal,
          stream: true,
          ...invocation?.options,
        },
      );
      if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
        throw new NoStreamError('The server answered with something else than a stream of events.');
      for await (const frame of framesOf(response.body, alive)) {
        if (frame.retryMs !== null) retryMs = frame.retryMs;
        if (frame.data === '') continue;
        const { event, id } = frame;
        if (event === 'disconnecting') {
          isOfUse = true;
          break;
        }
        const data: unknown = JSON.parse(frame.data);
        const item = itemOf(event, id, data);
        if (item.kind !== 'connected') isOfUse = true;
        if (item.kind === 'event') {
          if (item.event.sequence <= last) continue;
          last = item.event.sequence;
        }
        // How long the caller takes for it says nothing about the connection.
        clearTimeout(silence);
        yield item;
        if (item.kind === 'invoked') return;
        alive();
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (isFinal(error)) throw error;
      failure = error;
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener('abort', cut);
      forget();
      connection.abort();
    }
    onDisconnect?.();
    failures = isOfUse ? 0 : failures + 1;
    const backoff = failure || failures > 0 ? pauseBefore(Math.max(failures - 1, 0), failure) : 0;
    await pauseOrOnline(Math.max(retryMs, backoff), signal);
  }
}

class NoStreamError extends TroupeClientError {}

function isFinal(error: unknown): boolean {
  if (error instanceof ApiError)
    return error.status < 500 && error.status !== 429 && error.code !== 'request_under_way';
  return error instanceof NoStreamError;
}

function itemOf(event: string, id: string | null, data: unknown): InvocationItem {
  if (event === 'connected') return { kind: 'connected', connected: data as Connected };
  if (event === 'space.typing') return { kind: 'typing', typing: data as Typing };
  if (event === 'invoked') return { kind: 'invoked', invoked: data as Invoked };
  if (id === null) return { kind: 'delta', delta: data as Delta };
  return { kind: 'event', event: data as Event };
}
