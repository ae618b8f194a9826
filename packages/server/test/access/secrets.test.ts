import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { Access, Encryption } from '../../src/access/index.ts';
import { Endpoints } from '../../src/http/endpoint.ts';
import { routes } from '../../src/http/routes/index.ts';
import { encryptionKey, inside, openAccess, takeTokens } from './fixture.ts';

const VALUE = 'hunter2-the-very-secret';

test('a secret is set, changed, used by Troupe and deleted, and its value is nowhere to be read', async () => {
  const { ask, access, db, ours, theirs, ourKey, theirKey } = await openAccess();
  const put = await ask('PUT', '/v1/secrets/API_KEY', { key: ourKey, body: { value: VALUE } });
  expect([put.status, Object.keys(put.body).sort()]).toEqual([200, ['createdAt', 'name', 'updatedAt']]);
  expect(await access.secrets.reveal(ours, 'API_KEY')).toBe(VALUE);
  expect(await access.secrets.reveal(theirs, 'API_KEY')).toBeNull();
  await ask('PUT', '/v1/secrets/API_KEY', { key: theirKey, body: { value: 'another' } });
  expect(await access.secrets.reveal(ours, 'API_KEY')).toBe(VALUE);

  // Every GET without a parameter, and those that name the secret.
  const endpoints = new Endpoints(new Hono(), () => {
    throw new Error('not asked');
  });
  for (const add of routes) add(endpoints);
  const texts = [put.text];
  for (const { method, path } of endpoints.served)
    if (method === 'GET')
      texts.push((await ask('GET', path.replace(/\{\w+\}/g, 'API_KEY'), { key: ourKey })).text);
  expect(texts.some((text) => text.includes('secret.set'))).toBe(true);
  const { rows } = await db.pool.query(
    `select row_to_json(s)::text as row from troupe.secrets s union all select row_to_json(a)::text from troupe.audit_log a`,
  );
  for (const text of [...texts, ...rows.map(({ row }) => row as string)]) {
    expect(text).not.toContain(VALUE);
    expect(text).not.toContain(Buffer.from(VALUE).toString('base64').slice(0, 20));
  }

  expect((await ask('DELETE', '/v1/secrets/API_KEY', { key: ourKey })).status).toBe(204);
  expect((await ask('DELETE', '/v1/secrets/API_KEY', { key: ourKey })).status).toBe(404);
  expect(await access.secrets.reveal(ours, 'API_KEY')).toBeNull();
  expect(await access.secrets.reveal(theirs, 'API_KEY')).toBe('another');
  const log = await ask('GET', '/v1/audit?action=secret.deleted', { key: ourKey });
  expect(log.body.data).toEqual([expect.objectContaining({ action: 'secret.deleted', target: 'API_KEY' })]);
});

test('an envelope that is moved in the database does not open', async () => {
  const { access, db, ours, theirs } = await openAccess();
  await access.secrets.put(inside(ours), 'A', 'one');
  await access.secrets.put(inside(ours), 'B', 'two');
  await access.secrets.put(inside(theirs), 'A', 'three');
  await db.pool.query(
    `update troupe.secrets set envelope = (select envelope from troupe.secrets where project_id = $1 and name = 'A')`,
    [ours],
  );
  expect(await access.secrets.reveal(ours, 'A')).toBe('one');
  await expect(access.secrets.reveal(ours, 'B')).rejects.toThrow(/another project or name/);
  await expect(access.secrets.reveal(theirs, 'A')).rejects.toThrow(/another project or name/);
});

test('after a change of keys everything is put under the new one', async () => {
  const [v1, v2] = [encryptionKey('v1'), encryptionKey('v2')];
  const { access, db, ours } = await openAccess({ encryption: new Encryption([v1]) });
  for (let i = 0; i < 250; i++) await access.secrets.put(inside(ours), `S${i}`, `value ${i}`);
  const provider = JSON.stringify(new Encryption([v1]).seal(ours, 'provider', 'key'));
  await db.pool.query(
    `insert into troupe.llm_providers (id, project_id, kind, name, key_envelope) values (gen_random_uuid(), $1, 'openai', 'x', $2)`,
    [ours, provider],
  );
  const withBoth = new Access({ db, mode: 'closed', encryption: new Encryption([v2, v1]) });
  expect(await withBoth.secrets.reencrypt()).toEqual({ changed: 251, unreadable: [] });
  expect(await withBoth.secrets.reencrypt()).toEqual({ changed: 0, unreadable: [] });
  const encryption = new Encryption([v2]);
  const withNew = new Access({ db, mode: 'closed', encryption });
  expect(await withNew.secrets.reveal(ours, 'S249')).toBe('value 249');
  const { rows } = await db.pool.query('select key_envelope from troupe.llm_providers');
  expect(encryption.open(ours, 'provider', rows[0].key_envelope)).toBe('key');
  await expect(access.secrets.reveal(ours, 'S0')).rejects.toMatchObject({ code: 'unknown_encryption_key' });
});

test('without an encryption key, storing is refused and says what to do', async () => {
  const { ask, db, ourKey } = await openAccess({ encryption: new Encryption([]) });
  const refused = await ask('PUT', '/v1/secrets/X', { key: ourKey, body: { value: VALUE } });
  expect([refused.status, refused.body.code]).toEqual([409, 'no_encryption_key']);
  expect(refused.body.detail).toContain('TROUPE_ENCRYPTION_KEY');
  expect((await db.pool.query('select from troupe.secrets')).rows).toEqual([]);
});

test('a secret that tokens are checked with stays until the rules change', async () => {
  const fixture = await openAccess();
  await takeTokens(fixture, fixture.ours);
  const refused = await fixture.ask('DELETE', '/v1/secrets/TOKENS', { key: fixture.ourKey });
  expect([refused.status, refused.body.code]).toEqual([409, 'secret_in_use']);
  expect(
    (await fixture.ask('PATCH', '/v1/project', { key: fixture.ourKey, body: { tokens: null } })).status,
  ).toBe(200);
  expect((await fixture.ask('DELETE', '/v1/secrets/TOKENS', { key: fixture.ourKey })).status).toBe(204);
});

test('a change that fails leaves no trace in the audit log', async () => {
  const { ask, db, ourKey, theirs } = await openAccess();
  const entries = async () => (await db.pool.query('select from troupe.audit_log')).rows.length;
  const before = await entries();
  const taken = await db.pool.query('select name from troupe.projects where id = $1', [theirs]);
  const refused = await ask('PATCH', '/v1/project', {
    key: ourKey,
    body: { name: taken.rows[0].name.toUpperCase() },
  });
  expect([refused.status, refused.body.code]).toEqual([409, 'name_taken']);
  const unknown = await ask('PATCH', '/v1/project', {
    key: ourKey,
    body: { defaultModelId: '0197a0a0-0000-7000-8000-000000000000' },
  });
  expect([unknown.status, unknown.body.code]).toEqual([422, 'model_not_found']);
  expect(await entries()).toBe(before);
  const renamed = await ask('PATCH', '/v1/project', { key: ourKey, body: { name: 'Fresh' } });
  expect([renamed.status, renamed.body.name, await entries()]).toEqual([200, 'Fresh', before + 1]);
});
