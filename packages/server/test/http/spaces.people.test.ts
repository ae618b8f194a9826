import { randomBytes } from 'node:crypto';
import type { Client, Entity, Event, Membership, Problem, Space } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { buildSnapshot, openServer, type TestServer, violations } from '@troupe/testing';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// People, their programs, the spaces they are in and what they have read; with real keys and real tokens. Long because one server with its
// keys and tokens serves all of it.

type Headers = Record<string, string>;
type Page<Item> = { data: Item[]; nextCursor: string | null };
let server: TestServer;
let project: string;
let key: Headers;
let theirKey: Headers;
/** People by their tokens. */
let ada: Headers;
let bob: Headers;
let eve: Headers;
let adaId: string;
let bobId: string;
let agent: { id: string; entityId: string };

async function ask<Body = Problem>(headers: Headers, method: string, path: string, body?: object) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}

async function done<Body>(headers: Headers, method: string, path: string, body?: object): Promise<Body> {
  const answer = await ask<Body>(headers, method, path, body);
  expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

async function refused(headers: Headers, method: string, path: string, body?: object) {
  const { status, body: problem } = await ask<Problem>(headers, method, path, body);
  return [status, problem?.code];
}

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), mode: 'closed' });
  const { access, db } = server;
  const secret = randomBytes(32).toString('base64');
  const found = async (name: string) => {
    const id = newId();
    await db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [id, name]);
    const owner = { project: id, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
    const keyOf = async (kind: 'secret' | 'public') =>
      (await access.keys.create(owner, { name: kind, kind, scopes: [], expiresAt: null })).key;
    return { id, owner, keyOf, secretKey: { authorization: `Bearer ${await keyOf('secret')}` } };
  };
  const ours = await found('ours');
  project = ours.id;
  key = ours.secretKey;
  theirKey = (await found('theirs')).secretKey;
  await access.secrets.put(ours.owner, 'TOKENS', secret);
  const rules = { issuer: null, jwksUrl: null, secretName: 'TOKENS', claim: 'sub' };
  await access.projects.update(ours.owner, { tokens: { ...rules, algorithms: ['HS256'], audience: 'us' } });
  const publicKey = await ours.keyOf('public');
  const as = async (person: string) => {
    const token = new SignJWT({ sub: person, aud: 'us' }).setProtectedHeader({ alg: 'HS256' });
    const signed = await token.setExpirationTime('1 hour').sign(Buffer.from(secret));
    return { 'troupe-key': publicKey, authorization: `Bearer ${signed}` };
  };
  [ada, bob, eve] = [await as('ada'), await as('bob'), await as('eve')];
  adaId = (await done<Entity>(ada, 'GET', '/v1/me')).id;
  bobId = (await done<Entity>(bob, 'GET', '/v1/me')).id;
  const { id } = await done<{ id: string }>(key, 'POST', '/v1/agents', { name: 'Kay' });
  const { data } = await done<Page<Entity>>(key, 'GET', `/v1/entities?agentId=${id}`);
  agent = { id, entityId: data[0]!.id };
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

/** A space of Ada, its admin, and Bob. */
const open = (more: object = {}) =>
  done<Space>(key, 'POST', '/v1/spaces', {
    members: [{ user: 'ada', role: 'admin' }, { entityId: bobId }],
    ...more,
  });

async function post(space: string, sender: string, text: string, starts?: { snapshot: string }) {
  const item = {
    project,
    space,
    message: { id: newId(), role: 'user', content: { text }, sender, metadata: {} },
    mentions: [],
    starts: starts !== undefined,
    agents: starts
      ? [{ entity: agent.entityId, agent: agent.id, snapshot: starts.snapshot, wallMs: 60_000 }]
      : [],
  };
  const { rows } = await server.db.pool.query('select troupe.post_to_space($1::jsonb) as answer', [
    JSON.stringify(item),
  ]);
  expect(rows[0].answer.ok, JSON.stringify(rows[0].answer)).toBe(true);
  return { id: item.message.id, run: rows[0].answer.runs[0]?.id as string | undefined };
}

