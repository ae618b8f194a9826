import { newId } from '@troupe/server';
import { createDatabase, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createLogger } from '../../src/base/logger.ts';
import { purgeTombstones } from '../../src/store/queries/purge.ts';
import { Following, type Person, SyncFixture } from './fixture.ts';

// The order in which things became what they are: nothing is skipped, whatever commits when.

let fixture: SyncFixture;
let ada: Person;
const logged: string[] = [];
beforeAll(async () => {
  const logger = createLogger('warn', { write: (line: string) => void logged.push(line) });
  fixture = await SyncFixture.open({ logger, stallMs: 200 });
  ada = await fixture.person('ada');
});
afterAll(() => fixture.close());

async function threadOf(session: string): Promise<string> {
  const { rows } = await fixture.server.db.pool.query('select thread_id from troupe.sessions where id = $1', [
    session,
  ]);
  return rows[0].thread_id;
}
const WRITE = `insert into troupe.messages (thread_id, seq, id, role, content) values ($1, $2, $3, 'user', '{"text": "x"}')`;
const xidOf = (checkpoint: string) =>
  JSON.parse(Buffer.from(checkpoint, 'base64url').toString())[1] as number;

test('twenty writers that commit out of order, one of them very late: the reader gets everything, once, and is never ahead of one', async () => {
  const { db } = fixture.server;
  const written = new Set<string>();
  const threads = await Promise.all(
    Array.from({ length: 20 }, async () => threadOf(await fixture.session(ada))),
  );
  const writers = await Promise.all(threads.map(() => db.connectDirect('writer')));
  const late = writers[0]!;
  let { checkpoint } = await fixture.pullAll(ada.headers, 'messages');
  const got: string[] = [];
  const open = new Map<number, number>();
  let isDone = false;
  const reading = (async () => {
    for (;;) {
      const wasDone = isDone;
      // Those that are open now have to be behind whatever is answered.
      const oldest = Math.min(...open.values());
      const page = await fixture.pullNow(ada.headers, 'messages', { checkpoint, limit: 5 });
      const stillOpen = [...open.values()].includes(oldest);
      if (stillOpen) expect(xidOf(page.checkpoint)).toBeLessThanOrEqual(oldest);
      got.push(...page.documents.map(({ id }) => id));
      checkpoint = page.checkpoint;
      if (wasDone && page.documents.length < 5) return;
    }
  })();
  try {
    const begin = async (at: number) => {
      await writers[at]!.query('begin');
      const { rows } = await writers[at]!.query('select pg_current_xact_id()::text::bigint as xid');
      open.set(at, Number(rows[0].xid));
    };
    const write = async (at: number, seq: number) => {
      const id = newId();
      // Within a transaction of its own, too: the place is that of the whole.
      if (at % 2 === 0) await writers[at]!.query('savepoint within');
      await writers[at]!.query(WRITE, [threads[at], seq, id]);
      written.add(id);
    };
    await begin(0);
    await write(0, 1);
    // In each round all begin in one order and commit in another.
    for (let round = 0; round < 4; round++) {
      const others = Array.from({ length: 19 }, (_, n) => n + 1);
      for (const at of others) await begin(at);
      await Promise.all(others.map((at) => write(at, 2 * round + 1)));
      await Promise.all(others.map((at) => write(at, 2 * round + 2)));
      for (const at of others.toSorted((a, b) => ((a * 7 + round) % 19) - ((b * 7 + round) % 19))) {
        await writers[at]!.query('commit');
        open.delete(at);
      }
    }
    expect(got).toEqual([]);
    await write(0, 2);
    await late.query('commit');
    open.delete(0);
    await fixture.settle();
  } finally {
    isDone = true;
    await reading;
    await Promise.all(writers.map((writer) => writer.end()));
  }
  expect(written.size).toBe(2 + 19 * 8);
  expect(got.toSorted()).toEqual([...written].toSorted());
});

test('rows from before they were counted have one place, and are told apart by their ids at the edge of every page', async () => {
  const bob = await fixture.person('bob');
  const thread = await threadOf(await fixture.session(bob));
  const ids = Array.from({ length: 25 }, () => newId());
  for (const [at, id] of ids.entries())
    await fixture.server.db.pool.query(
      WRITE.replace('content)', 'content, xid)').replace(`'{"text": "x"}')`, `'{"text": "x"}', 0)`),
      [thread, at + 1, id],
    );
  for (const limit of [1, 5, 7, 25, 26]) {
    const { documents } = await fixture.pullAll(bob.headers, 'messages', { limit });
    expect(documents.map(({ id }) => id)).toEqual(ids.toSorted());
  }
});

