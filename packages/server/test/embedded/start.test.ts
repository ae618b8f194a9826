import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { stopwatch } from '@troupe/testing';
import { expect, test } from 'vitest';
import { findBinaries } from '../../src/store/embedded/index.ts';
import { postmasterPid, query, refusal, start, tempDirectory, usedHome } from './fixture.ts';

test('the first start makes a durable UTF-8 database, the next ones take less than two seconds', async () => {
  const home = join(tempDirectory(), 'deep', '.troupe');
  const first = await start(home);
  expect(first).toMatchObject({ adopted: false, version: expect.stringMatching(/^18\./) });
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first.stop();
  expect(postmasterPid(home)).toBeUndefined();
  expect(existsSync(join(home, 'postgres/owner.json'))).toBe(false);
  expect(existsSync(join(home, 'postgres/start.lock'))).toBe(false);

  const elapsed = stopwatch();
  const warm = await start(home);
  expect(elapsed()).toBeLessThan(2_000);
  expect(warm.url).toBe(first.url);
  expect(await query(warm.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  const settings = await query<{ name: string; setting: string }>(
    warm.url,
    `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit',
       'server_encoding', 'max_connections', 'listen_addresses', 'unix_socket_directories')`,
  );
  expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    server_encoding: 'UTF8',
    max_connections: '200',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  });
  expect(statSync(join(home, 'postgres/password')).mode & 0o777).toBe(0o600);
  await expect(query(warm.url.replace(/:[^:@]*@/, ':guess@'), 'SELECT 1')).rejects.toThrow('password');
});

test('stop can be asked for twice', async () => {
  const home = await usedHome();
  const postgres = await start(home);
  await Promise.all([postgres.stop(), postgres.stop()]);
  await postgres.stop();
  expect(postmasterPid(home)).toBeUndefined();
});

test('what an interrupted init left is ignored and removed', async () => {
  const home = tempDirectory();
  const leftover = join(home, 'postgres/init-0190/data');
  mkdirSync(leftover, { recursive: true });
  writeFileSync(join(leftover, 'PG_VERSION'), '18\n');
  mkdirSync(join(home, 'postgres/data'));
  const postgres = await start(home);
  expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(readdirSync(join(home, 'postgres')).sort()).toEqual([
    'data',
    'owner.json',
    'password',
    'port',
    'postgres.log',
  ]);
});

test('a directory that is no complete database is refused, not used and not deleted', async () => {
  const home = tempDirectory();
  mkdirSync(join(home, 'postgres/data'), { recursive: true });
  writeFileSync(join(home, 'postgres/data/base'), 'precious');
  expect(await refusal(home)).toMatchObject({ code: 'data_incomplete' });
  expect(existsSync(join(home, 'postgres/data/base'))).toBe(true);
});

test('a home of more than a hundred characters works', async () => {
  const home = join(tempDirectory(), 'a'.repeat(90), 'b'.repeat(90));
  const postgres = await start(home);
  expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('another port is taken when the last one is occupied, unless the port was asked for', async () => {
  const home = await usedHome();
  const first = await start(home);
  await first.stop();
  const port = Number(new URL(first.url).port);
  const stranger = createServer().listen(port, '127.0.0.1');
  try {
    expect(await refusal(home, { port })).toMatchObject({ code: 'port_in_use' });
    const second = await start(home);
    expect(new URL(second.url).port).not.toBe(String(port));
  } finally {
    stranger.close();
  }
});

test('a start that Postgres refuses shows the end of its log', async () => {
  const home = await usedHome();
  await (await start(home)).stop();
  writeFileSync(join(home, 'postgres/data/postgresql.auto.conf'), 'shared_buffers = nonsense\n');
  const error = await refusal(home);
  expect(error).toMatchObject({ code: 'postgres_start_failed' });
  expect(error.message).toContain('invalid value for parameter "shared_buffers"');
  expect(error.hint).toContain('postgres.log');
});

test('the links that a blocked postinstall script did not make are made', async () => {
  const binaries = join(tempDirectory(), 'package/native');
  cpSync(findBinaries()!, binaries, { recursive: true, verbatimSymlinks: true });
  const library = join(binaries, 'lib/libpq.so.5');
  for (const name of readdirSync(join(binaries, 'lib'))) {
    const path = join(binaries, 'lib', name);
    if (lstatSync(path).isSymbolicLink()) rmSync(path);
  }
  expect(existsSync(library)).toBe(false);
  const postgres = await start(tempDirectory(), { binaries });
  expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(lstatSync(library).isSymbolicLink()).toBe(true);
});

test('without binaries it says to set DATABASE_URL', async () => {
  const error = await refusal(tempDirectory(), { binaries: '/nowhere' });
  expect(error).toMatchObject({ code: 'postgres_missing', hint: expect.stringContaining('DATABASE_URL') });
});

test.skipIf(!findBinaries(15))('PostgreSQL 15 works; its data is refused by 18 with the reason', async () => {
  const home = tempDirectory();
  const old = await start(home, { binaries: findBinaries(15)! });
  expect(old.version).toMatch(/^15\./);
  expect(await query(old.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await old.stop();
  const error = await refusal(home);
  expect(error).toMatchObject({
    code: 'postgres_version',
    message: expect.stringContaining('PostgreSQL 15'),
  });
});
