import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { after, freePort, Troupe } from './fixture.ts';

// The database is away when a process starts: nothing listens at its address, until `comeBack`.

async function openAway() {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const target = new URL(url);
  const port = await freePort();
  const away = new URL(url);
  away.host = `127.0.0.1:${port}`;
  const comeBack = async () => {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((client) => {
      const upstream = net.connect(Number(target.port), target.hostname);
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => other.destroy());
        socket.pipe(other);
      }
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
  };
  const env = {
    DATABASE_URL: away.href,
    TROUPE_BOOTSTRAP_KEY: randomBytes(32).toString('hex'),
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  };
  return { env, comeBack };
}

const waits = (troupe: Troupe) =>
  until('it waits', async () => {
    expect([troupe.ended, troupe.errors]).toEqual([false, troupe.errors]);
    return (await troupe.ask('/healthz'))?.body.status === 'waiting';
  });

test.each(['serve', 'dev', 'work'])(
  '`%s` waits for its database, says so, and starts when it is there',
  async (command) => {
    const { env, comeBack } = await openAway();
    const PORT = String(await freePort());
    const troupe = new Troupe(command, {
      ...env,
      ...(command === 'work' ? { TROUPE_METRICS_PORT: PORT } : {}),
      PORT,
    });
    await waits(troupe);
    expect(await troupe.ask('/healthz')).toEqual({ status: 200, body: { status: 'waiting' } });
    expect(await troupe.ask('/readyz')).toEqual({ status: 503, body: { status: 'no_database' } });
    if (command !== 'work')
      expect(await troupe.ask('/v1/agents')).toMatchObject({ status: 503, body: { code: 'starting' } });
    await until(
      'it has tried again',
      () => (troupe.output + troupe.errors).split('waiting for the database').length > 2,
    );
    await comeBack();
    await until('it is ready', async () => (await troupe.ask('/readyz'))?.status === 200);
    expect(await troupe.stop()).toBe(0);
  },
);

test('`migrate` waits too, and a signal ends the wait', async () => {
  const { env, comeBack } = await openAway();
  const [migrate, stopped] = [new Troupe('migrate', env), new Troupe('migrate', env)];
  for (const each of [migrate, stopped])
    await until('it waits', () => (each.output + each.errors).includes('waiting for the database'));
  expect(await stopped.stop()).toBe(0);
  await comeBack();
  expect([await migrate.exit, migrate.errors.includes('error:')]).toEqual([0, false]);
});

test('TROUPE_DATABASE_WAIT_SECONDS ends the wait with what is wrong', async () => {
  const { env } = await openAway();
  const troupe = new Troupe('serve', { ...env, PORT: '0', TROUPE_DATABASE_WAIT_SECONDS: '1' });
  expect(await troupe.exit).toBe(1);
  expect(troupe.output + troupe.errors).toMatch(/waiting for the database/);
  expect(troupe.errors).toMatch(/error: Cannot connect to .*ECONNREFUSED/);
});
