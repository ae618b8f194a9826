import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, startEmbedded } from '@troupe/server';
import { createDatabase, stopwatch, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { readSchemaSource } from '../../src/store/migrate.ts';
import { readExposition } from '../metrics/exposition.ts';
import { after, connect, freePort, Troupe } from './fixture.ts';

/** An empty database, or one that is migrated already. */
async function database(template: string | null = null): Promise<string> {
  const { url, drop } = await createDatabase(inject('postgresUrl'), template);
  after(drop);
  return url;
}

async function startServe(env: Record<string, string>): Promise<Troupe> {
  return new Troupe('serve', { PORT: String(await freePort()), ...env });
}

test('ten processes migrate an empty database at once; each migration is applied once', async () => {
  const DATABASE_URL = await database();
  const all = Array.from({ length: 10 }, () => new Troupe('migrate', { DATABASE_URL }));
  expect(await Promise.all(all.map((each) => each.exit))).toEqual(all.map(() => 0));
  expect(all.filter((each) => each.output.includes('Applied'))).toHaveLength(1);
  expect(all.filter((each) => each.output.includes('is up to date'))).toHaveLength(9);
  const client = await connect(DATABASE_URL);
  const { rows } = await client.query('select name from troupe.migrations order by id');
  expect(rows.map((row) => row.name)).toEqual(
    readSchemaSource().migrations.map((migration) => migration.name),
  );
  await client.query(`select graphile_worker.add_job('x')`);
});

test('serve and work start side by side on an empty database, and stop in order', async () => {
  const DATABASE_URL = await database();
  const [port, token] = [await freePort(), 'the-token-of-prometheus'];
  const observed = { TROUPE_METRICS_PORT: String(port), TROUPE_METRICS_TOKEN: token };
  const [serve, work] = [
    await startServe({ DATABASE_URL }),
    new Troupe('work', { DATABASE_URL, ...observed }),
  ];
  await Promise.all([serve.ready(), work.said('working')]);
  const ask = (path: string, key: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } });
  expect((await ask('/healthz', '')).status).toBe(200);
  expect((await ask('/metrics', 'another')).status).toBe(401);
  expect((await ask('/v1/project', token)).status).toBe(404);
  const told = readExposition(await (await ask('/metrics', token)).text());
  expect(told.find(({ name }) => name === 'troupe_worker_capacity')?.value).toBe(100);
  expect((await serve.ask('/readyz'))?.status).toBe(200);
  const client = await connect(DATABASE_URL);
  const workers = async () => (await client.query('select pid from troupe.workers')).rows;
  expect(await workers()).toEqual([{ pid: work.pid }]);
  expect(await work.stop()).toBe(0);
  expect(await workers()).toEqual([]);
  expect(await serve.stop('SIGINT')).toBe(0);
});

test('a process stops in time where its database is away', async () => {
  const home = mkdtempSync(join(tmpdir(), 'troupe-process-'));
  after(() => rmSync(home, { recursive: true, force: true }));
  const postgres = await startEmbedded({ home, logger: silentLogger });
  after(() => postgres.stop());
  const serve = await startServe({ DATABASE_URL: postgres.url });
  const work = new Troupe('work', { DATABASE_URL: postgres.url });
  await Promise.all([serve.ready(), work.said('working')]);
  await postgres.stop();
  await until('readyz says so', async () => (await serve.ask('/readyz'))?.status === 503);
  const elapsed = stopwatch();
  const codes = await Promise.all([serve.stop(), work.stop()]);
  expect(codes, [serve, work].map(({ output, errors }) => output + errors).join('\n---\n')).toEqual([0, 0]);
  expect(elapsed()).toBeLessThan(11_000);
});

test('the kernel, heartbeats, notices and jobs use DATABASE_DIRECT_URL', async () => {
  const url = await database('template');
  const admin = await connect(url);
  await admin.query(`create role direct superuser login password 'direct'`);
  const direct = new URL(url);
  direct.username = direct.password = 'direct';
  const work = new Troupe('work', { DATABASE_URL: url, DATABASE_DIRECT_URL: direct.href });
  after(async () => {
    await work.stop('SIGKILL');
    await (await connect(inject('postgresUrl'))).query('drop role direct');
  });
  await work.said('working');
  // Some connections are made when they are first needed.
  await until('every connection has been made, each as the user of the direct address', async () => {
    const { rows } = await admin.query<{ name: string; usename: string }>(
      `select distinct application_name as name, usename from pg_stat_activity
        where datname = current_database() and application_name like 'troupe/work/%'`,
    );
    expect(new Set(rows.map((row) => row.usename))).not.toContain('troupe');
    return rows.length >= 5;
  });
});

test('a schema of a newer Troupe is refused where it breaks this one, and only there', async () => {
  const DATABASE_URL = await database('template');
  const client = await connect(DATABASE_URL);
  const insert = `insert into troupe.migrations (id, name, breaking) values ($1, $2, $3)`;
  await client.query(insert, [9998, '9998_harmless', false]);
  const fine = await startServe({ DATABASE_URL });
  await fine.ready();
  await client.query(insert, [9999, '9999_from_the_future', true]);
  for (const command of ['serve', 'work', 'migrate']) {
    const refused = new Troupe(command, { DATABASE_URL, PORT: '0' });
    expect(await refused.exit).toBe(1);
    expect(refused.errors).toMatch(
      /^error: .*newer Troupe \(9999_from_the_future\).*\n {2}Start the newer version/,
    );
  }
});

test('a database that cannot be used is told in a sentence', async () => {
  const url = await database();
  const admin = await connect(url);
  await admin.query(`create role guest login password 'guest'`);
  after(async () => void (await (await connect(inject('postgresUrl'))).query('drop role guest')));
  const change = (edit: (address: URL) => void) => {
    const address = new URL(url);
    edit(address);
    return address.href;
  };
  const nowhere = await freePort();
  const cases: [string, RegExp][] = [
    [
      change((address) => Object.assign(address, { port: nowhere })),
      /Cannot connect to .*ECONNREFUSED.*\n.*DATABASE_URL/,
    ],
    [change((address) => Object.assign(address, { password: 'wrong' })), /password authentication failed/],
    [
      change((address) => Object.assign(address, { pathname: '/absent' })),
      /database "absent" does not exist/,
    ],
    [
      change((address) => Object.assign(address, { username: 'guest', password: 'guest' })),
      /may not set up Troupe's tables: permission denied.*\n {2}Grant it CREATE/,
    ],
  ];
  await Promise.all(
    cases.map(async ([DATABASE_URL, message]) => {
      // Only for a database that does not answer would it wait.
      const isAway = new URL(DATABASE_URL).port === String(nowhere);
      const wait = isAway ? { TROUPE_DATABASE_WAIT_SECONDS: '0' } : {};
      const refused = new Troupe('serve', { DATABASE_URL, PORT: '0', ...wait });
      expect(await refused.exit).toBe(1);
      expect(refused.errors).toMatch(message);
      expect(refused.errors).toMatch(/^error: /);
      expect(refused.errors).not.toContain('    at ');
    }),
  );
});
