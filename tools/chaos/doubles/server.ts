import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on loopback that answers with `handle`; a request that fails is closed. */
export async function openDouble(
  handle: (request: IncomingMessage, body: string, response: ServerResponse) => Promise<void> | void,
): Promise<{ host: string; url: string; close(): Promise<void> }> {
  const server: Server = createServer(async (request, response) => {
    response.on('error', () => {});
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      await handle(request, Buffer.concat(chunks).toString(), response);
    } catch {
      response.destroy();
    }
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Sends JSON. */
export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
