import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { stopwatch } from '@troupe/testing';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { StartupError } from '../../src/base/index.ts';
import { listen } from '../../src/http/index.ts';

/** A server with one slow route; `finish` lets it answer. */
async function slowServer() {
  let finish = () => {};
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begun = () => {};
  const arrived = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const app = new Hono();
  app.get('/slow', async (context) => {
    begun();
    await held;
    return context.text('done');
  });
  app.get('/fast', (context) => context.text('fast'));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  return { server, arrived, finish };
}

test('closing finishes requests under way and takes no new ones', async () => {
  const { server, arrived, finish } = await slowServer();
  const slow = fetch(`${server.url}/slow`);
  await arrived;
  const closing = server.close(5_000);
  await expect(fetch(`${server.url}/fast`)).rejects.toThrow();
  finish();
  expect(await (await slow).text()).toBe('done');
  const elapsed = stopwatch();
  await closing;
  expect(elapsed()).toBeLessThan(1_000); // not the 5 s that a connection is kept for the next request
});

test('closing does not wait for connections that are merely kept open', async () => {
  const { server } = await slowServer();
  const agent = new Agent({ keepAlive: true });
  const [response] = (await once(get(`${server.url}/fast`, { agent }), 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  const elapsed = stopwatch();
  await server.close(5_000);
  expect(elapsed()).toBeLessThan(1_000);
  agent.destroy();
});

test('closing cuts what does not end in time', async () => {
  const { server, arrived } = await slowServer();
  const slow = fetch(`${server.url}/slow`).then(
    () => 'answered',
    () => 'cut',
  );
  await arrived;
  await server.close(100);
  expect(await slow).toBe('cut');
});

test('a port that is taken, and an address that is not ours, are told in a sentence', async () => {
  const taken = createServer();
  taken.listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const refused = await listen(new Hono(), { host: '127.0.0.1', port }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StartupError);
  expect(refused).toMatchObject({ code: 'port_in_use', hint: expect.stringContaining('PORT') });
  expect((refused as Error).message).toContain(String(port));
  taken.close();
  const unknown = await listen(new Hono(), { host: '203.0.113.7', port: 0 }).catch((error: unknown) => error);
  expect(unknown).toMatchObject({ code: 'host_unknown', hint: expect.stringContaining('HOST') });
});
