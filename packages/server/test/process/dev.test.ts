import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { stopwatch, until } from '@troupe/testing';
import { beforeAll, expect, test } from 'vitest';
import {
  after,
  connect,
  embeddedUrl,
  forAll,
  freePort,
  holdUp,
  isRunning,
  MAIN,
  postmasterPid,
  startDev,
  Troupe,
  tempHome,
  usedHome,
} from './fixture.ts';

/** It takes ten seconds to give up, while the other tests go on. */
let hanging: { home: string; ended: Promise<{ code: number; tookMs: number }> };
beforeAll(async () => {
  hanging = await forAll(async () => {
    const home = await usedHome();
    const troupe = await startDev(home);
    await troupe.ready();
    await holdUp(embeddedUrl(home));
    const elapsed = stopwatch();
    const ended = troupe.stop().then((code) => ({ code, tookMs: elapsed() }));
    return { home, ended };
  });
});

test('the first start makes a database, says where everything is, and a later one takes less than 2 s', async () => {
  const home = tempHome();
  const first = await startDev(home);
  const cold = await first.ready();
  expect(await first.ask('/readyz')).toMatchObject({ status: 200 });
  expect(await first.ask('/v1/nothing')).toMatchObject({ status: 404, body: { code: 'not_found' } });
  await first.said(`http://localhost:${first.port}`);
  expect(first.output).toContain(`${home}/postgres`);
  expect(first.output).toMatch(/started +in \d+\.\d s/);
  expect(await first.stop()).toBe(0);

  const elapsed = stopwatch();
  const again = await startDev(home);
  await again.ready();
  const warm = elapsed();
  expect(await again.stop()).toBe(0);
  console.log(`cold ${cold.toFixed(0)} ms, warm ${warm.toFixed(0)} ms`);
  expect(warm).toBeLessThan(2_000);
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s drains, with health 503, then stops Postgres',
  async (signal) => {
    const home = await usedHome();
    const troupe = await startDev(home);
    await troupe.ready();
    const postmaster = postmasterPid(home)!;
    const letGo = await holdUp(embeddedUrl(home));
    troupe.child.kill(signal);
    await until('health says so', async () => (await troupe.ask('/healthz'))?.status === 503);
    expect((await troupe.ask('/healthz'))?.body).toEqual({ status: 'draining' });
    expect(isRunning(postmaster)).toBe(true);
    await letGo();
    expect(await troupe.exit).toBe(0);
    expect(isRunning(postmaster)).toBe(false);
    expect(postmasterPid(home)).toBeUndefined();
  },
);

test('a second signal ends at once and leaves Postgres to the next start', async () => {
  const home = await usedHome();
  const troupe = await startDev(home);
  await troupe.ready();
  const postmaster = postmasterPid(home)!;
  await holdUp(embeddedUrl(home));
  troupe.child.kill('SIGINT');
  await until('it drains', async () => (await troupe.ask('/healthz'))?.status === 503);
  const drained = performance.now();
  troupe.child.kill('SIGINT'); // npm passes on what the terminal sent already
  const isDraining = async () => (await troupe.ask('/healthz'))?.status === 503;
  await until('it drains longer than an echo is ignored', async () => {
    expect(await isDraining()).toBe(true);
    return performance.now() - drained > 750;
  });
  expect(troupe.ended).toBe(false);
  const elapsed = stopwatch();
  expect(await troupe.stop('SIGTERM')).toBe(143);
  expect(elapsed()).toBeLessThan(1_000);
  expect(isRunning(postmaster)).toBe(true);

  const next = await startDev(home);
  await next.ready();
  await next.said('was still running');
  expect(postmasterPid(home)).toBe(postmaster);
  expect(await next.stop()).toBe(0);
  expect(isRunning(postmaster)).toBe(false);
});

test('when npm is killed, whose shell passes no signal on, it stops too', async () => {
  const home = await usedHome();
  const port = String(await freePort());
  const env = { PATH: process.env.PATH, TROUPE_HOME: home, PORT: port, npm_lifecycle_event: 'start' };
  const shell = spawn('sh', ['-c', '"$0" "$1" dev; true', process.execPath, MAIN], { env, stdio: 'ignore' });
  after(() => shell.kill('SIGKILL'));
  const healthz = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ status }) => status,
      () => null,
    );
  await until('it is well', async () => (await healthz()) === 200);
  shell.kill('SIGTERM');
  await until('it has stopped', async () => (await healthz()) === null);
  await until('Postgres has stopped', () => postmasterPid(home) === undefined);
});

