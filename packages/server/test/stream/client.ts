import { Agent, type ClientRequest, get, type IncomingMessage } from 'node:http';
import type { Connected, Delta, Event } from '@troupe/protocol';
import { until } from '@troupe/testing';

export interface Frame {
  id: number | null;
  event: string;
  data: unknown;
  /** When it came. */
  at: number;
}

export interface ConnectOptions {
  lastEventId?: string | number;
  query?: string;
  headers?: Record<string, string>;
  /** Told of every frame as it comes; true: cut the connection there. */
  onFrame?: (frame: Frame) => boolean | undefined;
}

// Every reader has a connection of its own, as browsers on many machines would.
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** A reader of server-sent events that keeps every frame. */
export class Client {
  readonly frames: Frame[] = [];
  readonly comments: string[] = [];
  /** What the last `retry:` said. */
  retryMs: number | null = null;
  /** How the connection ended; null while it has not. */
  ended: 'by the server' | 'by us' | 'broken' | null = null;
  readonly #request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
  readonly #onFrame: ConnectOptions['onFrame'];
  #rest = '';

  constructor(url: string, options: ConnectOptions = {}) {
    this.#onFrame = options.onFrame;
    const headers: Record<string, string> = { accept: 'text/event-stream', ...options.headers };
    if (options.lastEventId !== undefined) headers['last-event-id'] = String(options.lastEventId);
    const request = get(`${url}/events${options.query ?? ''}`, { agent, headers });
    this.#request = request;
    this.response = new Promise((resolve, reject) => {
      request.once('response', (response) => {
        resolve(response);
        response.setEncoding('utf8');
        response.on('data', (text: string) => this.#read(text));
        response.on('end', () => {
          this.ended ??= 'by the server';
        });
        response.on('error', () => {
          this.ended ??= 'broken';
        });
      });
      request.once('error', reject);
    });
    this.response.catch(() => {
      this.ended ??= 'broken';
    });
  }

  #read(text: string): void {
    this.#rest += text;
    for (let end = this.#rest.indexOf('\n\n'); end >= 0; end = this.#rest.indexOf('\n\n')) {
      const lines = this.#rest.slice(0, end).split('\n');
      this.#rest = this.#rest.slice(end + 2);
      if (this.ended) return;
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const retry = field('retry');
      if (retry !== undefined) this.retryMs = Number(retry);
      const event = field('event');
      if (event === undefined) {
        this.comments.push(lines.join('\n'));
        continue;
      }
      const id = field('id');
      const frame: Frame = {
        id: id === undefined ? null : Number(id),
        event,
        data: JSON.parse(field('data')!),
        at: performance.now(),
      };
      this.frames.push(frame);
      if (this.#onFrame?.(frame)) this.close();
    }
  }

  get connected(): Connected {
    return this.frames[0]!.data as Connected;
  }

  get events(): Event[] {
    return this.frames.filter((frame) => frame.id !== null).map((frame) => frame.data as Event);
  }

  get ids(): number[] {
    return this.frames.flatMap((frame) => (frame.id === null ? [] : [frame.id]));
  }

  get deltas(): Delta[] {
    const names = ['message.delta', 'step.generating', 'tool.delta'];
    return this.frames.filter((frame) => names.includes(frame.event)).map((frame) => frame.data as Delta);
  }

  /** Until an event of this type is there; the nth. */
  async sees(type: string, count = 1): Promise<void> {
    await until(
      `${count} × ${type}`,
      () => this.events.filter((event) => event.type === type).length >= count,
    );
  }

  close(): void {
    this.ended ??= 'by us';
    this.#request.destroy();
  }
}

/** What a reader shows who follows the rule: a piece at 0 replaces, any other goes where it says. Throws on a hole. */
export function written(deltas: Delta[], type: Delta['type'] = 'message.delta'): string {
  let text = '';
  for (const delta of deltas) {
    if (delta.type !== type) continue;
    if (delta.offset > text.length) throw new Error(`a hole before ${delta.offset}, with ${text.length}`);
    text = text.slice(0, delta.offset) + delta.text;
  }
  return text;
}
