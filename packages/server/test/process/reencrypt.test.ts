import { randomBytes } from 'node:crypto';
import { Database, silentLogger } from '@troupe/server';
import { Access, Encryption } from '@troupe/server/parts';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { inside } from '../access/fixture.ts';
import { after, connect, Troupe } from './fixture.ts';

const SECRETS = 150;
const keyNamed = (id: string) => ({ id, key: randomBytes(32) });
const settingOf = ({ id, key }: { id: string; key: Buffer }) => `${id}:${key.toString('base64')}`;

test('the encryption key is rotated, with the process killed in the middle, and nothing is lost', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const db = new Database({ url, applicationName: 'test', logger: silentLogger });
  after(() => db.close());
  const [v1, v2] = [keyNamed('v1'), keyNamed('v2')];
  const client = await connect(url);
  const { rows } = await client.query(
    `insert into troupe.projects (id, name) values (gen_random_uuid(), 'a') returning id`,
  );
  const project = rows[0].id as string;
  const opened = (...keys: (typeof v1)[]) => {
    const encryption = new Encryption(keys);
    return { encryption, access: new Access({ db, mode: 'closed', encryption }) };
  };
  const old = opened(v1);
  for (let i = 0; i < SECRETS; i++) await old.access.secrets.put(inside(project), `S${i}`, `value ${i}`);
  await client.query(
    `insert into troupe.llm_providers (id, project_id, kind, name, key_envelope) values (gen_random_uuid(), $1, 'openai', 'x', $2)`,
    [project, old.encryption.seal(project, 'provider', 'the key of a provider')],
  );
  const underOld = async () =>
    (await client.query(`select name from troupe.secrets where envelope->>'key' = 'v1'`)).rows.length;

  // Somebody holds a secret in the middle: there it waits, and there it is killed.
  await client.query('begin');
  await client.query(`select from troupe.secrets where name = 'S50' for update`);
  const env = {
    DATABASE_URL: url,
    TROUPE_ENCRYPTION_KEY: settingOf(v2),
    TROUPE_ENCRYPTION_KEY_PREVIOUS: settingOf(v1),
  };
  const killed = new Troupe('reencrypt', env);
  await until('it waits in the middle', async () => {
    const waiting = await db.pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%troupe.secrets%' and datname = current_database()`,
    );
    return waiting.rows.length > 0;
  });
  await killed.stop('SIGKILL');
  await client.query('commit');
  const left = await underOld();
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(SECRETS);
  const between = opened(v2, v1);
  for (let i = 0; i < SECRETS; i += 10)
    expect(await between.access.secrets.reveal(project, `S${i}`)).toBe(`value ${i}`);

  // A key that nobody knows any more: it is named, and the rest is done all the same.
  await opened(keyNamed('lost')).access.secrets.put(inside(project), 'A', 'lost');
  const second = new Troupe('reencrypt', env);
  expect(await second.exit).toBe(1);
  expect(second.errors).toContain(`troupe.secrets ${project} A: A secret was encrypted with the key "lost"`);
  expect(await underOld()).toBe(0);

  await opened(v2).access.secrets.put(inside(project), 'A', 'set again');
  const third = new Troupe('reencrypt', env);
  expect([await third.exit, third.output]).toEqual([
    0,
    '0 secrets are now under the key "v2".\nNothing is left under another one.\n',
  ]);
  const fresh = opened(v2);
  for (let i = 0; i < SECRETS; i++)
    expect(await fresh.access.secrets.reveal(project, `S${i}`)).toBe(`value ${i}`);
  const provider = await client.query('select key_envelope from troupe.llm_providers');
  expect(fresh.encryption.open(project, 'provider', provider.rows[0].key_envelope)).toBe(
    'the key of a provider',
  );
  const without = new Troupe('reencrypt', { DATABASE_URL: url, TROUPE_HOME: '/nowhere' });
  expect([await without.exit, without.errors.includes('TROUPE_ENCRYPTION_KEY')]).toEqual([1, true]);
});
