import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Collection } from '@troupe/protocol';
import { migrate, newId, silentLogger, startEmbedded } from '@troupe/server';
import { createDatabase, openServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Client } from '../../../sdk/test/rxdb.ts';
import { after } from '../after.ts';
import { agreeWith } from './copies.ts';
import { Following, type Person, SyncFixture } from './fixture.ts';
import { advanceTransactions, type Dump, dump, nextTransaction, restore } from './restoring.ts';

// Two clusters. A dump of the first is restored into the second, and clients of the first go on with that.

/** RxDB opens at most 13 collections at once, and up to three clients are open. */
const COPIED: Collection[] = ['sessions', 'messages', 'spaces', 'memberships'];
const encryptionKey = randomBytes(32);
const first = inject('postgresUrl');
let home: string;
let second: Awaited<ReturnType<typeof startEmbedded>>;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'troupe-restore-'));
  second = await startEmbedded({ home, logger: silentLogger });
});
afterAll(async () => {
  await second.stop();
  rmSync(home, { recursive: true, force: true });
});

interface Story {
  fixture: SyncFixture;
  ada: Person;
  kept: string;
  space: string;
  /** Has followed to some point before the dump. */
  early: Client;
  /** Has followed to some point after the dump: what it has from then on is lost. */
  late: Client;
  dumped: Dump;
}

async function clientOf(fixture: SyncFixture, person: Person): Promise<Client> {
  const at = { baseUrl: fixture.server.url, key: fixture.publicKey, token: () => fixture.token(person.name) };
  const client = await Client.open(at, COPIED, { batchSize: 4 });
  after(() => client.close());
  return client;
}

async function tell(): Promise<Story> {
  const fixture = await SyncFixture.open({ encryptionKey });
  after(() => fixture.close());
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')];
  const [kept, dropped] = [await fixture.session(ada), await fixture.session(ada)];
  const [space, left] = [await fixture.space(ada, bob), await fixture.space(ada, bob)];
  for (let n = 0; n < 4; n++) {
    await fixture.say(ada, kept, `kept ${n}`);
    await fixture.say(ada, dropped, `dropped ${n}`);
    for (const to of [space, left])
      await fixture.done(bob.headers, 'POST', `/v1/spaces/${to}/messages`, { content: { text: `in ${n}` } });
  }
  await fixture.task(ada, kept);
  await quiet(fixture);
  const [early, late] = [await clientOf(fixture, ada), await clientOf(fixture, ada)];
  for (const client of [early, late]) await agreeWith(fixture, client, ada, ...COPIED);
  early.wire.goOffline();
  // Unsent: the restored server gets it.
  await early.db.messages.insert({
    id: newId(),
    chatId: kept,
    role: 'user',
    content: 'written offline',
    createdAt: Date.now(),
  });
  await fixture.done(ada.headers, 'DELETE', `${fixture.sessions}/${dropped}`);
  await fixture.done(fixture.key, 'DELETE', `/v1/spaces/${left}/members/${ada.id}`);
  await fixture.say(ada, kept, 'before the dump');
  await quiet(fixture);
  await agreeWith(fixture, late, ada, ...COPIED);
  const dumped = await dump(fixture.server.databaseUrl);
  const lost = await fixture.session(ada, 'lost');
  await fixture.say(ada, lost, 'lost');
  await fixture.say(ada, kept, 'lost');
  await quiet(fixture);
  await agreeWith(fixture, late, ada, ...COPIED);
  late.wire.goOffline();
  return { fixture, ada, kept, space, early, late, dumped };
}

/** No run is under way. */
async function quiet(fixture: SyncFixture): Promise<void> {
  await until('no run is under way', async () => {
    const { rows } = await fixture.server.db.pool.query(
      `select from troupe.runs where status in ('queued', 'running')`,
    );
    return rows.length === 0;
  });
  await fixture.settle();
}

/** A server on the restored database, started as all are: after `migrate`. */
async function serverOn(story: Story, databaseUrl: string): Promise<SyncFixture> {
  // Many processes start at once.
  await Promise.all(Array.from({ length: 4 }, () => migrate(databaseUrl)));
  const server = await openServer({ postgresUrl: second.url, databaseUrl, mode: 'closed', encryptionKey });
  after(() => server.close());
  return story.fixture.on(server);
}

/** The ids that the person may see, read without stamps. */
async function idsIn(fixture: SyncFixture, person: Person): Promise<Record<string, string[]>> {
  const { rows } = await fixture.server.db.pool.query<{ messages: string[]; sessions: string[] }>(
    `select array(select m.id::text from troupe.messages m join troupe.sessions s on s.thread_id = m.thread_id where s.entity_id = $1
        union select m.id::text from troupe.messages m join troupe.memberships n on n.space_id = m.thread_id where n.entity_id = $1 order by 1) as messages,
      array(select s.id::text from troupe.sessions s where s.entity_id = $1 order by 1) as sessions,
      array(select n.space_id::text from troupe.memberships n where n.entity_id = $1 order by 1) as spaces`,
    [person.id],
  );
  return { ...rows[0]! };
}

async function idsOf(client: Client): Promise<Record<string, string[]>> {
  const ids = async (name: 'messages' | 'sessions' | 'spaces') =>
    (await client.all(name)).map(({ id }) => String(id));
  return {
    messages: await ids('messages'),
    sessions: await ids('sessions'),
    spaces: await ids('spaces'),
  };
}

