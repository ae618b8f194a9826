import { newId } from '@troupe/sdk';
import { framesOf } from '../../../packages/sdk/src/sse.ts';
import type { ReaderHistory } from './history.ts';
import { pause, type Requester } from './requester.ts';

export type Followed = { agentId: string; sessionId: string } | { spaceId: string };

/**
 * Readers of event streams that resume by `Last-Event-ID`. They keep every frame with an id as it comes, so that the checker
 * sees repeats, which the SDK would drop.
 */
export class Readers {
  readonly #requester: Requester;
  readonly #key: string;
  readonly #url: string;
  readonly #max: number;
  readonly #ended = new AbortController();
  readonly #loops: Promise<void>[] = [];

  constructor(requester: Requester, { key, url, max }: { key: string; url: string; max: number }) {
    this.#requester = requester;
    this.#key = key;
    this.#url = url;
    this.#max = max;
  }

  follow(followed: Followed): void {
    if (this.#loops.length >= this.#max) return;
    const path =
      'spaceId' in followed
        ? `/v1/spaces/${followed.spaceId}/events`
        : `/v1/agents/${followed.agentId}/sessions/${followed.sessionId}/events`;
    const thread = 'spaceId' in followed ? followed.spaceId : followed.sessionId;
    const history: ReaderHistory = { thread, connections: 0, events: [] };
    this.#requester.history.readers.push(history);
    this.#loops.push(this.#read(path, history));
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#loops);
  }

  async #read(path: string, history: ReaderHistory): Promise<void> {
    const { signal: ended } = this.#ended;
    const { random } = this.#requester;
    while (!ended.aborted) {
      const cut = new AbortController();
      // Some readers leave by themselves and come back; a stopped server says nothing for too long.
      let silence = setTimeout(() => cut.abort(), 20_000);
      const leave = random.chance(0.3) ? setTimeout(() => cut.abort(), random.int(500, 8_000)) : undefined;
      try {
        const after = history.events.at(-1)?.sequence ?? 0;
        const response = await fetch(this.#requester.spread(`${this.#url}${path}`), {
          headers: {
            accept: 'text/event-stream',
            authorization: `Bearer ${this.#key}`,
            'last-event-id': String(after),
            'x-request-id': newId(),
          },
          signal: AbortSignal.any([cut.signal, ended]),
        });
        if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
        history.connections++;
        const alive = () => {
          clearTimeout(silence);
          silence = setTimeout(() => cut.abort(), 20_000);
        };
        for await (const frame of framesOf(response.body, alive)) {
          if (frame.event === 'disconnecting') break;
          if (frame.id !== null) history.events.push({ sequence: Number(frame.id), type: frame.event });
        }
      } catch {
        // Connected again below, from the last event.
      } finally {
        clearTimeout(silence);
        clearTimeout(leave);
        cut.abort();
      }
      if (!ended.aborted) await pause(random.int(50, 400));
    }
  }
}
