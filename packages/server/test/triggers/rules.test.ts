import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Delivery, Problem, Trigger, TriggerTest } from '@troupe/protocol';
import { newId, silentLogger } from '@troupe/server';
import { Engine } from '@troupe/server/parts';
import { openServer, until } from '@troupe/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { restCaptures } from '../../src/store/index.ts';
import type { Person } from '../sync/fixture.ts';
import { TriggerFixture } from './fixture.ts';

// Rules as they are written, checked, tried and switched; what they may not do; whose documents they see. Long because one office, a server
// with its engine and a receiver, serves all of it.

let fixture: TriggerFixture;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  fixture = await TriggerFixture.open();
  ada = await fixture.sync.person('ada');
  bob = await fixture.sync.person('bob');
});
beforeEach(() => fixture.web.forget());
afterAll(() => fixture.close());

/** Which tables tell of their changes. */
async function captured(): Promise<string[]> {
  const { rows } = await fixture.pool.query(
    `select tgrelid::regclass::text as name from pg_trigger where tgname like '%\\_capture' and tgenabled <> 'D' order by 1`,
  );
  return rows.map(({ name }) => name.replace('troupe.', ''));
}

test('rules are made, changed, listed and deleted; each change is a version; captures follow', async () => {
  expect(await captured()).toEqual([]);
  const made = await fixture.rule('one');
  expect(await captured()).toEqual(['sessions']);
  expect(await fixture.done('GET', `/v1/triggers/${made.id}`)).toEqual(made);
  expect(await fixture.done('GET', '/v1/triggers/ONE')).toEqual(made);
  const changed = await fixture.done<Trigger>('PATCH', '/v1/triggers/one', {
    collection: 'users/*/orch-chats/*/*',
    condition: null,
  });
  expect(changed).toMatchObject({ id: made.id, version: 2, condition: null });
  expect(await fixture.done('PATCH', '/v1/triggers/one', { condition: null })).toEqual(changed);
  expect(await captured()).toEqual(['messages', 'sub_agents', 'tasks']);
  expect((await fixture.ask('POST', '/v1/triggers', { ...definition, name: 'One' })).body).toMatchObject({
    code: 'name_taken',
  });
  await fixture.rule('two', { enabled: false });
  expect(await captured()).toEqual(['messages', 'sub_agents', 'tasks']);
  const { data, nextCursor } = await fixture.done<{ data: Trigger[]; nextCursor: string }>(
    'GET',
    '/v1/triggers?limit=1',
  );
  expect(data.map(({ name }) => name)).toEqual(['one']);
  const next = await fixture.done<{ data: Trigger[] }>('GET', `/v1/triggers?cursor=${nextCursor}`);
  expect(next.data.map(({ name }) => name)).toEqual(['two']);
  await fixture.done('PATCH', '/v1/triggers/one', { enabled: false });
  expect(await captured()).toEqual([]);
  for (const name of ['one', 'two']) await fixture.done('DELETE', `/v1/triggers/${name}`);
  expect((await fixture.ask('GET', '/v1/triggers/one')).status).toBe(404);
  const { data: log } = await fixture.done<{ data: { action: string }[] }>('GET', '/v1/audit');
  const actions = log.map(({ action }) => action).filter((action) => action.startsWith('trigger.'));
  expect(actions).toEqual([
    'trigger.deleted',
    'trigger.deleted',
    'trigger.changed',
    'trigger.created',
    'trigger.changed',
    'trigger.created',
  ]);
});

