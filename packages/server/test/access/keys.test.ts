import { createHash } from 'node:crypto';
import { stopwatch, until } from '@troupe/testing';
import { expect, test } from 'vitest';
import { Access, Encryption } from '../../src/access/index.ts';
import { touchKey } from '../../src/store/queries/keys.ts';
import { inside, openAccess } from './fixture.ts';

test('a key is shown once, stored as its hash, and listed without itself', async () => {
  const { ask, ourKey, db, ours } = await openAccess();
  const made = await ask('POST', '/v1/keys', {
    key: ourKey,
    body: { name: 'mine', kind: 'public', scopes: ['sessions:read', 'sessions:read'] },
  });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    name: 'mine',
    kind: 'public',
    scopes: ['sessions:read'],
    revokedAt: null,
  });
  const { key, id, prefix } = made.body;
  expect(key).toMatch(/^tpk_[A-Za-z0-9_-]{43}$/);
  expect(key.startsWith(prefix)).toBe(true);
  const { rows } = await db.pool.query(
    'select *, row_to_json(k)::text as all from troupe.api_keys k where id = $1',
    [id],
  );
  expect(rows[0].hash).toEqual(createHash('sha256').update(key).digest());
  expect(rows[0].all).not.toContain(key.slice(10));
  const listed = await ask('GET', '/v1/keys', { key: ourKey });
  expect(listed.body.data.map((each: { id: string }) => each.id)).toContain(id);
  expect(listed.text).not.toContain(key.slice(10));
  const log = await ask('GET', '/v1/audit', { key: ourKey });
  expect(log.body.data[0]).toMatchObject({ action: 'key.created', target: id, actor: { kind: 'key' } });
  expect(log.text).not.toContain(key.slice(10));
  expect(
    (await db.pool.query('select from troupe.api_keys where project_id = $1', [ours])).rows,
  ).toHaveLength(2);
});

test('lists come in pages, each key once', async () => {
  const { ask, makeKey, ourKey, ours, theirs } = await openAccess();
  for (let i = 0; i < 4; i++) await makeKey(ours);
  await makeKey(theirs);
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = await ask('GET', `/v1/keys?limit=2${cursor && `&cursor=${cursor}`}`, { key: ourKey });
    expect(page.body.data.length).toBeLessThanOrEqual(2);
    seen.push(...page.body.data.map((each: { id: string }) => each.id));
    cursor = page.body.nextCursor;
  }
  expect(seen).toHaveLength(5);
  expect(new Set(seen).size).toBe(5);
  for (const bad of ['x', 'bnVsbA', Buffer.from('"no id"').toString('base64url')]) {
    const refused = await ask('GET', `/v1/keys?cursor=${bad}`, { key: ourKey });
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_request']);
  }
});

test('without a key, with a wrong one or with something else, nobody is known', async () => {
  const { ask, ourKey } = await openAccess();
  const headers: Record<string, string>[] = [
    {},
    { authorization: `Bearer tsk_${'a'.repeat(43)}` },
    { authorization: `Bearer ${ourKey}x` },
    { authorization: `Bearer ${ourKey.slice(0, -1)}` },
    { authorization: `Basic ${ourKey}` },
    { authorization: 'Bearer' },
    { authorization: `Bearer ${ourKey} ${ourKey}` },
    { authorization: ourKey },
    { 'troupe-key': ourKey },
    { 'troupe-key': ourKey, authorization: `Bearer ${ourKey}` },
  ];
  for (const each of headers) {
    const answer = await ask('GET', '/v1/project', { headers: each });
    expect([answer.status, answer.body.code, each]).toEqual([401, 'unauthenticated', each]);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  }
  expect((await ask('GET', '/v1/project', { headers: { authorization: `bearer ${ourKey}` } })).status).toBe(
    200,
  );
});

test('a key is refused once it is out of date, even while it is remembered', async () => {
  const { ask, access, ours, ourKey } = await openAccess();
  const expiresAt = new Date(Date.now() + 2_000).toISOString();
  const { key } = await access.keys.create(inside(ours), {
    name: 'short',
    kind: 'secret',
    scopes: [],
    expiresAt,
  });
  expect((await ask('GET', '/v1/project', { key })).status).toBe(200);
  const refused = await until('it is refused', async () => {
    const answer = await ask('GET', '/v1/project', { key });
    return answer.status === 200 ? null : answer;
  });
  expect([refused.status, refused.body.detail]).toEqual([401, expect.stringContaining('out of date')]);
  const past = await ask('POST', '/v1/keys', { key: ourKey, body: { name: 'past', expiresAt } });
  expect([past.status, past.body.issues[0].path]).toEqual([422, 'expiresAt']);
});

test('a revoked key is refused at once here, and within five seconds elsewhere', async () => {
  const { ask, db, makeKey, ours, ourKey, theirKey } = await openAccess();
  const { key, id } = await makeKey(ours);
  const elsewhere = new Access({ db, mode: 'closed', encryption: new Encryption([]) });
  const headers = new Headers({ authorization: `Bearer ${key}` });
  expect((await elsewhere.authenticate(headers)).project).toBe(ours);
  expect((await ask('GET', '/v1/project', { key })).status).toBe(200);
  expect((await ask('DELETE', `/v1/keys/${id}`, { key: theirKey })).status).toBe(404);
  expect((await ask('GET', '/v1/project', { key })).status).toBe(200);
  expect((await ask('DELETE', `/v1/keys/${id}`, { key: ourKey })).status).toBe(204);
  const elapsed = stopwatch();
  const refused = await ask('GET', '/v1/project', { key });
  expect([refused.status, refused.body.detail]).toEqual([401, expect.stringContaining('revoked')]);
  await until('it is refused elsewhere', () =>
    elsewhere.authenticate(headers).then(
      () => false,
      () => true,
    ),
  );
  expect(elapsed()).toBeLessThan(7_000);
  // For good, and the first time counts.
  const at = async () =>
    (await db.pool.query('select revoked_at from troupe.api_keys where id = $1', [id])).rows[0];
  const first = await at();
  expect((await ask('DELETE', `/v1/keys/${id}`, { key: ourKey })).status).toBe(204);
  expect(await at()).toEqual(first);
});