test('what changes while somebody begins is given once he has been given the rest', async () => {
  const dan = await fixture.person('dan');
  const sessions = await Promise.all(Array.from({ length: 6 }, () => fixture.session(dan)));
  for (const headers of [dan.headers, fixture.key]) {
    for (const name of ['sessions', 'messages']) {
      const first = await fixture.pull(headers, name, { limit: 2 });
      for (const session of sessions) await fixture.say(dan, session, name);
      const late = await fixture.session(dan);
      await fixture.done(dan.headers, 'PATCH', `${fixture.sessions}/${sessions[0]}`, {
        title: `${name} ${Math.random()}`,
      });
      const rest = await fixture.pullAll(headers, name, { checkpoint: first.checkpoint, limit: 2 });
      const copy = new Map([...first.documents, ...rest.documents].map((one) => [one.id, one]));
      const now = await fixture.pullAll(headers, name);
      const at = await fixture.pullAll(headers, name, { checkpoint: rest.checkpoint });
      for (const one of at.documents) copy.set(one.id, one);
      const byId = (all: Iterable<{ id: string }>) => [...all].toSorted((a, b) => (a.id < b.id ? -1 : 1));
      // Runs go on meanwhile; what was there by then is.
      const known = new Set(byId(copy.values()).map(({ id }) => id));
      expect([name, now.documents.filter(({ id }) => !known.has(id))]).toEqual([name, []]);
      if (name === 'sessions') {
        expect(known.has(late)).toBe(true);
        expect(byId(copy.values())).toEqual(byId(now.documents));
      }
    }
  }
});

test('one transaction with more than a page', async () => {
  const cy = await fixture.person('cy');
  const thread = await threadOf(await fixture.session(cy));
  const { checkpoint } = await fixture.pullAll(cy.headers, 'messages');
  await fixture.server.db.pool.query(
    `insert into troupe.messages (thread_id, seq, id, role, content) select $1, n, gen_random_uuid(), 'user', '{"text": "x"}' from generate_series(1, 23) n`,
    [thread],
  );
  const { documents } = await fixture.pullAll(cy.headers, 'messages', { checkpoint, limit: 5 });
  expect(new Set(documents.map(({ sequence }) => sequence)).size).toBe(23);
  expect(documents).toHaveLength(23);
});

test('what is no checkpoint is refused; one of another database, of another copy or of the future begins again', async () => {
  const session = await fixture.session(ada);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { checkpoint, documents } = await fixture.pullAll(ada.headers, 'sessions');
  const [order, xid, id] = JSON.parse(Buffer.from(checkpoint, 'base64url').toString());
  expect((await fixture.pull(ada.headers, 'sessions', { checkpoint })).documents).toEqual([]);
  for (const bad of [
    'x',
    '%00',
    encode(1),
    encode([]),
    encode([order, 'x', id]),
    encode([order, xid, 'a\0']),
    encode([order, 1e300, id]),
    encode([order, -5, '']),
    encode([order, 1, '-'.repeat(36), 1]),
  ]) {
    const answer = await fixture.ask(
      ada.headers,
      'GET',
      `/v1/sync/sessions/pull?checkpoint=${encodeURIComponent(bad)}`,
    );
    expect([bad, answer.status]).toEqual([bad, 422]);
  }
  const bob = await fixture.person('bob');
  const others = [
    encode(['other.x', xid, id]),
    encode([order, xid + 1_000_000, id]),
    (await fixture.pullAll(bob.headers, 'sessions')).checkpoint,
  ];
  for (const other of [...others, (await fixture.pullAll(ada.headers, 'messages')).checkpoint]) {
    const again = await fixture.pull(ada.headers, 'sessions', { checkpoint: other, limit: 1000 });
    expect(again.restarted).toBe(true);
    expect(again.documents.map((one) => one.id).toSorted()).toEqual(
      documents.map((one) => one.id).toSorted(),
    );
  }
  expect(documents.some((one) => one.id === session)).toBe(true);
});

