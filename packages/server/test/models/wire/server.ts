import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@troupe/protocol';
import { formats } from './formats.ts';

export interface Heard {
  path: string;
  headers: IncomingHttpHeaders;
  body: JsonObject;
  at: number;
  /** Resolves when the connection of this request is closed. */
  closed: Promise<unknown>;
}

export type Reply = (response: ServerResponse) => void | Promise<void>;

/**
 * A provider on this machine: says what the test tells it to, request by request, and remembers what it heard. What the
 * provider itself would object to it refuses, and what it was to say is left over.
 */
export class WireServer {
  readonly heard: Heard[] = [];
  readonly #replies: Reply[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<WireServer> {
    const server = createServer();
    const wire = new WireServer(server);
    server.on('request', async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      wire.heard.push({
        path: request.url!,
        headers: request.headers,
        body: JSON.parse(Buffer.concat(chunks).toString()),
        at: performance.now(),
        closed: once(response, 'close'),
      });
      const format = formats.find(({ path }) => path === request.url);
      const message = format?.objection?.(wire.heard.at(-1)!.body);
      if (format && message) {
        await refuse(400, format.refusal({ type: 'invalid_request_error', message }))(response);
        return;
      }
      const reply = wire.#replies.shift() ?? refuse(500, { error: { message: 'No reply was prepared.' } });
      await reply(response);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** For the next requests, one each. */
  replies(...replies: Reply[]): void {
    this.#replies.push(...replies);
  }

  get left(): number {
    return this.#replies.length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

export interface StreamOptions {
  /** Bytes per write; default: an event per write. */
  bytes?: number;
  /** After the last event: end properly, cut the connection, or stay silent for ever. */
  last?: 'end' | 'cut' | 'silence';
  type?: string;
}

export function stream(events: string[], { bytes, last = 'end', type }: StreamOptions = {}): Reply {
  return async (response) => {
    response.writeHead(200, { 'content-type': type ?? 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    const all = Buffer.from(events.join(''));
    const pieces = bytes
      ? Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) =>
          all.subarray(at * bytes, (at + 1) * bytes),
        )
      : events.map((event) => Buffer.from(event));
    for (const piece of pieces) {
      response.write(piece);
      // A turn of the loop between writes, so that they leave one by one.
      await new Promise(setImmediate);
    }
    if (last === 'end') response.end();
    else if (last === 'cut') response.socket!.destroySoon();
  };
}

export function refuse(
  status: number,
  body: JsonObject | string,
  headers: Record<string, string> = {},
): Reply {
  return (response) => {
    const type = typeof body === 'string' ? 'text/html' : 'application/json';
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Hangs up without a word. */
export const hangUp: Reply = (response) => void response.socket!.destroy();
