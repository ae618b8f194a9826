import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isLong, until } from '@troupe/testing';
import pg from 'pg';
import { expect, test } from 'vitest';
import {
  hold,
  isRunning,
  kill,
  postmasterPid,
  query,
  refusal,
  start,
  tempDirectory,
  usedHome,
} from './fixture.ts';

test('a second start on the same home is refused, names the holder and leaves it alone', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  const second = await hold(home);
  expect(second.told).toMatchObject({ code: 'home_in_use', hint: expect.stringContaining('TROUPE_HOME') });
  expect(second.told.message).toContain(`process ${holder.pid} on ${hostname()}`);
  expect(second.told.message).toContain(home);
  await expect.poll(() => second.process.exitCode).toBe(1);
  expect(await query(holder.told.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);

  const note = readFileSync(join(home, 'postgres/owner.json'), 'utf8');
  expect(JSON.parse(note)).toMatchObject({
    pid: holder.pid,
    host: hostname(),
    startedAt: expect.any(String),
  });
  expect(note).not.toContain(readFileSync(join(home, 'postgres/password'), 'utf8').trim());
});

test('without the note the holder is named by its database session', async () => {
  const home = await usedHome();
  const holder = await hold(home);
  writeFileSync(join(home, 'postgres/owner.json'), '');
  expect((await refusal(home)).message).toContain(`troupe owner ${holder.pid} on`);
});

test('a second start in the same process is refused too', async () => {
  const home = await usedHome();
  await start(home);
  expect(await refusal(home)).toMatchObject({ code: 'home_in_use' });
});

test('of several first starts at the same time one wins and the others are refused', async () => {
  for (let round = 0; round < (isLong ? 3 : 1); round++) {
    const home = tempDirectory();
    const all = await Promise.all([hold(home), hold(home), hold(home), hold(home)]);
    const winners = all.filter(({ told }) => told.url);
    const losers = all.filter(({ told }) => told.code === 'home_in_use');
    expect([winners.length, losers.length]).toEqual([1, 3]);
    for (const loser of losers) expect(loser.told.message).toContain(`process ${winners[0]!.pid} `);
    expect(await query(winners[0]!.told.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    for (const { process } of all) await kill(process, 'SIGTERM');
    expect(postmasterPid(home)).toBeUndefined();
  }
});

test('a start while the owner is stopping waits or is refused, and never loses its Postgres', async () => {
  const home = await usedHome();
  const first = await start(home);
  const stopped = first.stop();
  const next = await hold(home);
  await stopped;
  if (next.told.code !== undefined) {
    expect(next.told.code).toBe('home_in_use');
  } else {
    expect(isRunning(postmasterPid(home)!)).toBe(true);
    expect(await query(next.told.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  }
});

test('the lock is kept until the postmaster ends, so nobody adopts what is about to stop', async () => {
  const home = await usedHome();
  const postgres = await start(home);
  const postmaster = postmasterPid(home)!;
  const watcher = new pg.Client({ connectionString: postgres.url });
  watcher.on('error', () => {});
  await watcher.connect();
  process.kill(postmaster, 'SIGSTOP');
  // While both are pending the kernel hands out SIGINT first, and it would no longer be seen as pending.
  await until('the postmaster stands still', () => /^State:\s+T/m.test(statusOf(postmaster)));
  const stopped = postgres.stop();
  await until('the postmaster is told to stop', () => (pendingSignals(postmaster) & (1n << 1n)) !== 0n); // SIGINT
  const { rowCount } = await watcher.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted`);
  process.kill(postmaster, 'SIGCONT');
  await stopped;
  expect(rowCount).toBe(1);
  expect(isRunning(postmaster)).toBe(false);
});

function pendingSignals(pid: number): bigint {
  const mask = /^ShdPnd:\s*(\w+)/m.exec(statusOf(pid))?.[1];
  return BigInt(`0x${mask}`);
}

function statusOf(pid: number): string {
  return readFileSync(`/proc/${pid}/status`, 'utf8');
}

test('a start lock of a dead process, and one of a recycled pid, do not stop anybody', async () => {
  const stranger = spawn('sleep', ['60']);
  try {
    const base = await ownClaim();
    const first = tempDirectory();
    mkdirSync(join(first, 'postgres'));
    const cases: [number, string][] = [
      [2 ** 22 + 1, first],
      [stranger.pid!, await usedHome()],
    ];
    for (const [pid, home] of cases) {
      writeFileSync(join(home, 'postgres/start.lock'), JSON.stringify({ ...base, pid, bornAt: '1' }));
      const postgres = await start(home);
      expect(postgres.adopted).toBe(false);
    }
  } finally {
    stranger.kill();
  }
});

test('an owner in another container is believed while its note is touched, and forgotten after', async () => {
  const home = await usedHome();
  await (await start(home)).stop();
  const note = join(home, 'postgres/owner.json');
  writeFileSync(note, JSON.stringify({ ...(await ownClaim()), pid: 7, host: 'other-container' }));
  const beats = setInterval(() => utimesSync(note, new Date(), new Date()), 500);
  try {
    expect((await refusal(home)).message).toContain('process 7 on other-container');
  } finally {
    clearInterval(beats);
  }
  expect((await start(home)).adopted).toBe(false);
});

/** The note of a process that runs here, to be changed into one that does not. */
async function ownClaim(): Promise<Record<string, unknown>> {
  const home = await usedHome();
  const postgres = await start(home);
  const claim = JSON.parse(readFileSync(join(home, 'postgres/owner.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  await postgres.stop();
  return claim;
}
