import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Hono } from 'hono';
import { StartupError } from '../base/index.ts';
import { answerUnreadable, unreadableRequest } from './unreadable.ts';

export interface HttpServer {
  url: string;
  port: number;
  /** Takes no new connections, finishes the requests under way, and after `graceMs` cuts what is left. */
  close(graceMs: number): Promise<void>;
}

const IDLE_CHECK_MS = 20;
/** Address and headers together. */
const HEADER_BYTES = 16_384;

export async function listen(app: Hono, { host, port }: { host: string; port: number }): Promise<HttpServer> {
  const listener = getRequestListener(app.fetch, {
    errorHandler: (error) => {
      if (error instanceof RequestError) return unreadableRequest();
      throw error;
    },
  });
  const server = createServer({ maxHeaderSize: HEADER_BYTES }, listener);
  server.on('clientError', answerUnreadable);
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => reject(refusal(error, host, port));
    server.once('error', failed);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', failed);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    url: urlOf(host, address.port),
    close: (graceMs) => close(server, graceMs),
  };
}

function close(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    // A connection that finishes its request after close() was called stays open for the next one, unless told.
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearInterval(idle);
      clearTimeout(cut);
      resolve();
    });
  });
}

/** What a person types into a browser. */
function urlOf(host: string, port: number): string {
  if (['127.0.0.1', '::1', '0.0.0.0', '::', ''].includes(host)) return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartupError('port_in_use', `Port ${port} on ${host} is in use by another program.`, {
        hint: `Stop that program, or set PORT to another number (PORT=0 takes any free one).`,
        cause: error,
      });
    case 'EACCES':
      return new StartupError('port_forbidden', `This user may not listen on port ${port}.`, {
        hint: 'Set PORT to a number above 1023.',
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new StartupError('host_unknown', `"${host}" is not an address of this machine.`, {
        hint: 'Set HOST to one of its addresses: 127.0.0.1 for this machine only, 0.0.0.0 for all networks.',
        cause: error,
      });
    default:
      return error;
  }
}
