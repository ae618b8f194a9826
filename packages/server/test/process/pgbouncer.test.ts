import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, until } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { tracksNames } from '../../src/store/pooler.ts';
import { after, freePort, Troupe } from './fixture.ts';

// Skipped where PgBouncer is not installed (Debian: apt-get install pgbouncer). It needs no root.

const version = (() => {
  const PATH = `${process.env.PATH}:/usr/sbin`;
  try {
    return execFileSync('pgbouncer', ['--version'], { env: { PATH } })
      .toString()
      .match(/\d+\.\d+/)![0];
  } catch {
    return null;
  }
})();
const tracks = version !== null && Number(version.split('.')[1]) >= 21;

/** Gives every transaction another session. */
async function openPooler(target: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-pooler-'));
  chmodSync(home, 0o755);
  const port = await freePort();
  const { hostname, port: at, username, password, pathname } = new URL(target);
  const name = pathname.slice(1);
  writeFileSync(
    join(home, 'pgbouncer.ini'),
    `[databases]
${name} = host=${hostname} port=${at} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
`,
  );
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const env = { PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn('pgbouncer', [...user, join(home, 'pgbouncer.ini')], { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  const through = `postgres://${username}@127.0.0.1:${port}/${name}`;
  await until('the pooler answers', async () => {
    expect(child.exitCode).toBe(null);
    const client = new pg.Client({ connectionString: through });
    client.on('error', () => {});
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return through;
}

test('a direct connection keeps the names of statements', async () => {
  const pool = new pg.Pool({ connectionString: inject('postgresUrl'), max: 1 });
  expect(await tracksNames(pool)).toBe(true);
  await pool.end();
});

test.skipIf(version === null)(`PgBouncer ${version} in transaction mode: no request fails`, async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const through = await openPooler(url);
  const pool = new pg.Pool({ connectionString: through, max: 1 });
  expect(await tracksNames(pool)).toBe(tracks);
  await pool.end();

  const key = randomBytes(32).toString('hex');
  const troupe = new Troupe('serve', {
    DATABASE_URL: through,
    DATABASE_DIRECT_URL: url,
    PORT: String(await freePort()),
    TROUPE_BOOTSTRAP_KEY: key,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  });
  await troupe.ready();
  expect((troupe.output + troupe.errors).includes('does not track prepared statements')).toBe(!tracks);
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${troupe.port}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': randomBytes(16).toString('hex'),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = (await response.json()) as { id: string; code?: string };
    return { status: response.status, answer };
  };
  const { answer: agent } = await ask('POST', '/agents', { name: 'a' });
  const turns = Array.from({ length: 40 }, async (_, n) => {
    const { answer: session } = await ask('POST', `/agents/${agent.id}/sessions`, { title: `s${n}` });
    const at = `/agents/${agent.id}/sessions/${session.id}`;
    return [
      await ask('POST', `${at}/messages`, { content: { text: 'hello' } }),
      await ask('GET', `${at}/messages`),
      await ask('GET', `/agents/${agent.id}/sessions`),
      await ask('POST', '/spaces', { name: `s${n}` }),
    ].map(({ status }) => status);
  });
  for (const statuses of await Promise.all(turns)) expect(statuses).toEqual([201, 200, 200, 201]);
  expect(troupe.errors).not.toContain('prepared statement');
});
