import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, until } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { findBinaries, program } from '../../src/store/embedded/binaries.ts';
import { after, connect, freePort, Troupe } from './fixture.ts';

const KEY = randomBytes(32).toString('hex');

async function serve(DATABASE_URL: string): Promise<Troupe> {
  const troupe = new Troupe('serve', {
    DATABASE_URL,
    PORT: String(await freePort()),
    TROUPE_BOOTSTRAP_KEY: KEY,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  });
  await troupe.ready();
  return troupe;
}

async function post({ port }: Troupe, path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as { code?: string; detail?: string } };
}

async function get({ port }: Troupe, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${KEY}` };
  return (await fetch(`http://127.0.0.1:${port}/v1${path}`, { headers })).status;
}

test('a database that takes no writes is told by a code of its own', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const troupe = await serve(url);
  const client = await connect(url);
  const cases = [
    ['53100', 507, 'storage_full'],
    ['25006', 503, 'database_read_only'],
    ['53200', 503, 'database_overloaded'],
    ['53300', 503, 'database_unavailable'],
    ['57P03', 503, 'database_unavailable'],
  ] as const;
  for (const [state, status, code] of cases) {
    await client.query(`create or replace function public.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'refused' using errcode = '${state}'; end $$;
      create or replace trigger refuse before insert on troupe.entities for each row execute function public.refuse()`);
    expect(await post(troupe, '/entities', { externalId: 'ada' })).toMatchObject({ status, body: { code } });
  }
  expect(await troupe.ask('/healthz')).toMatchObject({ status: 200 });
  expect(await get(troupe, '/entities')).toBe(200);
  await client.query('drop trigger refuse on troupe.entities');
  expect((await post(troupe, '/entities', { externalId: 'ada' })).status).toBe(201);
  await until('it is ready', async () => (await troupe.ask('/readyz'))?.status === 200);
});

/** Whether this user may mount a file system in a namespace of its own. */
const mayMount = (() => {
  try {
    execFileSync(
      'unshare',
      ['-Urm', 'sh', '-c', 'mount -t tmpfs none /mnt && unshare -U --map-user=1000 true'],
      {
        stdio: 'ignore',
      },
    );
    return true;
  } catch {
    return false;
  }
})();

/** A PostgreSQL whose tables are on a file system of 128 MB, and whose log is elsewhere: only tables cannot grow when it is full. */
async function openSmallPostgres(): Promise<{ url: string; data: string }> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-small-'));
  const [binaries, port] = [findBinaries()!, await freePort()];
  const [data, wal] = [join(home, 'data'), join(home, 'wal')];
  const initdb = `${program(binaries, 'initdb')} -D ${data}/db --waldir=${wal} -U troupe -A trust -E UTF8 --locale=C`;
  const postgres = `${program(binaries, 'postgres')} -D ${data}/db -p ${port} -h 127.0.0.1 -k '' -c fsync=off -c max_wal_size=64MB`;
  const inner = `${initdb} >/dev/null && exec ${postgres}`;
  const script = `mkdir ${data} && mount -t tmpfs -o size=128m,mode=0777 none ${data} && exec unshare -U --map-user=1000 --map-group=1000 sh -c "${inner}"`;
  const child = spawn('unshare', ['-Urm', 'sh', '-c', script], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  after(async () => {
    child.kill('SIGQUIT');
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  const url = `postgres://troupe@127.0.0.1:${port}/postgres`;
  await until('PostgreSQL answers', async () => {
    expect(child.exitCode).toBe(null);
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return { url, data };
}

test.skipIf(!mayMount)(
  'a disk that is full, and a database that is read-only: not ready, and ready again afterwards',
  async () => {
    const { url, data } = await openSmallPostgres();
    const troupe = await serve(url);
    const client = await connect(url);
    const run = (command: string) => client.query(`copy (select 1) to program '${command}; true'`);
    await run(`dd if=/dev/zero of=${data}/filler bs=64k 2>/dev/null`);
    const metadata = { text: randomBytes(4_000).toString('hex') };
    let n = 0;
    const refused = await until('the pages that are there are full', async () => {
      const answer = await post(troupe, '/entities', { externalId: `n${n++}`, metadata });
      return answer.status === 201 ? null : answer;
    });
    expect(refused).toMatchObject({ status: 507, body: { code: 'storage_full' } });
    expect(await troupe.ask('/readyz')).toEqual({ status: 503, body: { status: 'storage_full' } });
    expect(await get(troupe, '/entities')).toBe(200);
    await run(`rm ${data}/filler`);
    await until('it is ready again', async () => (await troupe.ask('/readyz'))?.status === 200);
    expect((await post(troupe, '/entities', { externalId: `n${n}`, metadata })).status).toBe(201);
  },
);