test('what was deleted long ago is forgotten, and who has not heard of it by then begins again', async () => {
  const { db } = fixture.server;
  const fay = await fixture.person('fay');
  const [kept, gone, late] = [
    await fixture.session(fay),
    await fixture.session(fay),
    await fixture.session(fay),
  ];
  const before = await fixture.pullAll(fay.headers, 'sessions');
  const half = await fixture.pull(fay.headers, 'sessions', { limit: 1 });
  await fixture.done(fay.headers, 'DELETE', `${fixture.sessions}/${gone}`);
  const after = await fixture.pullAll(fay.headers, 'sessions', { checkpoint: before.checkpoint });
  expect(after.documents.map(({ id, _deleted }) => [id, _deleted])).toEqual([[gone, true]]);
  expect(await purgeTombstones(db, 30)).toBe(0);
  await db.pool.query(
    `update troupe.tombstones set gone_at = now() - interval '31 days' where entity_id = $1`,
    [fay.id],
  );
  await fixture.done(fay.headers, 'DELETE', `${fixture.sessions}/${late}`);
  expect(await purgeTombstones(db, 30)).toBeGreaterThan(0);
  expect(await purgeTombstones(db, 30)).toBe(0);
  // Deletions that are still known come first, then the documents.
  for (const { checkpoint } of [before, half]) {
    const page = await fixture.pull(fay.headers, 'sessions', { checkpoint, limit: 1 });
    expect([page.restarted, page.documents.map(({ id, _deleted }) => [id, _deleted])]).toEqual([
      true,
      [[late, true]],
    ]);
    const rest = await fixture.pull(fay.headers, 'sessions', { checkpoint: page.checkpoint, limit: 1 });
    expect([rest.restarted, rest.documents.map(({ id }) => id)]).toEqual([false, [kept]]);
    const next = await fixture.pull(fay.headers, 'sessions', { checkpoint: rest.checkpoint });
    expect([next.restarted, next.documents]).toEqual([false, []]);
  }
  // Who had heard of it goes on, and hears of what was deleted since.
  const page = await fixture.pull(fay.headers, 'sessions', { checkpoint: after.checkpoint });
  expect([page.restarted, page.documents.map(({ id, _deleted }) => [id, _deleted])]).toEqual([
    false,
    [[late, true]],
  ]);
});

test('another database is another generation; whoever follows when it changes is told to begin again', async () => {
  const { db, url } = fixture.server;
  const other = await createDatabase(inject('postgresUrl'));
  const ask = 'select troupe.sync_generation() as generation';
  const { rows: own } = await db.pool.query(ask);
  const { default: pg } = await import('pg');
  const client = new pg.Client(other.url);
  await client.connect();
  const { rows: theirs } = await client.query(ask);
  await client.end();
  await other.drop();
  expect(own[0].generation).toMatch(/^[0-9a-f]{12}$/);
  expect(theirs[0].generation).not.toBe(own[0].generation);
  expect((await db.pool.query(ask)).rows).toEqual(own);

  const { checkpoint } = await fixture.pullAll(ada.headers, 'sessions');
  const following = await Following.open(url, ada.headers, '/v1/sync/sessions/stream');
  await until('it follows', async () => following.frames.length === 1);
  const { rows } = await db.pool.query(
    `select pg_get_functiondef('troupe.sync_generation'::regproc) as text`,
  );
  await db.pool.query(
    `create or replace function troupe.sync_generation() returns text language sql as $$ select 'restored' $$`,
  );
  try {
    await until('it is told', async () => following.frames.length === 2);
    expect(following.frames.map(({ event }) => event)).toEqual(['resync', 'resync']);
    const page = await fixture.pull(ada.headers, 'sessions', { checkpoint });
    expect([page.restarted, page.documents.length > 0]).toEqual([true, true]);
    const session = await fixture.session(ada);
    await until('it goes on', async () => following.documents.some(({ id }) => id === session));
  } finally {
    following.close();
    await db.pool.query(rows[0].text);
  }
});

test('a transaction that is kept open is told of, while somebody waits behind it', async () => {
  const { db, url, followers } = fixture.server;
  const following = await Following.open(url, ada.headers, '/v1/sync/sessions/stream');
  await until('it follows', async () => following.frames.length === 1);
  const holder = await db.connectDirect('dawdler');
  try {
    await holder.query('begin');
    await holder.query('select pg_current_xact_id()');
    const session = await fixture.session(ada);
    await until('it is told of', async () => {
      await db.pool.query('select pg_current_xact_id()');
      return logged.some((line) => line.includes('holds up'));
    });
    expect(logged.find((line) => line.includes('holds up'))).toContain('dawdler');
    expect(followers.stalledSeconds).toBeGreaterThan(0);
    expect(following.documents).toEqual([]);
    await holder.query('commit');
    await until('it goes on', async () => following.documents.some(({ id }) => id === session));
    await until('and is no longer held up', async () => followers.stalledSeconds === 0);
  } finally {
    await holder.end();
    following.close();
  }
});