test('scopes limit a key, and it cannot make one that may do more', async () => {
  const { ask, makeKey, ours } = await openAccess();
  const reader = await makeKey(ours, { scopes: ['sessions:read'] });
  const refused = await ask('GET', '/v1/project', { key: reader.key });
  expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  expect(refused.body.detail).toContain('admin');
  const admin = await makeKey(ours, { scopes: ['admin', 'runs:read'] });
  const make = (scopes: string[]) =>
    ask('POST', '/v1/keys', { key: admin.key, body: { name: 'more', scopes } });
  expect((await make(['runs:read'])).status).toBe(201);
  expect((await make(['admin', 'agents:write'])).status).toBe(403);
  expect((await make([])).status).toBe(403);
});

test('a public key alone allows nothing', async () => {
  const { ask, makeKey, ours } = await openAccess();
  const { key } = await makeKey(ours, { kind: 'public' });
  for (const headers of [{ authorization: `Bearer ${key}` }, { 'troupe-key': key }] as Record<
    string,
    string
  >[]) {
    const refused = await ask('GET', '/v1/project', { headers });
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    expect(refused.body.detail).toMatch(/public key alone.*Troupe-Key/);
  }
});

test('a busy caller costs no statement per request, and its use is noted once', async () => {
  const { ask, ourKey, statements, db, ours } = await openAccess();
  statements.length = 0;
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => ask('GET', '/v1/project', { key: ourKey })),
  );
  for (let i = 0; i < 50; i++) answers.push(await ask('GET', '/v1/project', { key: ourKey }));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(statements.filter((name) => name === 'find_key')).toHaveLength(1);
  const used = async () =>
    (
      await db.pool.query('select last_used_at::text as at from troupe.api_keys where project_id = $1', [
        ours,
      ])
    ).rows[0].at;
  const first = await until('its use is noted', used);
  const { id } = (await db.rows
    .selectFrom('api_keys')
    .select('id')
    .where('project_id', '=', ours)
    .executeTakeFirst())!;
  await touchKey(db.rows, id); // as another process would
  expect(await used()).toBe(first);
});

test('in open mode only requests from this machine need no key, and a wrong key is still wrong', async () => {
  const { ask, ourKey, ours } = await openAccess({ mode: 'open' });
  const open = await ask('GET', '/v1/project');
  expect([open.status, open.body.name]).toEqual([200, 'default']);
  expect((await ask('GET', '/v1/project', { key: ourKey })).body.id).toBe(ours);
  expect((await ask('GET', '/v1/project', { key: `tsk_${'a'.repeat(43)}` })).status).toBe(401);
  for (const host of ['localhost:4700', '127.0.0.1:4700', '[::1]:4700'])
    expect((await ask('GET', '/v1/project', { headers: { host } })).status).toBe(200);
  expect((await ask('GET', '/v1/project', { headers: { origin: 'http://localhost:5173' } })).status).toBe(
    200,
  );
  const strange: Record<string, string>[] = [
    { host: 'evil.example' },
    { host: '127.0.0.1.evil.example' },
    { origin: 'https://evil.example', host: 'localhost:4700' },
    { origin: 'null' },
  ];
  for (const headers of strange)
    expect([(await ask('GET', '/v1/project', { headers })).status, headers]).toEqual([401, headers]);
});

test('the audit log cannot be changed', async () => {
  const { db } = await openAccess();
  for (const statement of [
    'update troupe.audit_log set action = $$x$$',
    'delete from troupe.audit_log',
    'truncate troupe.audit_log',
  ])
    await expect(db.pool.query(statement)).rejects.toThrow(/only added to/);
});

test('the key of the operator replaces the one before; once revoked it stays so', async () => {
  const { ask, access, ours, ourKey, db } = await openAccess();
  const [one, two] = ['one'.repeat(12), 'two'.repeat(12)];
  expect(await access.keys.bootstrap(ours, one)).toBe(true);
  expect(await access.keys.bootstrap(ours, one)).toBe(true);
  expect((await ask('GET', '/v1/project', { key: one })).status).toBe(200);
  expect(await access.keys.bootstrap(ours, two)).toBe(true);
  const fresh = new Access({ db, mode: 'closed', encryption: new Encryption([]) });
  await expect(fresh.authenticate(new Headers({ authorization: `Bearer ${one}` }))).rejects.toThrow(
    'revoked',
  );
  const listed = await ask('GET', '/v1/keys', { key: two });
  const mine = listed.body.data.find(
    (key: { name: string; revokedAt: unknown }) => key.name === 'bootstrap' && !key.revokedAt,
  );
  expect((await ask('DELETE', `/v1/keys/${mine.id}`, { key: ourKey })).status).toBe(204);
  expect(await access.keys.bootstrap(ours, two)).toBe(false);
  expect((await ask('POST', '/v1/keys', { key: ourKey, body: { name: 'bootstrap' } })).status).toBe(422);
});