const events = async (space: string, types = 'space.*') => {
  const { data } = await done<{ data: Event[] }>(key, 'GET', `/v1/spaces/${space}/events?types=${types}`);
  return data.map(({ type, data: told }) => [type, told] as const);
};
const stored = async (table: string) =>
  (await server.db.pool.query(`select * from troupe.${table} order by 1, 2`)).rows;

test('a person is registered, found, changed and, while they own nothing, deleted', async () => {
  const made = await done<Entity>(key, 'POST', '/v1/entities', {
    externalId: 'gil',
    displayName: ' Gil ',
    metadata: { team: 'north' },
  });
  expect(made).toMatchObject({ type: 'human', externalId: 'gil', displayName: 'Gil', agentId: null });
  expect(await refused(key, 'POST', '/v1/entities', { externalId: 'gil' })).toEqual([
    409,
    'external_id_taken',
  ]);
  expect(await refused(key, 'POST', '/v1/entities', { externalId: 'troupe:x' })).toEqual([
    422,
    'invalid_request',
  ]);
  // Elsewhere the name is free, and ours is not to be seen.
  await done(theirKey, 'POST', '/v1/entities', { externalId: 'gil' });
  expect(await refused(theirKey, 'GET', `/v1/entities/${made.id}`)).toEqual([404, 'not_found']);
  expect(await refused(theirKey, 'DELETE', `/v1/entities/${made.id}`)).toEqual([404, 'not_found']);

  const at = `/v1/entities/${made.id}`;
  expect(await done(key, 'PATCH', at, { displayName: null })).toMatchObject({
    displayName: null,
    metadata: { team: 'north' },
  });
  expect(await done(key, 'PATCH', at, { metadata: null })).toMatchObject({ metadata: {} });
  const found = await done<Page<Entity>>(key, 'GET', '/v1/entities?externalId=gil');
  expect(found.data.map(({ id }) => id)).toEqual([made.id]);

  await done(key, 'DELETE', at);
  expect(await refused(key, 'GET', at)).toEqual([404, 'not_found']);
});

test('the entity of an agent has the name of the agent and cannot be deleted', async () => {
  const at = `/v1/entities/${agent.entityId}`;
  expect(await done(key, 'GET', at)).toMatchObject({ type: 'agent', displayName: 'Kay', agentId: agent.id });
  expect(await refused(key, 'PATCH', at, { displayName: 'Joe' })).toEqual([409, 'entity_of_agent']);
  expect(await done(key, 'PATCH', at, { metadata: { a: 1 } })).toMatchObject({ metadata: { a: 1 } });
  expect(await refused(key, 'DELETE', at)).toEqual([409, 'entity_of_agent']);
  const pages: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await done<Page<Entity>>(key, 'GET', `/v1/entities?limit=1${cursor}`);
    pages.push(...page.data.map(({ id }) => id));
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  expect(pages).toEqual(pages.toSorted().reverse());
  expect(pages).toEqual(expect.arrayContaining([adaId, bobId, agent.entityId]));
  const agents = await done<Page<Entity>>(key, 'GET', '/v1/entities?type=agent');
  expect(agents.data.map(({ id }) => id)).toEqual([agent.entityId]);
});

test('whoever is in a space, said something, has a session or a memory is not deleted', async () => {
  const person = async (user: string) => {
    const space = await done<Space>(key, 'POST', '/v1/spaces', { members: [{ user }] });
    const { data } = await done<Page<Membership>>(key, 'GET', `/v1/spaces/${space.id}/members`);
    return { space: space.id, id: data[0]!.entityId };
  };
  const remove = ({ id }: { id: string }) => refused(key, 'DELETE', `/v1/entities/${id}`);
  const inUse = [409, 'entity_in_use'];

  const speaker = await person('speaker');
  expect(await remove(speaker)).toEqual(inUse);
  await post(speaker.space, speaker.id, 'hello');
  await done(key, 'DELETE', `/v1/spaces/${speaker.space}/members/${speaker.id}`);
  expect(await remove(speaker)).toEqual(inUse);
  await done(key, 'DELETE', `/v1/spaces/${speaker.space}`);
  expect((await remove(speaker))[0]).toBe(204);

  const session = await done<{ id: string; entityId: string }>(
    key,
    'POST',
    `/v1/agents/${agent.id}/sessions`,
    { user: 'talker' },
  );
  expect(await remove({ id: session.entityId })).toEqual(inUse);
  await done(key, 'DELETE', `/v1/agents/${agent.id}/sessions/${session.id}`);
  await done(key, 'PUT', `/v1/agents/${agent.id}/memories/k?user=talker`, { value: 'x' });
  expect(await remove({ id: session.entityId })).toEqual(inUse);
  await done(key, 'DELETE', `/v1/agents/${agent.id}/memories/k?user=talker`);
  expect((await remove({ id: session.entityId }))[0]).toBe(204);
});

