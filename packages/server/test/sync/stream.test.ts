import { randomBytes } from 'node:crypto';
import { openServer, stopwatch, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Client } from '../../../sdk/test/rxdb.ts';
import { Following, type Person, SyncFixture } from './fixture.ts';

// Many who follow, what that costs, and what becomes of them when a server goes away.

let fixture: SyncFixture;
let ada: Person;
let bob: Person;
const encryptionKey = randomBytes(32);
beforeAll(async () => {
  fixture = await SyncFixture.open({ encryptionKey });
  ada = await fixture.person('ada');
  bob = await fixture.person('bob');
});
afterAll(() => fixture.close());

test('forty who follow are served by one look, and those who follow the same by one read', async () => {
  const { url, db, followers } = fixture.server;
  const open = (person: Person, name: string) =>
    Following.open(url, person.headers, `/v1/sync/${name}/stream`);
  const ours = await Promise.all(Array.from({ length: 20 }, () => open(ada, 'sessions')));
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, n) => open(bob, n % 2 ? 'sessions' : 'messages')),
  );
  const all = [...ours, ...others];
  await until('all follow', async () => all.every(({ frames }) => frames.length === 1));
  expect(followers.readers).toBe(40);
  const statements: string[] = [];
  const run = db.run.bind(db);
  db.run = ((statement: { name: string }, ...rest: never[]) => {
    if (/^(look_for|changes_)/.test(statement.name)) statements.push(statement.name);
    return run(statement as never, ...rest);
  }) as typeof db.run;
  try {
    const session = await fixture.session(ada);
    await until('all of hers are told', async () =>
      ours.every(({ documents }) => documents.some(({ id }) => id === session)),
    );
    expect(others.every(({ documents }) => documents.length === 0)).toBe(true);
    // One read for the twenty of them, none for the others; looks by the clock, not by the reader.
    const [looks, reads] = [/^look/, /^changes/].map((of) => statements.filter((name) => of.test(name)));
    expect(new Set(reads)).toEqual(new Set(['changes_sessions_person']));
    expect(reads!.length).toBeLessThanOrEqual(looks!.length);
  } finally {
    db.run = run;
    for (const one of all) one.close();
  }
  await until('nobody follows any more', async () => followers.readers === 0);
});

test('who does not read is told to pull, instead of having everything kept for him', async () => {
  const { followers, db } = fixture.server;
  const session = await fixture.session(ada);
  const scope = { project: fixture.project, entityId: ada.id, chat: session };
  const reader = followers.open(['messages'], scope, { mayStay: async () => {} }).getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await read()).toContain('event: resync');
  // Two and a half times what may wait for a reader.
  await db.pool.query(
    `insert into troupe.messages (thread_id, seq, id, role, content)
      select s.thread_id, n, gen_random_uuid(), 'user', jsonb_build_object('text', repeat('x', 100000)) from troupe.sessions s, generate_series(1, 6) n where s.id = $1`,
    [session],
  );
  const told = await read();
  expect([told.length < 1_000, told.includes('event: resync')]).toEqual([true, true]);
  await reader.cancel();
  expect(followers.readers).toBe(0);
});

test('a server that stops sends its followers on; they miss nothing of what happened meanwhile', async () => {
  const first = await openServer({
    postgresUrl: inject('postgresUrl'),
    databaseUrl: fixture.server.databaseUrl,
    mode: 'closed',
    encryptionKey,
    works: false,
  });
  const at = { baseUrl: first.url, key: fixture.publicKey, token: () => fixture.token('ada') };
  const client = await Client.open(at, ['sessions']);
  try {
    const known = await fixture.session(ada);
    await until('it follows', async () => (await client.db.sessions.findOne(known).exec()) !== null);
    // What another process writes is heard of, and not found by the next look: four of those would take three seconds.
    const following = await Following.open(
      first.url,
      ada.headers,
      '/v1/sync/stream?collections=messages,runs',
    );
    const waits: number[] = [];
    for (let said = 0; said < 6; said++) {
      const elapsed = stopwatch();
      const { id } = await fixture.say(ada, known, `number ${said}`);
      await until('it is told', async () => following.documents.some((one) => one.id === id));
      waits.push(elapsed());
    }
    following.close();
    // The first may come before it is known over there that somebody follows here.
    expect(waits.slice(2).reduce((sum, wait) => sum + wait)).toBeLessThan(2_500);
    await first.close();
    const meanwhile = await fixture.session(ada);
    // What is in front of the servers leads to another one by now.
    client.wire.instead = fixture.server.url;
    await until('it is there', async () => (await client.db.sessions.findOne(meanwhile).exec()) !== null);
    const live = await fixture.session(ada);
    await until('and follows again', async () => (await client.db.sessions.findOne(live).exec()) !== null);
  } finally {
    await client.close();
  }
});

test('whose key is revoked is sent away', async () => {
  const made = await fixture.done<{ key: string; id: string }>(fixture.key, 'POST', '/v1/keys', {
    name: 'brief',
  });
  const following = await Following.open(
    fixture.server.url,
    { authorization: `Bearer ${made.key}` },
    '/v1/sync/sessions/stream',
  );
  await until('it follows', async () => following.frames.length === 1);
  await fixture.done(fixture.key, 'DELETE', `/v1/keys/${made.id}`);
  await until('it is sent away', async () => following.ended);
});