async function everybodyEndsEqual(story: Story, restored: SyncFixture): Promise<void> {
  const { ada, kept, space, early, late } = story;
  const fresh = await clientOf(restored, ada);
  const following = await Following.open(restored.server.url, ada.headers, '/v1/sync/messages/stream');
  after(() => following.close());
  for (const client of [early, late]) {
    client.wire.instead = restored.server.url;
    client.wire.goOnline();
    for (const state of client.replications.values()) state.reSync();
  }
  // Both sides go on while the clients pull.
  const short = await restored.session(ada, 'short');
  for (let n = 0; n < 3; n++) {
    await restored.say(ada, kept, `after ${n}`);
    await restored.say(ada, short, `short ${n}`);
    await restored.done(ada.headers, 'POST', `/v1/spaces/${space}/messages`, { content: { text: `${n}` } });
  }
  await quiet(restored);
  await restored.done(ada.headers, 'DELETE', `${restored.sessions}/${short}`);
  await restored.done(ada.headers, 'PATCH', `${restored.sessions}/${kept}`, { title: 'after the restore' });
  for (const client of [fresh, early, late]) {
    await agreeWith(restored, client, ada, ...COPIED);
    await quiet(restored);
    await agreeWith(restored, client, ada, ...COPIED);
    expect(await idsOf(client)).toEqual(await idsIn(restored, ada));
    expect(client.refused).toEqual([]);
  }
  const texts = (await early.all('messages')).map(({ content }) => content);
  expect(texts.filter((text) => text === 'written offline')).toHaveLength(1);
  expect(texts.filter((text) => text === 'lost')).toEqual([]);
}

/** The next stamp is higher than all that are stored, and the horizon too. */
async function expectOrder({ server }: SyncFixture): Promise<void> {
  const { rows } = await server.db.pool.query(
    `select troupe.stamp() > x.highest and pg_snapshot_xmin(pg_current_snapshot())::text::bigint + troupe.stamp_offset() > x.highest as ordered
      from (select greatest((select max(xid) from troupe.messages), (select max(xid) from troupe.runs), (select max(xid) from troupe.tombstones)) as highest) x`,
  );
  expect(rows).toEqual([{ ordered: true }]);
}

test('after a restore into a cluster with lower transaction ids every client ends equal to the server', async () => {
  await advanceTransactions(first, (await nextTransaction(second.url)) + 20_000);
  const story = await tell();
  const url = await restore(second.url, 'lower', story.dumped);
  expect(await nextTransaction(second.url)).toBeLessThan((await nextTransaction(first)) - 10_000);
  const restored = await serverOn(story, url);
  await restored.settle();
  await expectOrder(restored);
  await everybodyEndsEqual(story, restored);

  // Restored once more, with the offset of the first time.
  const again = await restore(first, `again_${randomBytes(4).toString('hex')}`, await dump(url));
  const fixture = await serverOn(story, again);
  await fixture.settle();
  await expectOrder(fixture);
  for (const client of [story.early, story.late]) await client.close();
  const fresh = await clientOf(fixture, story.ada);
  await agreeWith(fixture, fresh, story.ada, ...COPIED);
  expect(await idsOf(fresh)).toEqual(await idsIn(fixture, story.ada));
});

test('after a restore into a cluster with higher transaction ids every client ends equal to the server', async () => {
  const story = await tell();
  await advanceTransactions(second.url, (await nextTransaction(first)) + 5_000);
  const url = await restore(second.url, 'higher', story.dumped);
  const restored = await serverOn(story, url);
  await restored.settle();
  await expectOrder(restored);
  await everybodyEndsEqual(story, restored);
});

test('a start changes nothing in a database that was not restored, and reads none of its tables as a whole', async () => {
  const { url, drop } = await createDatabase(first);
  after(drop);
  const server = await openServer({ postgresUrl: first, databaseUrl: url });
  after(() => server.close());
  const { db } = server;
  const thread = newId();
  await db.pool.query(
    `with p as (insert into troupe.projects (id, name) values (gen_random_uuid(), 'p') returning id)
      insert into troupe.threads (id, project_id, kind) select $1, p.id, 'session' from p`,
    [thread],
  );
  await db.pool.query(
    `insert into troupe.messages (thread_id, seq, id, role, content) select $1, n, gen_random_uuid(), 'user', '{"text": "x"}' from generate_series(1, 20000) n`,
    [thread],
  );
  await db.pool.query('vacuum analyze troupe.messages');
  const count = async () => {
    await db.pool.query('select pg_stat_force_next_flush()');
    const { rows } = await db.pool.query(
      `select coalesce(sum(seq_tup_read), 0)::int as rows from pg_stat_user_tables where schemaname = 'troupe' and relname in ('messages', 'tool_calls')`,
    );
    return rows[0].rows as number;
  };
  const before = await count();
  await migrate(url);
  expect((await count()) - before).toBe(0);
  const { rows } = await db.pool.query('select troupe.stamp_offset()::int as offset');
  expect(rows).toEqual([{ offset: 0 }]);
  // Stamping calls no function: it is part of the statement.
  const { rows: plan } = await db.pool.query(
    `explain (verbose) insert into troupe.messages (thread_id, seq, id, role, content) values ($1, 20001, gen_random_uuid(), 'user', '{}')`,
    [thread],
  );
  expect(JSON.stringify(plan)).toContain('pg_current_xact_id()');
  expect(JSON.stringify(plan)).not.toContain('troupe.stamp');
});
