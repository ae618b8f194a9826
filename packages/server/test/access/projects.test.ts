import { expect, test } from 'vitest';
import { openAccess } from './fixture.ts';

test('whoever runs the server makes projects, each with a first key; nobody else does', async () => {
  const { ask, makeKey, db, ourKey } = await openAccess();
  const { rows } = await db.pool.query<{ id: string }>(
    `insert into troupe.projects (id, name) values (gen_random_uuid(), 'default') on conflict do nothing returning id`,
  );
  const operator = (await makeKey(rows[0]!.id)).key;
  expect((await ask('POST', '/v1/projects', { key: ourKey, body: { name: 'mine' } })).status).toBe(403);
  expect((await ask('GET', '/v1/projects', { key: ourKey })).status).toBe(403);

  const made = await ask('POST', '/v1/projects', { key: operator, body: { name: 'acme' } });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ name: 'acme', key: expect.stringMatching(/^tsk_/) });
  const own = await ask('GET', '/v1/project', { key: made.body.key });
  expect(own.body).toMatchObject({ id: made.body.id, name: 'acme' });
  expect(await ask('POST', '/v1/projects', { key: operator, body: { name: 'ACME' } })).toMatchObject({
    status: 409,
    body: { code: 'name_taken' },
  });
  const listed = await ask('GET', '/v1/projects?limit=200', { key: operator });
  expect(listed.body.data.map(({ name }: { name: string }) => name)).toContain('acme');
  expect(listed.text).not.toContain('tsk_');
  // A new project sees nothing of the others.
  expect((await ask('GET', '/v1/keys', { key: made.body.key })).body.data).toHaveLength(1);
});
