import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Client } from '../../../sdk/test/rxdb.ts';
import { ALL, agreeWith, masterOf } from './copies.ts';
import { type Person, SyncFixture } from './fixture.ts';

// A real RxDB over real HTTP: what it has in the end is what the server has.

let fixture: SyncFixture;
let ada: Person;
const clients: Client[] = [];
beforeAll(async () => {
  fixture = await SyncFixture.open();
  ada = await fixture.person('ada');
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => fixture.close());

async function open(
  person: Person,
  names: Parameters<typeof Client.open>[1],
  options?: Parameters<typeof Client.open>[2],
) {
  const at = { baseUrl: fixture.server.url, key: fixture.publicKey, token: () => fixture.token(person.name) };
  const client = await Client.open(at, names, options);
  clients.push(client);
  return client;
}

const agree = (client: Client, person: Person, ...names: Parameters<typeof Client.open>[1]) =>
  agreeWith(fixture, client, person, ...names);

test('all collections: pulled, followed live, and the same after both sides went on without each other', async () => {
  const session = await fixture.session(ada);
  await fixture.say(ada, session, 'before');
  const { task, thread } = await fixture.task(ada, session);
  const space = await fixture.space(ada);
  const client = await open(ada, ALL);
  await agree(client, ada, ...ALL);
  expect(client.errors).toEqual([]);
  // Nine collections, one connection that stays.
  expect(client.wire.requests.filter((one) => one.endsWith('/stream'))).toEqual(['GET /v1/sync/stream']);
  expect((await client.all('sub_agent_messages')).map(({ role }) => role).toSorted()).toEqual([
    'assistant',
    'tool',
    'user',
  ]);

  // Live: what is said elsewhere comes by itself, and so does what a task becomes.
  client.wire.requests = [];
  const { id } = await fixture.say(ada, session, 'live');
  await until('it is here', async () => (await client.db.messages.findOne(id).exec()) !== null);
  await fixture.server.db.pool.query(
    `update troupe.tasks set status = 'success', result = 'done' where id = $1`,
    [task],
  );
  await until(
    'the task is done',
    async () => (await client.db.tasks.findOne(task).exec())?.status === 'success',
  );
  await agree(client, ada, ...ALL);
  expect(client.wire.requests.filter((one) => one.includes('/pull'))).toEqual([]);

  // Offline: here a session, two messages and a title; there a message, a new space, a sub-agent that goes on.
  client.wire.goOffline();
  const [mine, first, second] = [newId(), newId(), newId()];
  const now = Date.now();
  await client.db.sessions.insert({
    id: mine,
    agentId: fixture.agent,
    title: 'offline',
    tags: ['a'],
    createdAt: now,
  });
  await client.db.messages.insert({
    id: first,
    chatId: session,
    role: 'user',
    content: 'offline',
    createdAt: now,
  });
  const third = newId();
  await client.db.messages.insert({
    id: third,
    chatId: mine,
    role: 'user',
    content: 'in mine',
    createdAt: now,
  });
  await client.db.messages.insert({
    id: second,
    chatId: space,
    role: 'user',
    content: 'in the space',
    createdAt: now,
  });
  await client.db.sessions.findOne(session).incrementalPatch({ title: 'mine' });
  await fixture.say(ada, session, 'meanwhile');
  await fixture.space(ada);
  await fixture.server.db.pool.query(
    `delete from troupe.messages where thread_id = $1 and role = 'tool_result'`,
    [thread],
  );
  client.wire.goOnline();
  await agree(client, ada, ...ALL);
  expect(client.refused).toEqual([]);
  const there = await masterOf(fixture, ada, 'messages');
  for (const one of [first, second, third])
    expect(there.filter((message) => message.id === one)).toHaveLength(1);
  expect(await masterOf(fixture, ada, 'sessions')).toContainEqual(
    expect.objectContaining({ id: mine, title: 'offline', tags: ['a'], userId: ada.id }),
  );
  expect((await client.all('sessions')).find((one) => one.id === session)).toMatchObject({ title: 'mine' });
  const { rows } = await fixture.server.db.pool.query(
    'select count(*)::int as runs from troupe.runs where trigger_message_id = $1',
    [first],
  );
  expect(rows[0].runs).toBe(1);
});

test('messages arrive once and start one run each, also where the answer to the push was lost', async () => {
  const session = await fixture.session(ada);
  const space = await fixture.space(ada);
  await fixture.done(fixture.key, 'POST', `/v1/spaces/${space}/members`, { agentId: fixture.agent });
  const client = await open(ada, ['messages']);
  await agree(client, ada, 'messages');
  client.wire.goOffline();
  const ids = Array.from({ length: 6 }, () => newId());
  for (const [at, id] of ids.entries())
    await client.db.messages.insert({
      id,
      chatId: at % 2 ? space : session,
      role: 'user',
      content: `offline ${at}`,
      createdAt: Date.now(),
    });
  client.wire.losesAnswersTo = '/push';
  client.wire.goOnline();
  const pushes = () => client.wire.requests.filter((one) => one.endsWith('/push')).length;
  await until('it was pushed more than once', async () => pushes() > 2);
  client.wire.losesAnswersTo = null;
  await agree(client, ada, 'messages');
  expect(client.refused).toEqual([]);
  const { rows } = await fixture.server.db.pool.query(
    `select m.id, count(distinct m.seq)::int as messages, count(distinct r.id)::int as runs from troupe.messages m
      left join troupe.runs r on r.trigger_message_id = m.id where m.id = any($1) group by m.id`,
    [ids],
  );
  expect(rows).toHaveLength(6);
  for (const row of rows) expect(row).toMatchObject({ messages: 1, runs: 1 });
});

test('a task that was written offline waits for its session, and is created once although responses were lost', async () => {
  const client = await open(ada, ['sessions', 'tasks'], { patienceMs: 0 });
  await agree(client, ada, 'sessions', 'tasks');
  client.wire.goOffline();
  const [session, task] = [newId(), newId()];
  await client.db.sessions.insert({ id: session, agentId: fixture.agent, createdAt: 1 });
  const document = { id: task, chatId: session, type: 'agent', name: fixture.agent, instruction: 'wait' };
  const stamps = { userId: ada.id, triggerMessageId: '', status: 'pending', createdAt: 1, updatedAt: 1 };
  await client.db.tasks.insert({ ...document, ...stamps });
  client.wire.stops = '/sessions/push';
  client.wire.goOnline();
  const pushes = () => client.wire.requests.filter((one) => one.endsWith('tasks/push')).length;
  await until('the task came first', async () => pushes() > 4);
  client.wire.losesAnswersTo = '/tasks/push';
  client.wire.stops = null;
  const stored = async () =>
    (await fixture.server.db.pool.query('select run_id from troupe.tasks where id = $1', [task])).rows;
  await until('the task is there', async () => (await stored()).length === 1);
  const before = pushes();
  await until('it is pushed again', async () => pushes() > before);
  client.wire.losesAnswersTo = null;
  await agree(client, ada, 'sessions', 'tasks');
  expect(client.refused).toEqual([]);
  const runs = await fixture.server.db.pool.query('select id from troupe.runs where task_id = $1', [task]);
  expect(runs.rows.map(({ id }) => id)).toEqual((await stored()).map(({ run_id }) => run_id));
});

test('where both sides changed the same, the server’s stays; what it does not do comes back undone', async () => {
  const [session, other] = [await fixture.session(ada), await fixture.session(ada)];
  const bob = await fixture.person('bob');
  const space = await fixture.space(ada, bob);
  const say = (text: string) =>
    fixture.done<{ id: string }>(bob.headers, 'POST', `/v1/spaces/${space}/messages`, { content: { text } });
  const [first, second] = [await say('first'), await say('second')];
  const client = await open(ada, ['sessions', 'messages', 'memberships'], { patienceMs: 1_000 });
  await agree(client, ada, 'sessions', 'messages', 'memberships');
  const own = `${space}:${ada.id}`;

  // Read markers: forward here, seen there; never back.
  await client.db.memberships.findOne(own).incrementalPatch({ lastSeenMessageId: first.id });
  const marker = async () =>
    (await masterOf(fixture, ada, 'memberships')).find(({ id }) => id === own)?.lastSeenMessageId;
  await until('it is marked', async () => (await marker()) === first.id);
  await client.db.memberships.findOne(own).incrementalPatch({ lastSeenMessageId: second.id });
  await until('it is marked', async () => (await marker()) === second.id);
  await client.db.memberships.findOne(own).incrementalPatch({ lastSeenMessageId: first.id });
  await agree(client, ada, 'memberships');
  expect(await marker()).toBe(second.id);

  client.wire.goOffline();
  await client.db.sessions.findOne(session).incrementalPatch({ title: 'from here', tags: ['here'] });
  await client.db.sessions.findOne(other).remove();
  await client.db.memberships.findOne(own).incrementalPatch({ role: 'member' });
  const nowhere = newId();
  await client.db.messages.insert({
    id: nowhere,
    chatId: newId(),
    role: 'user',
    content: 'nobody is there',
    createdAt: 1,
  });
  await client.db.messages.findOne(first.id).incrementalPatch({ content: 'something else' });
  await client.db.messages.findOne(second.id).remove();
  await fixture.done(ada.headers, 'PATCH', `${fixture.sessions}/${session}`, { title: 'from there' });
  client.wire.goOnline();
  await agree(client, ada, 'sessions', 'messages', 'memberships');
  const sessions = await client.all('sessions');
  expect(sessions.find(({ id }) => id === session)).toMatchObject({ title: 'from there', tags: [] });
  expect(sessions.some(({ id }) => id === other)).toBe(false);
  const messages = await client.all('messages');
  expect(messages.find(({ id }) => id === first.id)).toMatchObject({ content: 'first' });
  expect(messages.some(({ id }) => id === second.id)).toBe(true);
  expect(messages.some(({ id }) => id === nowhere)).toBe(false);
  expect(client.refused).toEqual([expect.objectContaining({ id: nowhere, code: 'chat_not_found' })]);
  expect((await client.all('memberships')).find(({ id }) => id === own)).toMatchObject({ role: 'admin' });
});

test('what was said in a session begun offline waits for it, however late that comes; and comes back where it is not wanted', async () => {
  const busy = await fixture.session(ada);
  await fixture.done(ada.headers, 'PATCH', `${fixture.sessions}/${busy}`, { policy: 'reject' });
  const client = await open(ada, ['sessions', 'messages'], { patienceMs: 0 });
  await agree(client, ada, 'sessions', 'messages');
  client.wire.goOffline();
  const [mine, unwanted, said, vain, first, second] = Array.from({ length: 6 }, () => newId());
  const at = { agentId: fixture.agent, createdAt: 1 };
  await client.db.sessions.insert({ ...at, id: mine });
  await client.db.sessions.insert({ ...at, id: unwanted, agentId: newId() });
  const say = (id: string, chatId: string) =>
    client.db.messages.insert({ id, chatId, role: 'user', content: 'wait', createdAt: 1 });
  await say(said!, mine!);
  await say(vain!, unwanted!);
  // What cannot be sent at all does not keep the others from it.
  const broken = newId();
  await client.db.messages.insert({ id: broken, chatId: mine, role: 'user', content: 'a\0b', createdAt: 1 });
  await say(first!, busy);
  await say(second!, busy);
  client.wire.stops = '/sessions/push';
  client.wire.goOnline();
  const pushes = () => client.wire.requests.filter((one) => one.endsWith('messages/push')).length;
  await until('the messages came first, often enough to be given up', async () => pushes() > 4);
  expect(await client.db.messages.findOne(said).exec()).not.toBeNull();
  expect(client.refused).toEqual([]);
  // Changed while it is on its way, and not known there yet.
  await client.db.sessions.findOne(mine).incrementalPatch({ title: 'changed' });
  client.wire.stops = null;
  await agree(client, ada, 'sessions', 'messages');
  expect(await client.db.sessions.findOne(mine).exec()).toMatchObject({ title: 'changed', userId: ada.id });
  const there = (await masterOf(fixture, ada, 'messages')).map(({ id }) => id);
  // The two in a session that is at work and rejects wait there: nobody is left to say them again.
  expect(there).toEqual(expect.arrayContaining([said, first, second]));
  expect(there).not.toContain(vain);
  const byCode = client.refused.toSorted((a, b) => (a.code > b.code ? -1 : 1));
  expect(byCode).toEqual([
    expect.objectContaining({ id: unwanted, code: 'not_found' }),
    expect.objectContaining({ id: broken, code: 'invalid_request' }),
    expect.objectContaining({
      id: vain,
      code: 'chat_not_found',
      document: expect.objectContaining({ content: 'wait' }),
    }),
  ]);
});

test('a token that has run out is asked for again, and who was removed has nothing left of a space', async () => {
  const eve = await fixture.person('eve');
  const space = await fixture.space(ada, eve);
  await fixture.done(ada.headers, 'POST', `/v1/spaces/${space}/messages`, { content: { text: 'hello' } });
  let asked = 0;
  const client = await Client.open(
    {
      baseUrl: fixture.server.url,
      key: fixture.publicKey,
      // The first one is of no use any more.
      token: () => fixture.token('eve', asked++ === 0 ? '-1 minute' : '1 hour'),
    },
    ['spaces', 'messages', 'memberships'],
  );
  clients.push(client);
  // What others write at the same time can hold it up for a moment, for who looks and for who copies.
  await until('it is here', async () => (await client.all('messages')).length === 1);
  await agree(client, eve, 'spaces', 'messages', 'memberships');
  expect(await client.all('memberships')).toHaveLength(2);
  await fixture.done(ada.headers, 'DELETE', `/v1/spaces/${space}/members/${eve.id}`);
  for (const name of ['spaces', 'messages', 'memberships'] as const)
    await until(`${name} are gone`, async () => (await client.all(name)).length === 0);
});

test('a collection that may not be read keeps the others from nothing', async () => {
  const { key } = await fixture.done<{ key: string }>(fixture.key, 'POST', '/v1/keys', {
    name: 'narrow',
    scopes: ['sessions:read'],
  });
  const client = await Client.open({ baseUrl: fixture.server.url, key }, ['sessions', 'runs']);
  clients.push(client);
  await until(
    'it follows',
    async () => client.wire.requests.filter((one) => one.endsWith('/stream')).length > 2,
  );
  const session = await fixture.session(ada);
  await until('it is here', async () => (await client.db.sessions.findOne(session).exec()) !== null);
  expect(await client.all('runs')).toEqual([]);
});