test('a token names who asks; a key names nobody', async () => {
  expect(await done(ada, 'GET', '/v1/me')).toMatchObject({ externalId: 'ada', type: 'human' });
  expect(await refused(key, 'GET', '/v1/me')).toEqual([404, 'nobody_named']);
  expect(await refused(ada, 'GET', '/v1/entities')).toEqual([403, 'forbidden']);
  expect(await refused(ada, 'DELETE', `/v1/entities/${adaId}`)).toEqual([403, 'forbidden']);
});

test('programs of people: registered again under the same key, seen, forgotten, and nobody else’s', async () => {
  const about = { clientKey: 'phone', clientType: 'mobile', capabilities: { tools: ['map'] } };
  const phone = await done<Client>(ada, 'POST', '/v1/clients', about);
  expect(phone).toMatchObject({ ...about, entityId: adaId, online: true, displayName: null });
  const again = await done<Client>(ada, 'POST', '/v1/clients', { clientKey: 'phone', displayName: 'Mine' });
  expect(again).toMatchObject({ id: phone.id, displayName: 'Mine', clientType: null, capabilities: {} });

  expect(await refused(bob, 'POST', '/v1/clients', { clientKey: 'phone' })).toEqual([
    409,
    'client_key_taken',
  ]);
  expect(await refused(bob, 'POST', '/v1/clients', { clientKey: 'x', entityId: adaId })).toEqual([
    403,
    'forbidden',
  ]);
  expect(await refused(key, 'POST', '/v1/clients', { clientKey: 'x' })).toEqual([422, 'invalid_request']);
  for (const entityId of [newId(), agent.entityId])
    expect(await refused(key, 'POST', '/v1/clients', { clientKey: 'x', entityId })).toEqual([
      422,
      'entity_not_found',
    ]);
  expect(await refused(theirKey, 'POST', '/v1/clients', { clientKey: 'x', entityId: adaId })).toEqual([
    422,
    'entity_not_found',
  ]);

  await server.db.pool.query(
    `update troupe.clients set last_seen_at = now() - interval '61 seconds' where id = $1`,
    [phone.id],
  );
  const list = async (headers: Headers, query = '') =>
    (await done<Page<Client>>(headers, 'GET', `/v1/clients${query}`)).data.map(({ id, online }) => [
      id,
      online,
    ]);
  expect(await list(ada)).toEqual([[phone.id, false]]);
  expect(await list(bob)).toEqual([]);
  expect(await list(bob, `?entityId=${adaId}`)).toEqual([]);
  expect(await list(theirKey, `?entityId=${adaId}`)).toEqual([]);
  expect(await list(key, `?entityId=${adaId}`)).toEqual([[phone.id, false]]);
  for (const headers of [bob, theirKey]) {
    expect(await refused(headers, 'POST', `/v1/clients/${phone.id}/seen`)).toEqual([404, 'not_found']);
    expect(await refused(headers, 'DELETE', `/v1/clients/${phone.id}`)).toEqual([404, 'not_found']);
  }
  expect(await done(ada, 'POST', `/v1/clients/${phone.id}/seen`)).toMatchObject({ online: true });
  // A key may hand a program over.
  const moved = await done<Client>(key, 'POST', '/v1/clients', { clientKey: 'phone', entityId: bobId });
  expect([moved.id, moved.entityId]).toEqual([phone.id, bobId]);
  expect(await list(ada)).toEqual([]);
  await done(bob, 'DELETE', `/v1/clients/${phone.id}`);
  expect(await list(key)).toEqual([]);
});

