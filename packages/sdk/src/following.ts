import { type Collection, syncEndpoints } from '@troupe/protocol';
import { ApiError } from './errors.ts';
import { pauseOrOnline } from './online.ts';
import { framesOf } from './sse.ts';
import { pauseBefore, type Transport } from './transport.ts';

// Browsers open six connections to a server over HTTP/1.1, and a stream keeps one: all collections that a client follows share it.

export type FollowedItem = 'RESYNC' | { documents: unknown[]; checkpoint: { checkpoint: string } };

export interface Follower {
  collection: Collection;
  tell(item: FollowedItem): void;
  silenceMs?: number | undefined;
  onDisconnect?: ((error: unknown) => void) | undefined;
}

type Whose = { user?: string; chat?: string };

/** Those who begin close together are connected at once. */
const SOON_MS = 50;
const SILENCE_MS = 45_000;

const known = new WeakMap<Transport, Map<string, Following>>();

/** What a client follows as the same person and of the same chat. */
export function followingOf(transport: Transport, whose: Whose): Following {
  const ofClient = known.get(transport) ?? new Map<string, Following>();
  known.set(transport, ofClient);
  const name = JSON.stringify([whose.user, whose.chat]);
  const following = ofClient.get(name) ?? new Following(transport, whose);
  ofClient.set(name, following);
  return following;
}

export class Following {
  readonly #transport: Transport;
  readonly #whose: Whose;
  readonly #followers = new Set<Follower>();
  /** What the connection is about. */
  #connected = new Set<Collection>();
  #connection = new AbortController();
  #soon: ReturnType<typeof setTimeout> | undefined;
  /** One of them may not be read: each by itself, so that the others can. */
  #apart = false;

  constructor(transport: Transport, whose: Whose) {
    this.#transport = transport;
    this.#whose = whose;
  }

  /** Tells until it is told to stop. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    if (this.#connected.has(follower.collection)) follower.tell('RESYNC');
    else this.#soon ??= setTimeout(() => this.#connect(), SOON_MS);
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size > 0) return;
      clearTimeout(this.#soon);
      this.#soon = undefined;
      this.#connection.abort();
      this.#connected = new Set();
    };
  }

  #connect(): void {
    this.#soon = undefined;
    this.#connection.abort();
    this.#connection = new AbortController();
    const { signal } = this.#connection;
    this.#connected = new Set([...this.#followers].map(({ collection }) => collection));
    const names = [...this.#connected];
    for (const part of this.#apart ? names.map((name) => [name]) : [names])
      void this.#keep(part, signal).catch(() => {});
  }

  #of(collections: readonly Collection[]): Follower[] {
    return [...this.#followers].filter(({ collection }) => collections.includes(collection));
  }

  /** For ever, until the signal: who is offline tries again, ever less often, and at once when the browser says that it is online. */
  async #keep(collections: Collection[], signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const connection = new AbortController();
      const cut = () => connection.abort();
      signal.addEventListener('abort', cut, { once: true });
      const silenceMs = Math.min(
        ...this.#of(collections).map(({ silenceMs: own }) => own ?? SILENCE_MS),
        2 ** 31 - 1,
      );
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
        const query = { ...this.#whose, collections: collections.join(',') };
        const response = await this.#transport.send(
          syncEndpoints.streams,
          { query },
          { accept: 'text/event-stream', signal: connection.signal, stream: true },
        );
        for await (const { event, data, retryMs: asked } of framesOf(response.body!, alive)) {
          if (signal.aborted) return;
          if (asked !== null) retryMs = asked;
          isOfUse = true;
          if (event === 'disconnecting') break;
          if (event === 'resync') for (const one of this.#of(collections)) one.tell('RESYNC');
          else if (event === 'documents') this.#told(data);
        }
      } catch (error) {
        failure = error;
      } finally {
        clearTimeout(silence);
        signal.removeEventListener('abort', cut);
        connection.abort();
      }
      if (signal.aborted) return;
      if (failure instanceof ApiError && failure.status === 403 && collections.length > 1) {
        this.#apart = true;
        this.#connect();
        return;
      }
      for (const one of this.#of(collections)) one.onDisconnect?.(failure);
      failures = isOfUse ? 0 : failures + 1;
      await pauseOrOnline(Math.max(retryMs, pauseBefore(Math.max(failures - 1, 0), failure)), signal);
    }
  }

  #told(data: string): void {
    const { collection, documents, checkpoint } = JSON.parse(data) as {
      collection: Collection;
      documents: unknown[];
      checkpoint: string;
    };
    for (const one of this.#of([collection])) one.tell({ documents, checkpoint: { checkpoint } });
  }
}
