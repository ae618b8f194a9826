/** Free ports on loopback for one measurement. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Ports } from './adapter.ts';

export async function freePorts(): Promise<Ports> {
  // All are held until all are known, so that they differ.
  const servers = await Promise.all([0, 1, 2, 3].map(listen));
  const [worker, ingress, admin, node] = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return { worker: worker!, ingress: ingress!, admin: admin!, node: node! };
}

async function listen() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