test('a space is made with its members, and tells of them', async () => {
  const space = await open({
    name: 'Kitchen',
    limits: { chainDepth: 3 },
    members: [
      { user: 'ada', role: 'admin' },
      { agentId: agent.id, ordering: 'serial' },
      { user: 'newcomer' },
      { entityId: bobId },
      // Named twice: a member as named last.
      { entityId: adaId, role: 'member' },
    ],
  });
  expect(space).toMatchObject({
    name: 'Kitchen',
    policy: 'all',
    limits: { chainDepth: 3, agentRuns: 50 },
    memberCount: 4,
    lastSequence: 0,
    membership: null,
  });
  const at = `/v1/spaces/${space.id}`;
  const { data } = await done<Page<Membership>>(bob, 'GET', `${at}/members`);
  expect(data.map(({ name, type, role, ordering }) => [name, type, role, ordering])).toEqual([
    ['ada', 'human', 'member', 'parallel'],
    ['Kay', 'agent', 'member', 'serial'],
    ['newcomer', 'human', 'member', 'parallel'],
    ['bob', 'human', 'member', 'parallel'],
  ]);
  expect(data[1]).toMatchObject({ agentId: agent.id, entityId: agent.entityId, spaceId: space.id });
  const first = await done<Page<Membership>>(bob, 'GET', `${at}/members?limit=3`);
  const second = await done<Page<Membership>>(bob, 'GET', `${at}/members?limit=3&cursor=${first.nextCursor}`);
  expect([...first.data, ...second.data]).toEqual(data);
  expect(second.nextCursor).toBe(null);
  const people = await done<Page<Membership>>(bob, 'GET', `${at}/members?type=agent`);
  expect(people.data.map(({ name }) => name)).toEqual(['Kay']);
  expect((await events(space.id)).map(([type, told]) => [type, told.name, told.type, told.role])).toEqual(
    data.map(({ name, type, role }) => ['space.member.joined', name, type, role]),
  );
});

test('a space with somebody who is not there is not made, and nobody is registered for it', async () => {
  const before = [await stored('spaces'), await stored('entities'), await stored('threads')];
  const others = await done<{ id: string }>(theirKey, 'POST', '/v1/agents', { name: 'Theirs' });
  const with_ = (member: object) =>
    refused(key, 'POST', '/v1/spaces', { members: [{ user: 'nobody yet' }, member] });
  expect(await with_({ entityId: newId() })).toEqual([422, 'entity_not_found']);
  expect(await with_({ agentId: newId() })).toEqual([422, 'agent_not_found']);
  expect(await with_({ agentId: others.id })).toEqual([422, 'agent_not_found']);
  expect(await with_({})).toEqual([422, 'invalid_request']);
  expect(await with_({ user: 'a', agentId: agent.id })).toEqual([422, 'invalid_request']);
  expect(await refused(ada, 'POST', '/v1/spaces', {})).toEqual([403, 'forbidden']);
  expect([
    await stored('spaces'),
    (await stored('entities')).filter(({ project_id }) => project_id === project),
    await stored('threads'),
  ]).toEqual([before[0], before[1]!.filter(({ project_id }) => project_id === project), before[2]]);
});

test('people see the spaces they are in, and no others', async () => {
  const both = await open({ name: 'both' });
  const alone = await open({ name: 'alone', members: [{ user: 'ada' }] });
  const names = async (headers: Headers, query = '') =>
    (await done<Page<Space>>(headers, 'GET', `/v1/spaces?limit=200${query}`)).data
      .map(({ name }) => name)
      .filter((name) => name === 'both' || name === 'alone');
  expect(await names(ada)).toEqual(['alone', 'both']);
  expect(await names(bob)).toEqual(['both']);
  expect(await names(ada, `&entityId=${bobId}`)).toEqual(['both']);
  expect(await names(bob, `&entityId=${adaId}`)).toEqual(['both']);
  expect(await names(eve)).toEqual([]);
  expect(await names(key, `&entityId=${adaId}`)).toEqual(['alone', 'both']);
  expect(await names(theirKey, `&entityId=${adaId}`)).toEqual([]);
  expect(await done(ada, 'GET', `/v1/spaces/${both.id}`)).toMatchObject({
    membership: { role: 'admin', lastSeenMessageId: null, unread: 0 },
  });
  const first = await done<Page<Space>>(ada, 'GET', '/v1/spaces?limit=1');
  const second = await done<Page<Space>>(ada, 'GET', `/v1/spaces?limit=1&cursor=${first.nextCursor}`);
  expect([first.data[0]!.id, second.data[0]!.id]).toEqual([alone.id, both.id]);
});

