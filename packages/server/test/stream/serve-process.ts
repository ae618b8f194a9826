import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { Database, Kernel, silentLogger } from '@troupe/server';
import { Stream } from '@troupe/server/parts';
import { createApp, listen, type Services } from '../../src/http/index.ts';

// A process that only serves, and says how much memory it takes and how much the first reader was sent.

const sockets: Socket[] = [];
subscribe('net.server.socket', (message) => sockets.push((message as { socket: Socket }).socket));

const [, , url, project] = process.argv as string[];
const db = new Database({ url: url!, applicationName: 'troupe/serve', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });
await kernel.listen();
const stream = new Stream({ db, logger: silentLogger, line: kernel });
const app = createApp({
  logger: silentLogger,
  health: { version: '0', phase: () => 'ready', checkDatabase: async () => null },
  // As much of it as streams use.
  services: () =>
    ({
      db,
      kernel,
      stream,
      access: {
        authenticate: async () => ({
          project: project!,
          kind: 'key',
          keyId: null,
          entityId: null,
          scopes: null,
        }),
      },
    }) as unknown as Services,
});
const server = await listen(app, { host: '127.0.0.1', port: 0 });
process.on('message', () => {
  gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const sent = sockets[0]?.bytesWritten ?? 0;
  process.send!({ bytes: heapUsed + arrayBuffers, readers: stream.readers, sent });
});
process.on('disconnect', () => process.exit());
process.send!({ port: server.port });