test('of two changes that were made on one version, at once or one after the other, the second is refused', async () => {
  const { name } = await fixture.rule('edited-by-two');
  const edit = (timeoutMs: number) =>
    fixture.ask('PATCH', `/v1/triggers/${name}`, { timeoutMs, baseVersion: 1 });
  const both = await Promise.all([edit(1_000), edit(2_000)]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  const kept = both.find(({ status }) => status === 200)!.body as unknown as Trigger;
  expect(both.find(({ status }) => status === 409)!.body).toMatchObject({
    code: 'version_conflict',
    issues: [{ path: 'baseVersion', message: 'is not 2' }],
  });
  expect(await edit(kept.timeoutMs)).toMatchObject({ status: 409 });
  expect(await fixture.done('GET', `/v1/triggers/${name}`)).toEqual(kept);
  await fixture.done('PATCH', `/v1/triggers/${name}`, { edge: false, baseVersion: 2 });
  await fixture.done('DELETE', `/v1/triggers/${name}`);
});

const definition = {
  name: 'x',
  collection: 'sessions',
  events: ['create'],
  action: { type: 'webhook', url: 'https://example.com/' },
};

test('what is wrong is told with its place, and nothing is stored', async () => {
  const message = { type: 'message', text: 'x' };
  const cases: [object, string, string][] = [
    [{ condition: 'event.document.titel == "x"' }, 'condition', 'no field "titel"'],
    [{ condition: 'event.document.title == 1' }, 'condition', 'never equal'],
    [{ condition: 'event.document.title' }, 'condition', 'must come to true or false'],
    [{ condition: '((' }, 'condition', 'line 1'],
    [{ collection: 'users/*/tasks' }, 'collection', 'no path of a collection'],
    [{ collection: '../etc' }, 'collection', 'no path of a collection'],
    [{ collection: 'spaces/**' }, 'collection', 'no path'],
    [{ events: [] }, 'events', 'at least'],
    [{ events: ['create', 'create'] }, 'events', 'twice'],
    [{ events: ['remove'] }, 'events.0', 'must be one of'],
    [{ name: 'a b' }, 'name', 'letters, digits'],
    [{ name: newId() }, 'name', 'like an id'],
    [{ action: { type: 'webhook', url: 'ftp://example.com' } }, 'action.url', 'must begin with'],
    [{ action: { type: 'webhook', url: '//example.com/x' } }, 'action.url', 'must begin with'],
    [{ action: { type: 'webhook', url: 'https://u:p@example.com/' } }, 'action.url', 'user name'],
    [
      { action: { type: 'webhook', url: 'https://example.com/', headers: { 'x y': '' } } },
      'action.headers',
      '',
    ],
    [
      { action: { type: 'webhook', url: 'https://example.com/', headers: { x: '{{document.title}}' } } },
      'action.headers.x',
      'secrets',
    ],
    [
      { action: { type: 'webhook', url: 'https://example.com/', headers: { x: 'a\nb' } } },
      'action.headers.x',
      'characters',
    ],
    [{ action: message }, 'action', 'one of them'],
    [{ action: { ...message, session: 'x' } }, 'action.session', ''],
    [{ action: { ...message, space: newId() } }, 'action.as', 'somebody'],
    [{ action: { ...message, session: newId(), as: 'ada' } }, 'action.as', 'spaces'],
    [
      { action: { ...message, session: newId(), text: '{{document.nothing}}' } },
      'action.text',
      'no "nothing"',
    ],
    [
      { action: { type: 'run', agent: 'a', instruction: '{{secrets.X}}' } },
      'action.instruction',
      'known are',
    ],
    [{ timeoutMs: 0 }, 'timeoutMs', ''],
    [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts', ''],
    [{ more: 1 }, '', 'not known'],
  ];
  for (const [given, path, text] of cases) {
    const { status, body } = await fixture.ask('POST', '/v1/triggers', { ...definition, ...given });
    expect([given, status]).toEqual([given, 422]);
    expect([
      given,
      body.issues!.some((issue) => issue.path.startsWith(path) && issue.message.includes(text)),
      body.issues,
    ]).toEqual([given, true, body.issues]);
  }
  const both = await fixture.ask('POST', '/v1/triggers/apply', {
    triggers: [
      definition,
      { triggerId: 'y', collection: 'nowhere', events: ['create'], url: '/x', timeout: 'soon' },
    ],
  });
  expect(both.body).toMatchObject({ issues: [{ path: 'triggers.1.timeout' }] });
  expect(await fixture.done('GET', '/v1/triggers')).toEqual({ data: [], nextCursor: null });
  expect(await captured()).toEqual([]);
  // A test finds what is wrong instead of refusing it.
  const tested = await fixture.done<TriggerTest>('POST', '/v1/triggers/test', {
    trigger: { ...definition, condition: 'event.document.titel' },
  });
  expect(tested).toMatchObject({ findings: [{ path: 'condition' }], results: [] });
  const headers = { authorization: 'Bearer {{secrets.TOKEN}}' };
  const { findings } = await fixture.done<TriggerTest>('POST', '/v1/triggers/test', {
    trigger: {
      ...definition,
      action: { type: 'webhook', url: 'https://example.com', headers, secrets: ['SIGN'] },
    },
  });
  expect(findings.map(({ message }) => message.match(/"(\w+)"/)?.[1])).toEqual(['SIGN', 'TOKEN']);
});

test('a file makes rules what it says: unchanged ones keep their version, others are pruned where that is asked for', async () => {
  const apply = (triggers: object[], prune = false) =>
    fixture.done<{ data: { name: string; outcome: string; version: number | null }[] }>(
      'POST',
      '/v1/triggers/apply',
      { triggers, prune },
    );
  const two = { ...definition, name: 'two', condition: 'event.document.title == "x"' };
  expect((await apply([definition, two])).data).toEqual([
    { name: 'x', outcome: 'created', version: 1, findings: [] },
    { name: 'two', outcome: 'created', version: 1, findings: [] },
  ]);
  expect(
    (await apply([definition, { ...two, edge: false }])).data.map(({ outcome, version }) => [
      outcome,
      version,
    ]),
  ).toEqual([
    ['unchanged', 1],
    ['updated', 2],
  ]);
  const twice = await fixture.ask('POST', '/v1/triggers/apply', {
    triggers: [definition, { ...definition, name: 'X' }],
  });
  expect(twice.body).toMatchObject({ code: 'trigger_invalid', issues: [{ path: 'triggers.1.name' }] });
  expect((await apply([two], true)).data).toEqual([
    { name: 'x', outcome: 'deleted', version: null, findings: [] },
    { name: 'two', outcome: 'updated', version: 3, findings: [] },
  ]);
  expect((await apply([], true)).data).toEqual([
    { name: 'two', outcome: 'deleted', version: null, findings: [] },
  ]);
});

test('rules that are saved and deleted at once leave on what is wanted and nothing else', async () => {
  const collections = ['sessions', 'spaces', 'spaces/*/memberships', 'runs', 'sessions'];
  const make = (collection: string, at: number) =>
    fixture.rule(`at-once-${at}`, { collection, condition: null });
  await Promise.all(collections.map(make));
  expect(await captured()).toEqual(['memberships', 'runs', 'sessions', 'spaces']);
  await Promise.all([
    ...[0, 1, 2].map((at) => fixture.done('DELETE', `/v1/triggers/at-once-${at}`)),
    make('users/*/orch-chats/*/tasks', 5),
  ]);
  // What cannot be turned off at once is turned off later.
  await until('off', async () => {
    await restCaptures(fixture.sync.server.db);
    return (await captured()).length === 3;
  });
  expect(await captured()).toEqual(['runs', 'sessions', 'tasks']);
  await fixture.done('POST', '/v1/triggers/apply', { triggers: [], prune: true });
  await until('all off', async () => {
    await restCaptures(fixture.sync.server.db);
    return (await captured()).length === 0;
  });
});

test('a test says for each of the newest documents whether it matches, and why not; of every collection', async () => {
  const [one, two] = [await fixture.sync.session(ada, 'tried'), await fixture.sync.session(ada, 'other')];
  await fixture.sync.say(ada, one, 'hello');
  await fixture.sync.space(ada, bob);
  await fixture.sync.task(ada, one);
  const tried = (collection: string, condition: string | null) =>
    fixture.done<TriggerTest>('POST', '/v1/triggers/test', {
      trigger: { ...definition, collection, condition },
      limit: 2,
    });
  const { findings, results } = await tried('sessions', `event.document.title == 'tried'`);
  expect(findings).toEqual([]);
  expect(results).toEqual([
    {
      path: `sessions/${two}`,
      documentId: two,
      event: 'create',
      matches: false,
      reason: 'the condition does not hold',
    },
    {
      path: `sessions/${one}`,
      documentId: one,
      event: 'create',
      matches: true,
      reason: 'the condition holds',
    },
  ]);
  const [missing] = (await tried('users/*/orch-chats/*/tasks', `event.document.result == 'x'`)).results;
  expect(missing).toMatchObject({ matches: false, reason: expect.stringContaining('cannot be evaluated') });
  const chat = 'users/*/orch-chats/*';
  for (const collection of [
    `${chat}/messages`,
    `${chat}/tasks`,
    `${chat}/sub-agents`,
    `${chat}/sub-agents/*/messages`,
    `${chat}/sub-agents/*/tool-calls`,
    'spaces',
    'spaces/*/memberships',
    'runs',
  ]) {
    const { results } = await tried(collection, null);
    expect([collection, results.length > 0 && results.every(({ matches }) => matches)]).toEqual([
      collection,
      true,
    ]);
  }
  const others = await tried(`users/${bob.id}/orch-chats/*/messages`, null);
  expect(others.results.every(({ matches, reason }) => !matches && reason.includes('path'))).toBe(true);
  await fixture.done('POST', '/v1/triggers', { ...definition, name: 'saved' });
  expect(
    (await fixture.done<TriggerTest>('POST', '/v1/triggers/saved/test', {})).results.length,
  ).toBeGreaterThan(1);
  await fixture.done('DELETE', '/v1/triggers/saved');
  expect(await fixture.count('trigger_deliveries')).toBe(0);
});

test('what no rule is about writes no change; what was changed before a rule was is not of it', async () => {
  const idle = await TriggerFixture.open({ triggers: false });
  const person = await idle.sync.person('ada');
  await idle.rule('spaces-only', { collection: 'spaces', condition: null });
  const session = await idle.sync.session(person, 'unheard');
  const { run } = await idle.sync.say(person, session, 'hello');
  await idle.sync.server.kernel.ended(run.id);
  expect(await idle.count('changes')).toBe(0);

  // A transaction that is given up leaves neither; one that commits leaves both.
  await idle.rule('versions', { condition: `event.document.title == 'first'`, events: ['create', 'update'] });
  const client = await idle.pool.connect();
  await client.query('begin');
  await client.query(`update troupe.sessions set title = 'first' where id = $1`, [session]);
  expect((await client.query('select count(*) as n from troupe.changes')).rows[0].n).toBe(1);
  await client.query('rollback');
  client.release();
  expect(await idle.count('changes')).toBe(0);
  await idle.retitle(person, session, 'first');
  await idle.retitle(person, session, 'second');
  expect(await idle.count('changes')).toBe(2);
  // From here on the rule says something else, to somebody else; nobody has looked at the changes yet.
  await idle.done('PATCH', '/v1/triggers/versions', {
    condition: `event.document.title == 'second'`,
    action: { type: 'webhook', url: idle.hook('/second') },
  });
  const engine = new Engine({
    ...engineOf(idle),
    logger: silentLogger,
  });
  engine.soon();
  const one = await idle.ended('versions', 'delivered');
  expect(one).toMatchObject({ version: 1, document: { title: 'first' } });
  expect(idle.web.heard.map(({ url }) => url)).toEqual(['/versions']);
  await idle.retitle(person, session, 'first');
  await idle.retitle(person, session, 'second');
  await until('the new version', async () => {
    engine.soon();
    return (await idle.deliveries('versions', '&status=delivered')).length === 2;
  });
  expect(idle.web.heard.map(({ url }) => url)).toEqual(['/versions', '/second']);
  await engine.close();

  // Nobody polls: whoever writes says so.
  const { kernel } = idle.sync.server;
  await idle.rule('heard', {
    collection: 'users/*/orch-chats/*/messages',
    condition: `event.document.role == 'assistant'`,
  });
  const hearing = new Engine({
    ...engineOf(idle),
    logger: silentLogger,
    pollMs: 600_000,
    onWritten: (listener) => kernel.onWritten(listener),
  });
  hearing.start();
  await idle.sync.say(person, session, 'hello');
  await idle.ended('heard', 'delivered');
  await hearing.close();
  await idle.close();
});

function engineOf({ sync: { server }, web }: TriggerFixture) {
  return {
    db: server.db,
    outgoing: {
      request: async ({ url, body }: { url: string; body?: string | Uint8Array }) => {
        const response = await fetch(url, { method: 'POST', body: String(body) });
        return {
          url,
          status: response.status,
          headers: response.headers,
          body: new Uint8Array(),
          cut: false,
        };
      },
    },
    secrets: { reveal: async () => null },
    ownKeys: () => [],
    origin: () => `http://127.0.0.1:${web.port}`,
    acts: { db: server.db, kernel: server.kernel },
  };
}

test('a message reaches its own user only, unless the rule says otherwise; a rule over one user sees no other', async () => {
  const session = await fixture.sync.session(bob, 'of bob');
  const own = await fixture.sync.session(ada, 'of ada');
  const say = (name: string, action: object, given = {}) =>
    fixture.rule(name, {
      condition: `event.document.title == 'secret plan'`,
      action: { type: 'message', text: 'New: {{document.title}} by {{document.userId}}', ...action },
      ...given,
    });
  await say('to-bob', { session });
  await say('to-bob-anyway', { session, crossUser: true });
  await say('to-ada', { session: own });
  await say('to-nobody', { session: '{{document.agentId}}' });
  const space = await fixture.sync.space(ada, bob);
  await say('to-space', { space, as: 'ada' });
  await say('to-space-anyway', { space, as: bob.id, crossUser: true });
  await fixture.rule('of-bob', {
    collection: `users/${bob.id}/orch-chats/*/messages`,
    condition: `event.document.role == 'user'`,
  });
  const document = await fixture.sync.session(ada, 'secret plan');
  for (const name of ['to-bob', 'to-space'])
    expect(await fixture.ended(name, 'dead')).toMatchObject({ attempts: 1, error: { code: 'other_user' } });
  expect(await fixture.ended('to-nobody', 'dead')).toMatchObject({ error: { code: 'chat_not_found' } });
  const { result } = await fixture.ended('to-ada', 'delivered');
  await fixture.ended('to-bob-anyway', 'delivered');
  await fixture.ended('to-space-anyway', 'delivered');
  const texts = async (person: Person, of: string) =>
    (
      await fixture.sync.done<{ data: { role: string; content: { text: string }; metadata: object }[] }>(
        person.headers,
        'GET',
        `${fixture.sync.sessions}/${of}/messages`,
      )
    ).data.filter(({ role }) => role === 'user');
  expect(await texts(ada, own)).toMatchObject([
    { content: { text: `New: secret plan by ${ada.id}` }, metadata: { trigger: 'to-ada' } },
  ]);
  expect((await texts(ada, own))[0]!.metadata).toEqual({ trigger: 'to-ada' });
  expect(result).toEqual({ messageId: expect.any(String), runId: expect.any(String) });
  expect(await texts(bob, session)).toHaveLength(1);
  // Done again, it is found done.
  const [{ id }] = (await fixture.deliveries('to-ada')) as [Delivery];
  await fixture.done('POST', `/v1/deliveries/${id}/redeliver`);
  await until(
    'again',
    async () => (await fixture.deliveries('to-ada', '&status=delivered'))[0]?.attempts === 2,
  );
  expect(await texts(ada, own)).toHaveLength(1);

  await fixture.sync.say(ada, document, 'of ada');
  await fixture.sync.say(bob, session, 'of bob');
  await until('bob', () => fixture.heard('/of-bob').length === 2);
  expect(fixture.heard('/of-bob').map(({ body }) => JSON.parse(body).userId)).toEqual([bob.id, bob.id]);
  expect(JSON.stringify(fixture.heard('/of-bob'))).not.toContain('of ada');
  // Nobody with a token of a person reads or writes any of it.
  for (const path of ['/v1/triggers', '/v1/deliveries', `/v1/deliveries/${id}`])
    expect((await fixture.sync.ask(ada.headers, 'GET', path)).status).toBe(403);
  for (const path of ['/v1/triggers/to-ada', `/v1/deliveries/${id}`])
    expect((await fixture.sync.ask(fixture.sync.theirKey, 'GET', path)).status).toBe(404);
  await fixture.done('POST', '/v1/triggers/apply', { triggers: [], prune: true });
});

test('a circle of rules ends by its depth; who posts cannot write the depth', async () => {
  const agent = fixture.sync.agent;
  await fixture.rule('circle', {
    collection: 'users/*/orch-chats/*/messages',
    condition: `event.document.role == 'assistant'`,
    action: { type: 'message', session: '{{document.chatId}}', text: 'And again?' },
  });
  await fixture.rule('begin', {
    action: { type: 'run', agent: 'helper', instruction: 'Look at {{document.title}}.' },
  });
  const session = await fixture.sync.session(ada, 'begin');
  await fixture.sync.done(ada.headers, 'POST', `${fixture.sync.sessions}/${session}/messages`, {
    content: { text: 'hello' },
    metadata: { 'troupe:depth': 9, mine: 1 },
  });
  // Answers of other tests may still come in.
  const here = async (status: string) =>
    (await fixture.deliveries('circle', `&status=${status}`)).filter(({ path }) => path.includes(session));
  const [dead] = await until('the end', async () => {
    const found = await here('dead');
    return found.length > 0 ? found : null;
  });
  expect(dead).toMatchObject({ depth: 5, attempts: 0, error: { code: 'trigger_depth' } });
  const made = await here('delivered');
  expect(made.map(({ depth }) => depth).toSorted()).toEqual([0, 1, 2, 3, 4]);
  const { rows } = await fixture.pool.query(
    `select m.role, count(*)::int as n from troupe.messages m join troupe.sessions s on s.thread_id = m.thread_id where s.id = $1 group by 1 order by 1`,
    [session],
  );
  expect(rows).toEqual([
    { role: 'user', n: 6 },
    { role: 'assistant', n: 6 },
  ]);
  const { result } = await fixture.ended('begin', 'delivered');
  const run = await fixture.done<object>('GET', `/v1/runs/${(result as { runId: string }).runId}`);
  expect(run).toMatchObject({
    agentId: agent,
    triggerType: 'service',
    trigger: { serviceName: 'trigger begin', payload: 'Look at begin.' },
  });
  await fixture.done('POST', '/v1/triggers/apply', { triggers: [], prune: true });
});

test('messages that begin something are so many in a minute at most; the rest wait', async () => {
  const session = await fixture.sync.session(ada, 'few');
  await fixture.rule('few', {
    condition: null,
    ratePerMinute: 2,
    action: { type: 'message', session, text: 'x' },
  });
  for (let at = 0; at < 4; at++) await fixture.sync.session(ada, `few ${at}`);
  await until('two', async () => (await fixture.deliveries('few', '&status=delivered')).length === 2);
  // What is open when another rule has had its turn was left out.
  await fixture.rule('meanwhile');
  await fixture.sync.session(ada, 'meanwhile');
  fixture.web.serve = (_request, response) => response.end();
  await fixture.ended('meanwhile', 'delivered');
  const waiting = await fixture.deliveries('few', '&status=pending');
  expect(waiting.map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
  await fixture.pool.query(
    `update troupe.trigger_deliveries set ended_at = ended_at - interval '2 minutes' where status = 'delivered'`,
  );
  await until('two more', async () => (await fixture.deliveries('few', '&status=delivered')).length === 4);
  await fixture.done('DELETE', '/v1/triggers/few');
});

test('the six rules of the source load as they stand, and the server answers what they tell: done already', async () => {
  const triggers = JSON.parse(
    readFileSync(new URL('../../../../examples/triggers.json', import.meta.url), 'utf8'),
  );
  const { data } = await fixture.done<{ data: { name: string; outcome: string }[] }>(
    'POST',
    '/v1/triggers/apply',
    { triggers },
  );
  expect(data.map(({ outcome }) => outcome)).toEqual(Array(6).fill('created'));
  expect(await fixture.done('GET', '/v1/triggers/on-sub-agent-message')).toMatchObject({
    timeoutMs: 120_000,
    retry: { maxAttempts: 3, initialBackoffMs: 1_000, maxBackoffMs: 5_000 },
  });
  const session = await fixture.sync.session(ada, 'whole');
  const { id, run } = await fixture.sync.say(ada, session, 'hello');
  const { task, subAgent } = await fixture.sync.task(ada, session);
  for (const status of ['waiting', 'running', 'success', 'success'])
    await fixture.pool.query(
      `update troupe.tasks set status = $2, question = case when $2 = 'waiting' then 'Which?' end, result = case when $2 = 'success' then 'done' end, updated_at = now() where id = $1`,
      [task, status],
    );
  const found = async (name: string) => {
    const all = await until(name, async () => {
      const made = await fixture.deliveries(name);
      return made.length > 0 && made.every(({ status }) => status === 'delivered') ? made : null;
    });
    return Promise.all(
      all.map(async (one) => {
        const { log } = await fixture.done<{ log: { response: { status: number; body: string } }[] }>(
          'GET',
          `/v1/deliveries/${one.id}`,
        );
        expect(log.at(-1)!.response.status).toBe(200);
        return { ...one, answer: JSON.parse(log.at(-1)!.response.body) };
      }),
    );
  };
  expect(await found('on-user-message')).toMatchObject([
    { documentId: id, answer: { handler: 'orchestrator', found: { runId: run.id } } },
  ]);
  expect(await found('on-new-task')).toMatchObject([
    { answer: { found: { taskId: task, subAgentId: subAgent } } },
  ]);
  expect((await found('on-sub-agent-message')).map(({ answer }) => answer.found.subAgentId)).toEqual([
    subAgent,
    subAgent,
  ]);
  expect(await found('on-sub-agent-tool')).toMatchObject([
    { answer: { found: { callId: 'call_2', status: 'running' } } },
  ]);
  // Once each, though the task was written as success twice.
  expect(await found('on-task-completed')).toMatchObject([
    { answer: { found: { taskId: task, result: 'done' } } },
  ]);
  expect(await found('on-task-waiting')).toHaveLength(1);

  const url = `${fixture.sync.server.url}/webhook/orchestrator`;
  const forged = JSON.stringify({
    projectId: fixture.sync.project,
    deliveryId: newId(),
    documentId: id,
    after: null,
  });
  for (const body of ['', 'x', '{}', forged]) {
    const headers = {
      'webhook-id': 'x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': 'v1,AAAA',
    };
    const response = await fetch(url, { method: 'POST', body, headers });
    expect([response.status, ((await response.json()) as Problem).code]).toEqual([401, 'unauthenticated']);
  }
  expect((await fetch(url)).status).toBe(405);
});

test('who works does not know the address of who serves: that one delivers to itself, and nothing else', async () => {
  const encryptionKey = randomBytes(32);
  const serving = await TriggerFixture.open({ works: false, encryptionKey });
  const { databaseUrl } = serving.sync.server;
  const shared = { postgresUrl: databaseUrl, databaseUrl, encryptionKey };
  await serving.rule('own', { condition: null, action: { type: 'webhook', url: '/webhook/orchestrator' } });
  await serving.rule('other', { condition: null });
  await serving.sync.session(await serving.sync.person('ada'), 'x');
  // Nobody who only serves judges what was changed.
  expect(await serving.count('changes')).toBe(1);
  const working = await openServer({ ...shared, triggers: { origin: () => null } });
  expect(await serving.ended('own', 'delivered')).toMatchObject({ attempts: 1, result: { status: 200 } });
  expect(await serving.ended('other', 'delivered')).toMatchObject({ attempts: 1 });
  await working.close();
  await serving.close();
});