test('told to stop while it starts, it stops in order', async () => {
  const home = tempHome();
  const troupe = await startDev(home);
  await until('it is starting', async () => (await troupe.ask('/healthz'))?.body.status === 'starting');
  expect(await troupe.stop()).toBe(0);
  expect(troupe.errors).toBe('');
  expect(postmasterPid(home)).toBeUndefined();
  const again = await startDev(home);
  await again.ready();
});

test('after kill -9 the next start adopts the Postgres that was left, with its data', async () => {
  const home = await usedHome();
  const killed = await startDev(home);
  await killed.ready();
  const postmaster = postmasterPid(home)!;
  const client = await connect(embeddedUrl(home));
  await client.query('create table kept as select 42 as answer');
  await killed.stop('SIGKILL');
  expect(isRunning(postmaster)).toBe(true);

  const next = await startDev(home);
  await next.ready();
  expect(postmasterPid(home)).toBe(postmaster);
  expect((await client.query('select answer from kept')).rows).toEqual([{ answer: 42 }]);
  expect(await next.stop()).toBe(0);
  expect(isRunning(postmaster)).toBe(false);
});

test('a second start on the same home is refused and told by whom, also where the port is the same', async () => {
  const home = await usedHome();
  const first = await startDev(home);
  await first.ready();
  for (const port of [await freePort(), first.port]) {
    const second = new Troupe('dev', { TROUPE_HOME: home, PORT: String(port) });
    expect(await second.exit).toBe(1);
    expect(second.errors).toMatch(
      new RegExp(`^error: ${home} is in use by process ${first.pid} on .*\\n  Stop that`),
    );
    expect(second.errors).not.toContain('    at ');
  }
  expect((await first.ask('/readyz'))?.status).toBe(200);
});

test('a port in use is told, and the Postgres that was started is stopped again', async () => {
  const home = await usedHome();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const troupe = new Troupe('dev', { TROUPE_HOME: home, PORT: String(port) });
  expect(await troupe.exit).toBe(1);
  expect(troupe.errors).toMatch(new RegExp(`^error: Port ${port} on 127\\.0\\.0\\.1 is in use.*\\n  .*PORT`));
  expect(postmasterPid(home)).toBeUndefined();
});

test('when Postgres is killed it comes back, and readyz tells', async () => {
  const home = await usedHome();
  const troupe = await startDev(home);
  await troupe.ready();
  const postmaster = postmasterPid(home)!;
  process.kill(postmaster, 'SIGKILL');
  await until('readyz says so', async () => (await troupe.ask('/readyz'))?.status === 503);
  expect((await troupe.ask('/healthz'))?.status).toBe(200);
  await until('readyz is well again', async () => (await troupe.ask('/readyz'))?.status === 200);
  expect(postmasterPid(home)).not.toBe(postmaster);
  const client = await connect(embeddedUrl(home));
  await client.query(`select graphile_worker.add_job('purge')`);
  await until('jobs are carried out', async () => {
    const { rows } = await client.query('select from graphile_worker.jobs');
    return rows.length === 0;
  });
  expect(await troupe.stop()).toBe(0);
});

test('a failure that nobody handled is logged, and the process goes in order with exit code 1', async () => {
  const home = await usedHome();
  const bomb = `data:text/javascript,process.on('SIGUSR2', () => { Promise.reject(new Error('boom')); })`;
  const port = String(await freePort());
  const troupe = new Troupe('dev', { TROUPE_HOME: home, PORT: port }, ['--import', bomb]);
  await troupe.ready();
  expect(await troupe.stop('SIGUSR2')).toBe(1);
  expect(troupe.output).toMatch(/"error":"boom".*nobody handled/);
  expect(postmasterPid(home)).toBeUndefined();
});

test('what hangs is not waited for longer than ten seconds', async () => {
  const { code, tookMs } = await hanging.ended;
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(12_000);
  expect(postmasterPid(hanging.home)).toBeUndefined();
});