test('to a stranger a space is not there, whatever they try', async () => {
  const { id } = await open();
  const { id: message } = await post(id, adaId, 'private');
  const before = [await stored('memberships'), await stored('events')];
  const tries: [string, string, object?][] = [
    ['GET', ''],
    ['PATCH', '', { name: 'mine' }],
    ['GET', '/members'],
    ['POST', '/members', { user: 'eve', role: 'admin' }],
    ['DELETE', `/members/${adaId}`],
    ['POST', '/read', { messageId: message }],
    ['POST', '/typing', {}],
    ['GET', '/events'],
  ];
  for (const [method, path, body] of tries) {
    const what = `${method} ${path}`;
    expect([what, await refused(eve, method, `/v1/spaces/${id}${path}`, body)]).toEqual([
      what,
      [404, 'not_found'],
    ]);
    const named = path === '/read' || path === '/typing' ? { ...body, entityId: adaId } : body;
    expect([what, await refused(theirKey, method, `/v1/spaces/${id}${path}`, named)]).toEqual([
      what,
      [404, 'not_found'],
    ]);
  }
  const live = await fetch(`${server.url}/v1/spaces/${id}/events`, {
    headers: { ...eve, accept: 'text/event-stream' },
  });
  expect([live.status, ((await live.json()) as Problem).code]).toEqual([404, 'not_found']);
  expect([await stored('memberships'), await stored('events')]).toEqual(before);
});

test('admins change a space and its members; everybody may leave; others may not', async () => {
  const { id } = await open({ name: 'old', description: 'of before', metadata: { a: 1 } });
  const at = `/v1/spaces/${id}`;
  expect(await refused(bob, 'PATCH', at, { name: 'x' })).toEqual([403, 'not_an_admin']);
  expect(await refused(bob, 'POST', `${at}/members`, { user: 'eve' })).toEqual([403, 'not_an_admin']);
  expect(await refused(bob, 'POST', `${at}/members`, { user: 'bob', role: 'admin' })).toEqual([
    403,
    'not_an_admin',
  ]);
  expect(await refused(bob, 'DELETE', `${at}/members/${adaId}`)).toEqual([403, 'not_an_admin']);
  expect(await refused(ada, 'DELETE', at)).toEqual([403, 'forbidden']);
  expect(await done(ada, 'GET', at)).toMatchObject({ name: 'old', memberCount: 2 });

  const changed = await done<Space>(ada, 'PATCH', at, {
    name: 'new',
    description: null,
    limits: { agentRuns: 0 },
    policy: 'mentions',
  });
  expect(changed).toMatchObject({
    name: 'new',
    description: null,
    policy: 'mentions',
    limits: { chainDepth: 8, agentRuns: 0 },
    metadata: { a: 1 },
  });
  // What is as it was is not told.
  await done(ada, 'PATCH', at, { name: 'new' });
  expect((await events(id, 'space.updated')).map(([, told]) => told)).toEqual([
    { name: 'new', policy: 'mentions', fields: ['description', 'limits', 'name', 'policy'] },
  ]);

  // A member already: another role, and nobody is told of joining.
  const promoted = await done<Membership>(ada, 'POST', `${at}/members`, { entityId: bobId, role: 'admin' });
  expect(promoted).toMatchObject({ entityId: bobId, role: 'admin' });
  expect(await refused(ada, 'POST', `${at}/members`, { entityId: newId() })).toEqual([
    422,
    'entity_not_found',
  ]);
  expect(await refused(ada, 'POST', `${at}/members`, { agentId: newId() })).toEqual([422, 'agent_not_found']);
  await done(bob, 'POST', `${at}/members`, { agentId: agent.id, ordering: 'serial' });
  await done(bob, 'DELETE', `${at}/members/${agent.entityId}`);
  expect(await refused(bob, 'DELETE', `${at}/members/${agent.entityId}`)).toEqual([404, 'not_found']);
  await done(bob, 'DELETE', `${at}/members/${bobId}`);
  expect(await refused(bob, 'GET', at)).toEqual([404, 'not_found']);
  expect((await events(id, 'space.member.*')).map(([type, { name }]) => [type, name])).toEqual([
    ['space.member.joined', 'ada'],
    ['space.member.joined', 'bob'],
    ['space.member.joined', 'Kay'],
    ['space.member.left', 'Kay'],
    ['space.member.left', 'bob'],
  ]);
});

