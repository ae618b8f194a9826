import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@troupe/testing';
import { afterEach, expect, test } from 'vitest';
import {
  hold,
  isRoot,
  isRunning,
  kill,
  killPostmaster,
  lastHolder,
  NOBODY,
  postmasterPid,
  query,
  start,
  tempDirectory,
  usedHome,
} from './fixture.ts';

const strangers: ChildProcess[] = [];
afterEach(() => {
  for (const stranger of strangers.splice(0)) stranger.kill('SIGKILL');
});

test('after kill -9 of its owner the orphan is adopted with its data', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  await query(holder.told.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  const postmaster = postmasterPid(home)!;
  await kill(holder.process);
  expect(isRunning(postmaster)).toBe(true);

  const adopter = await start(home);
  expect(adopter).toMatchObject({ adopted: true, url: holder.told.url });
  expect(postmasterPid(home)).toBe(postmaster);
  expect(await query(adopter.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  await adopter.stop();
  expect(isRunning(postmaster)).toBe(false);
});

test('of several processes after a kill -9 one adopts', async () => {
  const home = await usedHome();
  await kill((await hold(home)).process);
  const all = await Promise.all([hold(home), hold(home), hold(home)]);
  expect(all.filter(({ told }) => told.adopted)).toHaveLength(1);
  expect(all.filter(({ told }) => told.code === 'home_in_use')).toHaveLength(2);
});

test('after kill -9 of the owner and of the postmaster it starts again with its data', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  await query(holder.told.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  const postmaster = postmasterPid(home)!;
  await kill(holder.process);
  process.kill(postmaster, 'SIGKILL'); // its children may still be alive when the next line runs
  const next = await start(home);
  expect(next.adopted).toBe(false);
  expect(postmasterPid(home)).not.toBe(postmaster);
  // Nobody may have buried the postmaster yet; its zombie must not count as a running one.
  expect(readFileSync(join(home, 'postgres/postgres.log'), 'utf8')).not.toContain('already exists');
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('after kill -9 in the middle of init the next start makes the directory anew', async () => {
  const home = tempDirectory();
  const holding = hold(home).catch(() => undefined);
  const dir = join(home, 'postgres');
  const scratch = (): string | undefined =>
    existsSync(dir) ? readdirSync(dir).find((name) => name.startsWith('init-')) : undefined;
  await until('initdb has begun', () => existsSync(join(dir, scratch() ?? 'none', 'data/PG_VERSION')));
  await kill(lastHolder());
  await holding;
  expect(existsSync(join(dir, 'data'))).toBe(false);
  const postgres = await start(home);
  expect(postgres.adopted).toBe(false);
  expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a child of the killed postmaster that is slow to end delays the start, no more', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  const postmaster = postmasterPid(home)!;
  const child = Number(readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').split(' ')[0]);
  await kill(holder.process);
  process.kill(child, 'SIGSTOP'); // keeps the shared memory
  await killPostmaster(home);
  const starting = start(home);
  const log = join(home, 'postgres/postgres.log');
  await until('the first attempt is refused', () => /still in use/.test(readFileSync(log, 'utf8')));
  process.kill(child, 'SIGCONT');
  expect((await starting).adopted).toBe(false);
});

test('a Postgres that dies below its owner is started again on the same port, and can be stopped', async () => {
  const home = await usedHome();
  const postgres = await start(home);
  await query(postgres.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await killPostmaster(home);
  const answer = (): Promise<boolean> =>
    query(postgres.url, 'SELECT answer FROM kept').then(
      (rows) => rows.length === 1,
      () => false,
    );
  await until('it answers again', answer);
  await until('it is owned again', async () => (await hold(home)).told.code === 'home_in_use');
  const second = postmasterPid(home)!;
  await postgres.stop();
  expect(isRunning(second)).toBe(false);
});

test('a Postgres that goes again as soon as it is back is started again, every time', async () => {
  const home = await usedHome();
  const { url, stop } = await start(home);
  for (let round = 0; round < 5; round++) {
    const before = postmasterPid(home)!;
    process.kill(before, round % 2 === 0 ? 'SIGINT' : 'SIGQUIT');
    // Not before its owner has taken it back, but as soon as anybody can reach it.
    await until('it is back', async () => {
      const back = await query(url, 'SELECT 1').catch(() => null);
      return back !== null && postmasterPid(home) !== before;
    });
  }
  await stop();
  expect(postmasterPid(home)).toBeUndefined();
});

test('when Postgres drops all sessions the directory stays owned', async () => {
  const home = await usedHome();
  const postgres = await start(home);
  const postmaster = postmasterPid(home);
  await query(
    postgres.url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'troupe owner %'`,
  );
  const owned = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted`;
  await until('the lock is held again', async () => (await query(postgres.url, owned)).length === 1);
  expect((await hold(home)).told).toMatchObject({ code: 'home_in_use' });
  expect(postmasterPid(home)).toBe(postmaster);
});

test('a postmaster.pid whose pid belongs to another program is not believed', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  const path = join(home, 'postgres/data/postmaster.pid');
  const text = readFileSync(path, 'utf8');
  await kill(holder.process);
  await killPostmaster(home);
  const stranger = spawn('sleep', ['60'], isRoot ? { uid: NOBODY, gid: NOBODY } : {});
  strangers.push(stranger);
  writeFileSync(path, text.replace(/^\d+/, String(stranger.pid)));
  expect((await start(home)).adopted).toBe(false);
  expect(stranger.exitCode).toBeNull();
});

test('signals to the group of Troupe do not reach Postgres; SIGTERM stops it in order', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  const postmaster = postmasterPid(home)!;
  const group = (pid: number): string =>
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[2]!;
  expect(group(postmaster)).toBe(String(postmaster));
  await kill(holder.process, 'SIGTERM');
  expect(holder.process.exitCode).toBe(0);
  expect(isRunning(postmaster)).toBe(false);
  expect(readFileSync(join(home, 'postgres/postgres.log'), 'utf8')).toContain('database system is shut down');
});
