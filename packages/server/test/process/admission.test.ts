import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { isLoopback } from '../../src/process/admission.ts';
import { after, connect, freePort, Troupe, tempHome } from './fixture.ts';

const KEY = 'an-operator-chose-this-key-0123456789';

async function database(): Promise<string> {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  return url;
}

async function start(command: string, env: Record<string, string>): Promise<Troupe> {
  return new Troupe(command, { PORT: String(await freePort()), TROUPE_HOME: tempHome(), ...env });
}

function ask(
  troupe: Troupe,
  headers: Record<string, string> = {},
  method = 'GET',
  path = '/v1/project',
  body?: object,
) {
  return fetch(`http://127.0.0.1:${troupe.port}${path}`, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

test.each([
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example.com', false],
  ['localhost.example.com', false],
])('"%s" is reached from this machine only: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

test.each(['serve', 'dev'])('%s on all networks is refused while nobody has a key', async (command) => {
  const DATABASE_URL = await database();
  const refused = await start(command, { DATABASE_URL, HOST: '0.0.0.0' });
  expect(await refused.exit).toBe(1);
  expect(refused.errors).toMatch(/^error: .*0\.0\.0\.0.*nobody has a key.*\n {2}Set TROUPE_BOOTSTRAP_KEY/);
  expect(refused.errors).not.toContain('    at ');

  const admitted = await start(command, { DATABASE_URL, HOST: '0.0.0.0', TROUPE_BOOTSTRAP_KEY: KEY });
  await admitted.ready();
  expect((await ask(admitted)).status).toBe(401);
  const known = await ask(admitted, { authorization: `Bearer ${KEY}` });
  expect([known.status, await known.json()]).toEqual([200, expect.objectContaining({ name: 'default' })]);
  const client = await connect(DATABASE_URL);
  const { rows } = await client.query(
    'select name, kind, row_to_json(k)::text as row from troupe.api_keys k',
  );
  expect(rows).toEqual([expect.objectContaining({ name: 'bootstrap', kind: 'secret' })]);
  expect(rows[0].row).not.toContain(KEY.slice(4));
  expect(admitted.output + admitted.errors).not.toContain(KEY);
  expect(await admitted.stop()).toBe(0);

  // There is a key now: the variable is not needed any more.
  const later = await start(command, { DATABASE_URL, HOST: '0.0.0.0' });
  await later.ready();
  expect((await ask(later, { authorization: `Bearer ${KEY}` })).status).toBe(200);
});

test('serve on loopback takes nobody without a key; dev does, and keeps a key for secrets', async () => {
  const DATABASE_URL = await database();
  const serve = await start('serve', { DATABASE_URL });
  await serve.ready();
  expect((await ask(serve)).status).toBe(401);
  const home = tempHome();
  const dev = await start('dev', { DATABASE_URL, TROUPE_HOME: home });
  await dev.ready();
  expect((await ask(dev)).status).toBe(200);
  expect((await ask(dev, { origin: 'https://evil.example' })).status).toBe(401);
  expect((await ask(dev, {}, 'PUT', '/v1/secrets/X', { value: 'y' })).status).toBe(200);
  const path = join(home, 'encryption-key');
  const made = readFileSync(path, 'utf8');
  expect(made).toMatch(/^home-[0-9a-f]{8}:[A-Za-z0-9+/]{43}=\n$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await dev.stop()).toBe(0);
  const again = await start('dev', { DATABASE_URL, TROUPE_HOME: home });
  await again.ready();
  expect(readFileSync(path, 'utf8')).toBe(made);
});