test('who joins later begins where the space is then', async () => {
  const { id } = await open({ members: [{ user: 'ada', role: 'admin' }] });
  await post(id, adaId, 'one');
  await post(id, adaId, 'two');
  await done(key, 'POST', `/v1/spaces/${id}/members`, { user: 'bob' });
  await done(key, 'POST', `/v1/spaces/${id}/members`, { agentId: agent.id });
  const { rows } = await server.db.pool.query(
    'select joined_seq, last_processed_seq from troupe.memberships where space_id = $1 and entity_id in ($2, $3)',
    [id, bobId, agent.entityId],
  );
  expect(rows).toEqual(Array(2).fill({ joined_seq: 2, last_processed_seq: 2 }));
  const unread = async () => (await done<Space>(bob, 'GET', `/v1/spaces/${id}`)).membership?.unread;
  expect(await unread()).toBe(0);
  await post(id, adaId, 'three');
  expect(await unread()).toBe(1);
  // Another role changes nothing of that.
  await done(key, 'POST', `/v1/spaces/${id}/members`, { user: 'bob', role: 'admin' });
  expect(await unread()).toBe(1);
});

test('a read marker goes forwards only, and tells when it does', async () => {
  const { id } = await open();
  const at = `/v1/spaces/${id}/read`;
  const [one, two, three] = [
    await post(id, adaId, 'one'),
    await post(id, adaId, 'two'),
    await post(id, adaId, 'three'),
  ];
  const unread = async (who: Headers) =>
    (await done<Space>(who, 'GET', `/v1/spaces/${id}`)).membership?.unread;
  expect([await unread(ada), await unread(bob)]).toEqual([0, 3]);
  expect(await done(bob, 'POST', at, { messageId: two.id })).toEqual({
    lastSeenMessageId: two.id,
    unread: 1,
  });
  expect(await done(bob, 'POST', at, { messageId: one.id })).toEqual({
    lastSeenMessageId: two.id,
    unread: 1,
  });
  await done(bob, 'POST', at, { messageId: two.id });
  expect(await events(id, 'space.read')).toEqual([
    ['space.read', { entityId: bobId, messageId: two.id, sequence: 2 }],
  ]);
  // A key says for whom.
  expect(await refused(key, 'POST', at, { messageId: three.id })).toEqual([422, 'sender_missing']);
  expect(await done(key, 'POST', at, { messageId: three.id, entityId: bobId })).toEqual({
    lastSeenMessageId: three.id,
    unread: 0,
  });
  expect(await unread(bob)).toBe(0);
  // What somebody says themselves they have read.
  await post(id, bobId, 'four');
  expect([await unread(ada), await unread(bob)]).toEqual([1, 0]);

  expect(await refused(bob, 'POST', at, { messageId: one.id, entityId: adaId })).toEqual([403, 'forbidden']);
  expect(await refused(bob, 'POST', at, { messageId: newId() })).toEqual([404, 'message_not_found']);
  const elsewhere = await post((await open()).id, adaId, 'elsewhere');
  expect(await refused(bob, 'POST', at, { messageId: elsewhere.id })).toEqual([404, 'message_not_found']);
  const member = { messageId: one.id, entityId: agent.entityId };
  expect(await refused(key, 'POST', at, member)).toEqual([409, 'not_a_member']);
  await done(key, 'POST', `/v1/spaces/${id}/members`, { agentId: agent.id });
  expect(await refused(key, 'POST', at, member)).toEqual([409, 'not_a_person']);
  expect(await refused(key, 'POST', `/v1/spaces/${id}/typing`, { entityId: agent.entityId })).toEqual([
    409,
    'not_a_person',
  ]);
  expect(await refused(key, 'POST', `/v1/spaces/${id}/typing`, {})).toEqual([422, 'sender_missing']);
});

