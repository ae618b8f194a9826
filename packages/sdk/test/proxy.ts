import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Passing {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Way {
  /** Sends it on and gives the answer back. */
  pass(): Promise<void>;
  /** Sends it on; the answer is lost. */
  lose(): Promise<void>;
  /** Answers by itself, without asking the server. */
  answer(status: number, headers?: Record<string, string>, body?: string): void;
  /** Says nothing. */
  keepSilent(): void;
  /** Gives back the first so many frames of a stream, then cuts the connection. */
  cutAfter(frames: number): Promise<void>;
  /** Gives back the head of the answer and half of its body. */
  half(): Promise<void>;
}

/** Stands before a server and has its own will about what passes. */
export async function openProxy(target: string, rule: (request: Passing, way: Way) => unknown) {
  const seen: Passing[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer(async (request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const passing: Passing = {
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    seen.push(passing);
    try {
      await rule(passing, wayOf(target, passing, response));
    } catch (error) {
      // Whoever asked has gone.
      if (!response.destroyed) throw error;
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    /** Connections that somebody still holds. */
    open,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function wayOf(target: string, request: Passing, response: ServerResponse): Way {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const ask = () => {
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    return fetch(target + request.path, {
      method: request.method,
      headers: headers as Record<string, string>,
      ...(request.body === '' ? {} : { body: request.body }),
      signal: gone.signal,
    });
  };
  const head = (answer: Response) =>
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'text/plain',
    });
  return {
    async pass() {
      const answer = await ask();
      head(answer);
      try {
        for await (const chunk of answer.body ?? []) response.write(chunk);
        response.end();
      } catch {
        response.destroy();
      }
    },
    async lose() {
      await (await ask()).text();
      response.destroy();
    },
    answer(status, headers = {}, body = '') {
      response.writeHead(status, headers);
      response.end(body);
    },
    keepSilent() {},
    async cutAfter(frames) {
      const answer = await ask();
      head(answer);
      let text = '';
      let given = 0;
      const decoder = new TextDecoder();
      try {
        for await (const chunk of answer.body!) {
          text += decoder.decode(chunk, { stream: true });
          for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
            // The server asks readers to come back after a second; here they come at once.
            const frame = text.slice(0, end + 2).replaceAll(/^retry: \d+$/gm, 'retry: 0');
            text = text.slice(end + 2);
            if (++given === frames) return void response.write(frame, () => response.destroy());
            response.write(frame);
          }
        }
      } catch {
        // Whoever read it has gone.
      }
      response.destroy();
    },
    async half() {
      const answer = await ask();
      const text = await answer.text();
      response.writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? '',
        'content-length': String(Buffer.byteLength(text)),
      });
      response.write(text.slice(0, text.length / 2), () => response.destroy());
    },
  };
}