test('many who join, leave and read at once leave one order without gaps', async () => {
  const { id } = await open();
  const messages = [];
  for (let n = 0; n < 5; n++) messages.push(await post(id, adaId, `${n}`));
  await Promise.all([
    ...Array.from({ length: 20 }, (_, n) =>
      done(key, 'POST', `/v1/spaces/${id}/members`, { user: `guest ${n % 10}` }),
    ),
    ...messages.map((message) => done(bob, 'POST', `/v1/spaces/${id}/read`, { messageId: message.id })),
  ]);
  const told = await events(id, 'space.member.joined');
  expect(new Set(told.map(([, { name }]) => name)).size).toBe(told.length);
  expect(told).toHaveLength(12);
  const read = (await events(id, 'space.read')).map(([, { sequence }]) => sequence as number);
  expect(read).toEqual([...read].toSorted((one, two) => one - two));
  expect(read.at(-1)).toBe(5);
});

test('a deleted space takes all that was said with it, and stops its runs', async () => {
  const { id } = await open({ name: 'gone' });
  const kept = await open();
  await done(key, 'POST', `/v1/spaces/${id}/members`, { agentId: agent.id });
  const ids = { project, agent: agent.id, entity: agent.entityId };
  const snapshot = await buildSnapshot(server.db, ids);
  const { run } = await post(id, adaId, 'go', { snapshot });
  await server.db.pool.query(
    `insert into troupe.run_shown (run_id, space_id, seqs) values ($1, $2, '{[1,2)}')`,
    [run, id],
  );
  await post(kept.id, adaId, 'stays');
  expect(await refused(theirKey, 'DELETE', `/v1/spaces/${id}`)).toEqual([404, 'not_found']);
  await done(key, 'DELETE', `/v1/spaces/${id}`);
  expect(await refused(key, 'GET', `/v1/spaces/${id}`)).toEqual([404, 'not_found']);
  expect(await refused(key, 'DELETE', `/v1/spaces/${id}`)).toEqual([404, 'not_found']);
  for (const [table, column] of [
    ['threads', 'id'],
    ['spaces', 'id'],
    ['messages', 'thread_id'],
    ['events', 'thread_id'],
    ['memberships', 'space_id'],
    ['run_shown', 'space_id'],
  ]) {
    const { rows } = await server.db.pool.query(`select from troupe.${table} where ${column} = $1`, [id]);
    expect([table, rows.length]).toEqual([table, 0]);
  }
  expect(await done(key, 'GET', `/v1/runs/${run}`)).toMatchObject({ status: 'canceled' });
  expect(await done(key, 'GET', `/v1/spaces/${kept.id}`)).toMatchObject({ lastSequence: 1 });
  const audit = await done<Page<{ target: string }>>(key, 'GET', '/v1/audit?action=space.deleted&limit=1');
  expect(audit.data[0]).toMatchObject({ target: id, data: { name: 'gone', members: 3 } });
  // A run of it that is taken up again finds no space, and that costs nothing.
  await done(key, 'POST', `/v1/runs/${run}/retry`);
  await done(key, 'POST', `/v1/runs/${run}/cancel`);
});

test('typing is told to nobody who reads a list, and stored nowhere', async () => {
  const { id } = await open();
  const before = await stored('events');
  expect((await ask(bob, 'POST', `/v1/spaces/${id}/typing`, {})).status).toBe(204);
  expect((await ask(key, 'POST', `/v1/spaces/${id}/typing`, { entityId: bobId, typing: false })).status).toBe(
    204,
  );
  expect(await refused(key, 'POST', `/v1/spaces/${id}/typing`, { entityId: newId() })).toEqual([
    409,
    'not_a_member',
  ]);
  expect(await stored('events')).toEqual(before);
});
