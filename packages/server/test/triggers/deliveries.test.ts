import type { DeliveryDetails, Trigger } from '@troupe/protocol';
import { newId, silentLogger } from '@troupe/server';
import { Engine, openOutgoing } from '@troupe/server/parts';
import { until } from '@troupe/testing';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimDeliveries, eraseLateDeliveries } from '../../src/store/index.ts';
import { Web } from '../outgoing/web.ts';
import type { Person } from '../sync/fixture.ts';
import { TriggerFixture } from './fixture.ts';

let fixture: TriggerFixture;
let ada: Person;

beforeAll(async () => {
  fixture = await TriggerFixture.open();
  ada = await fixture.sync.person('ada');
});
beforeEach(() => {
  fixture.web.forget();
  fixture.web.serve = (_request, response) => response.end('thanks');
});
afterAll(() => fixture.close());

test('a change is told once, signed under both secrets, with what it was; the log shows it without what is secret', async () => {
  const [old, fresh] = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [
    string,
    string,
  ];
  for (const [name, value] of Object.entries({ OLD: old, NEW: fresh, TOKEN: "very-$&-$'-private" }))
    await fixture.done('PUT', `/v1/secrets/${name}`, { value });
  fixture.web.serve = (request, response) =>
    response.end(`you sent ${request.headers['x-token']} ${btoa(String(request.headers['x-token']))}`);
  const headers = { 'X-Token': 'Bearer {{secrets.TOKEN}}', 'webhook-id': 'mine' };
  const action = { type: 'webhook', url: fixture.hook('/signed'), headers, secrets: ['NEW', 'OLD'] };
  const trigger = await fixture.rule('signed', { events: ['create', 'update'], action });
  expect(trigger).toMatchObject({ version: 1, enabled: true, edge: true, ratePerMinute: null, open: 0 });
  const session = await fixture.sync.session(ada, 'signed');
  const delivery = await fixture.ended('signed', 'delivered');
  await fixture.retitle(ada, session, 'other');
  await fixture.retitle(ada, session, 'signed');
  await until('two', () => fixture.heard('/signed').length === 2);

  for (const { headers, body } of fixture.heard('/signed')) {
    const given = headers as Record<string, string>;
    for (const secret of [old, fresh]) new Webhook(secret).verify(body, given);
    expect(() =>
      new Webhook(`whsec_${Buffer.alloc(32, 3).toString('base64')}`).verify(body, given),
    ).toThrow();
    expect(given['x-token']).toBe("Bearer very-$&-$'-private");
    expect(JSON.parse(body).deliveryId).toBe(given['webhook-id']);
  }
  const [first, second] = fixture.heard('/signed').map(({ body }) => JSON.parse(body));
  expect(first).toMatchObject({
    type: 'sessions.create',
    triggerId: 'signed',
    event: 'create',
    collection: 'sessions',
    path: `sessions/${session}`,
    documentId: session,
    userId: ada.id,
    before: null,
    after: { id: session, title: 'signed', userId: ada.id },
    depth: 0,
  });
  expect(second).toMatchObject({ event: 'update', before: { title: 'other' }, after: { title: 'signed' } });
  expect(delivery).toMatchObject({
    status: 'delivered',
    attempts: 1,
    result: { status: 200 },
    error: null,
    log: [
      {
        attempt: 1,
        response: { status: 200, body: expect.stringMatching(/^you sent Bearer \[secret TOKEN\]/) },
      },
    ],
  });
  expect(JSON.stringify(delivery)).not.toMatch(new RegExp(`private|${btoa('-private').slice(0, 8)}`));
  expect(JSON.stringify(delivery)).toContain('{{secrets.TOKEN}}');
  expect(await fixture.count('changes')).toBe(0);
});

test('receivers that fail are tried again as the rule says, and given up where that is of no use', async () => {
  const hidden = await Web.open();
  const seen: Record<string, number[]> = {};
  fixture.web.serve = (request, response) => {
    const path = request.url!.slice(1);
    seen[path] ??= [];
    seen[path].push(performance.now());
    const answer = (status: number, headers: Record<string, string> = {}) =>
      response.writeHead(status, headers).end(`${status}`);
    const times = seen[path].length;
    if (path === 'broken') return times < 3 ? answer(500) : answer(204);
    if (path === 'busy') return times < 2 ? answer(429, { 'retry-after': '1' }) : answer(200);
    if (path === 'slow') return; // never answers
    if (path === 'moved') return answer(307, { location: `http://127.0.0.1:${hidden.port}/private` });
    if (path === 'rude') return times < 2 ? request.socket.destroy() : answer(200);
    if (path === 'gone') return answer(410);
    return answer(path === 'wrong' ? 400 : 500);
  };
  const names = ['broken', 'busy', 'slow', 'moved', 'rude', 'gone', 'wrong', 'hopeless'];
  for (const name of names)
    await fixture.rule(
      name,
      name === 'slow'
        ? { timeoutMs: 150, retry: { maxAttempts: 2, initialBackoffMs: 10, maxBackoffMs: 10 } }
        : {},
    );
  const unreachable = { type: 'webhook', url: `http://127.0.0.1:${hidden.port}/x` };
  await fixture.rule('forbidden', { action: unreachable });
  for (const name of [...names, 'forbidden']) await fixture.sync.session(ada, name);

  expect(await fixture.ended('broken', 'delivered')).toMatchObject({
    attempts: 3,
    log: [
      { response: { status: 500, body: '500' } },
      { error: { code: 'receiver_refused' } },
      { response: { status: 204 }, error: null },
    ],
  });
  expect(await fixture.ended('rude', 'delivered')).toMatchObject({
    attempts: 2,
    log: [{ error: { code: 'connection_failed' }, response: null }, {}],
  });
  const slow = await fixture.ended('slow', 'dead');
  expect(slow).toMatchObject({ attempts: 2, error: { code: 'request_timeout' } });
  for (const { durationMs } of slow.log) expect(durationMs).toBeLessThan(1_000);
  expect(await fixture.ended('moved', 'dead')).toMatchObject({ attempts: 1, error: { code: 'redirected' } });
  expect(await fixture.ended('wrong', 'dead')).toMatchObject({
    attempts: 1,
    error: { code: 'receiver_refused', message: 'The receiver answered 400.' },
  });
  expect(await fixture.ended('forbidden', 'dead')).toMatchObject({
    attempts: 1,
    error: { code: 'address_forbidden' },
  });
  expect(await fixture.ended('hopeless', 'dead')).toMatchObject({ attempts: 3 });
  expect(await fixture.ended('gone', 'dead')).toMatchObject({ attempts: 1 });
  expect(await fixture.done('GET', '/v1/triggers/gone')).toMatchObject({
    enabled: false,
    disabledReason: expect.stringContaining('410'),
  });
  await fixture.ended('busy', 'delivered');
  expect(seen.busy![1]! - seen.busy![0]!).toBeGreaterThanOrEqual(990);
  expect(hidden.connections).toBe(0);
  // The same id with every attempt, and no two deliveries with one.
  const ids = (path: string) => new Set(fixture.heard(path).map(({ headers }) => headers['webhook-id']));
  expect([ids('/broken').size, ids('/hopeless').size, ids('/rude').size]).toEqual([1, 1, 1]);
  await hidden.close();
});

test('the time of a rule is over however a receiver draws it out; of an answer without end, the beginning is kept', async () => {
  const secret = 'never-to-be-seen';
  await fixture.done('PUT', '/v1/secrets/HALF', { value: secret });
  const later = new Date(Date.now() + 7_200_000).toUTCString();
  fixture.web.serve = (request, response) => {
    const write = (text: string) =>
      response.destroyed || response.write(text, () => setImmediate(write, text));
    if (request.url === '/trickle') {
      response.writeHead(200).write('x');
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
    } else if (request.url === '/endless') {
      response.writeHead(200);
      write('x'.repeat(10_000));
    } else if (request.url === '/half') response.end(`${'x'.repeat(4_096 - 9)}${secret}`);
    else response.writeHead(429, { 'retry-after': request.url === '/date' ? later : '9'.repeat(30) }).end();
  };
  const retry = { maxAttempts: 1 };
  await fixture.rule('trickle', { timeoutMs: 200, retry });
  await fixture.rule('endless', { timeoutMs: 20_000, retry });
  const headers = { 'x-half': '{{secrets.HALF}}' };
  await fixture.rule('half', { action: { type: 'webhook', url: fixture.hook('/half'), headers } });
  await fixture.rule('date');
  await fixture.rule('absurd');
  for (const name of ['trickle', 'endless', 'half', 'date', 'absurd']) await fixture.sync.session(ada, name);
  expect(await fixture.ended('trickle', 'dead')).toMatchObject({ error: { code: 'request_timeout' } });
  const { log } = await fixture.ended('endless', 'delivered');
  expect(log[0]).toMatchObject({ response: { cut: true, body: 'x'.repeat(4_096) } });
  const half = await fixture.ended('half', 'delivered');
  expect(half.log[0]!.response!.body).toBe('x'.repeat(4_096 - 9));
  const waits = async (name: string) => {
    const [one] = await until(name, async () => {
      const found = await fixture.deliveries(name, '&status=pending');
      return found[0]?.attempts === 1 ? found : null;
    });
    return Math.round((Date.parse(one!.nextAttemptAt!) - Date.now()) / 3_600_000);
  };
  expect([await waits('date'), await waits('absurd')]).toEqual([2, 24]);
  for (const name of ['date', 'absurd']) await fixture.done('DELETE', `/v1/triggers/${name}`);
});

test('an answer that comes after the lease ran out still counts; what comes of the second attempt changes nothing', async () => {
  const open: ((status: number) => void)[] = [];
  fixture.web.serve = (_request, response) => {
    open.push((status) => response.writeHead(status).end('late'));
  };
  await fixture.rule('late');
  await fixture.sync.session(ada, 'late');
  await until('one', () => open.length === 1);
  await fixture.pool.query(
    `update troupe.trigger_deliveries set lease_until = now() where status = 'sending'`,
  );
  await until('two', () => open.length === 2);
  open[0]!(200);
  const { id } = await fixture.ended('late', 'delivered');
  open[1]!(500);
  const both = await until('both', async () => {
    const { log } = await fixture.done<DeliveryDetails>('GET', `/v1/deliveries/${id}`);
    return log.every(({ durationMs }) => durationMs !== null) ? log : null;
  });
  expect(both.map(({ response }) => response!.status)).toEqual([200, 500]);
  expect(await fixture.deliveries('late')).toMatchObject([{ status: 'delivered', attempts: 2, error: null }]);
  expect(new Set(fixture.heard('/late').map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
});

test('what was deleted is told, and then forgotten: no delivery keeps what it said', async () => {
  let answer = () => {};
  fixture.web.serve = (request, response) => {
    if (request.url === '/unsaid') answer = () => response.end('you said whisper');
    else response.end('you said whisper');
  };
  const condition = `event.document.content == 'whisper'`;
  const collection = 'users/*/orch-chats/*/messages';
  await fixture.rule('said', { collection, condition });
  await fixture.rule('unsaid', { collection, condition, events: ['delete'] });
  await fixture.rule('closed', { condition: `event.document.title == 'whispers'`, events: ['delete'] });
  const session = await fixture.sync.session(ada, 'whispers');
  await fixture.sync.say(ada, session, 'whisper');
  expect(await fixture.ended('said', 'delivered')).toMatchObject({ document: { content: 'whisper' } });
  await fixture.sync.done(ada.headers, 'DELETE', `${fixture.sync.sessions}/${session}`);
  await until('it is told', () => fixture.heard('/unsaid').length === 1);
  expect(JSON.parse(fixture.heard('/unsaid')[0]!.body)).toMatchObject({ before: { content: 'whisper' } });
  answer();
  for (const name of ['said', 'unsaid', 'closed']) {
    const one = await fixture.ended(name, 'delivered');
    expect(one).toMatchObject({ erased: true, document: null, before: null });
    expect(JSON.stringify(one)).not.toMatch(/whisper/);
    const { status, body } = await fixture.ask('POST', `/v1/deliveries/${one.id}/redeliver`);
    expect([status, body.code]).toEqual([409, 'delivery_erased']);
  }
  // Of a person likewise.
  const eve = await fixture.sync.person('eve');
  const space = await fixture.sync.space(ada, eve);
  const left = { collection: 'spaces/*/memberships', events: ['delete'] };
  await fixture.rule('left', { ...left, condition: `event.document.name == 'eve'` });
  await fixture.done('DELETE', `/v1/spaces/${space}/members/${eve.id}`);
  expect(await fixture.ended('left', 'delivered')).toMatchObject({ erased: false, before: { name: 'eve' } });
  await fixture.done('DELETE', `/v1/entities/${eve.id}`);
  expect(await fixture.ended('left', 'delivered')).toMatchObject({ erased: true, before: null });

  // As if it had been judged while the session was being deleted.
  await fixture.pool.query(
    `update troupe.trigger_deliveries set erased = false, before = '"whisper"' where chat_id = $1`,
    [session],
  );
  expect(await eraseLateDeliveries(fixture.sync.server.db)).toBe(3);
  const { rows } = await fixture.pool.query(
    `select from troupe.trigger_deliveries d where d::text ~ 'whisper' union all select from troupe.trigger_attempts a where a::text ~ 'whisper'
      union all select from troupe.change_documents c where c::text ~ 'whisper'`,
  );
  expect(rows).toEqual([]);
});

test('a rate holds for all processes together; what fails in a way that nobody thought of is given up in the end', async () => {
  const idle = await TriggerFixture.open({ triggers: false });
  const { db, kernel } = idle.sync.server;
  const limited = await idle.rule('limited', { ratePerMinute: 2 });
  const odd = await idle.rule('odd', {
    action: { type: 'webhook', url: idle.hook('/odd'), secrets: ['ODD'] },
    retry: { maxAttempts: 2, initialBackoffMs: 10, maxBackoffMs: 10 },
  });
  const lost = await idle.rule('lost');
  await idle.pool.query(
    `insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, after, depth, own, changed_at, next_attempt_at, attempts)
      select gen_random_uuid(), t.project_id, t.id, 1, 1, n, 'create', 'sessions/' || n, n::text, '{}', 0, false, now(), now(), case when t.id = $3 then 8 else 0 end
      from troupe.triggers t, generate_series(1, 20) n where t.id = $1 or t.id in ($2, $3) and n = 1`,
    [limited.id, odd.id, lost.id],
  );
  const claim = () => claimDeliveries(db, { limit: 8, own: true, others: true, busy: [odd.id, lost.id] });
  const claimed = await Promise.all(Array.from({ length: 10 }, claim));
  expect(claimed.flat()).toHaveLength(2);

  const engine = new Engine({
    db,
    outgoing: openOutgoing(() => db),
    secrets: { reveal: () => Promise.reject(new Error('odd')) },
    ownKeys: () => [],
    origin: () => null,
    acts: { db, kernel },
    logger: silentLogger,
    pollMs: 20,
  });
  engine.start();
  expect(await idle.ended('odd', 'dead')).toMatchObject({ attempts: 2, error: { code: 'internal_error' } });
  // Eight processes died with it, though three attempts are allowed.
  expect(await idle.ended('lost', 'dead')).toMatchObject({ error: { code: 'attempts_lost' } });
  expect(idle.web.heard).toEqual([]);
  await engine.close();
  await idle.close();
});

test('changes of one document are told in order, whatever fails; those of others do not wait', async () => {
  // The first of one document is refused until the last of the other was told.
  const titles = () => fixture.heard('/ordered').map(({ body }) => JSON.parse(body).after.title as string);
  fixture.web.serve = (_request, response) => {
    const refused = titles().at(-1) === 'one 0' && !titles().includes('two 3');
    response.writeHead(refused ? 503 : 200).end();
  };
  await fixture.rule('ordered', {
    condition: null,
    events: ['update'],
    retry: { maxAttempts: 50, initialBackoffMs: 200, maxBackoffMs: 200 },
  });
  const [one, two] = [await fixture.sync.session(ada, 'one'), await fixture.sync.session(ada, 'two')];
  for (let at = 0; at < 4; at++) {
    await fixture.retitle(ada, one, `one ${at}`);
    await fixture.retitle(ada, two, `two ${at}`);
  }
  await until('all', async () => (await fixture.deliveries('ordered', '&status=delivered')).length === 8);
  const told = (of: string) => titles().filter((title) => title.startsWith(of));
  const tries = told('one').lastIndexOf('one 0') + 1;
  expect(tries).toBeGreaterThan(1);
  expect(told('one')).toEqual([...Array(tries).fill('one 0'), 'one 1', 'one 2', 'one 3']);
  expect(told('two')).toEqual(['two 0', 'two 1', 'two 2', 'two 3']);
  expect(await fixture.deliveries('ordered', `&document=${one}`)).toHaveLength(4);
  expect(await fixture.deliveries('ordered', `&document=sessions/${two}`)).toHaveLength(4);
  await fixture.done('DELETE', '/v1/triggers/ordered');
});

test('however many processes judge and deliver, each change is told once and in order', async () => {
  const { db, kernel } = fixture.sync.server;
  const outgoing = openOutgoing(() => db);
  const parts = {
    db,
    outgoing,
    secrets: { reveal: async () => null },
    ownKeys: () => [],
    origin: () => null,
  };
  const engines = [1, 2, 3].map(
    () => new Engine({ ...parts, acts: { db, kernel }, logger: silentLogger, pollMs: 5 }),
  );
  for (const engine of engines) engine.start();
  await fixture.rule('many', { condition: null, events: ['create', 'update'] });
  const sessions = await Promise.all(Array.from({ length: 8 }, () => fixture.sync.session(ada, '0')));
  for (let at = 1; at < 8; at++)
    await Promise.all(sessions.map((session) => fixture.retitle(ada, session, String(at))));
  await until(
    'all',
    async () => (await fixture.deliveries('many', '&status=delivered&limit=200')).length === 64,
  );
  const told = fixture.heard('/many').map(({ body }) => JSON.parse(body));
  expect(told).toHaveLength(64);
  for (const session of sessions) {
    const titles = told.filter(({ documentId }) => documentId === session).map(({ after }) => after.title);
    expect(titles).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
  }
  await Promise.all(engines.map((engine) => engine.close()));
  await fixture.done('DELETE', '/v1/triggers/many');
});

test('what was given up is delivered again, one or many, as the rule is now and under the same id', async () => {
  fixture.web.serve = (request, response) => response.writeHead(request.url === '/again' ? 400 : 200).end();
  await fixture.rule('again');
  for (let at = 0; at < 3; at++) await fixture.sync.session(ada, 'again');
  const dead = await until('three', async () => {
    const found = await fixture.deliveries('again', '&status=dead');
    return found.length === 3 ? found : null;
  });
  const { log } = await fixture.done<{ log: unknown[] }>('GET', `/v1/deliveries/${dead[0]!.id}`);
  expect(log).toHaveLength(1);
  const changed = await fixture.done<Trigger>('PATCH', '/v1/triggers/again', {
    action: { type: 'webhook', url: fixture.hook('/mended') },
  });
  expect(changed).toMatchObject({ version: 2, deadInRow: 0 });
  await fixture.done('POST', `/v1/deliveries/${dead[0]!.id}/redeliver`);
  await until('one', async () => (await fixture.deliveries('again', '&status=delivered')).length === 1);
  expect(await fixture.done('POST', '/v1/deliveries/redeliver', { trigger: 'again' })).toEqual({
    redelivered: 2,
  });
  await until('all', async () => (await fixture.deliveries('again', '&status=delivered')).length === 3);
  const ids = fixture.heard('/mended').map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids)).toEqual(new Set(dead.map(({ id }) => id)));
  // The attempts of before are still there.
  expect(await fixture.done('GET', `/v1/deliveries/${dead[0]!.id}`)).toMatchObject({
    attempts: 2,
    log: [{ response: { status: 400 } }, { response: { status: 200 } }],
  });
  expect((await fixture.ask('POST', `/v1/deliveries/${newId()}/redeliver`)).status).toBe(404);
  const { data } = await fixture.done<{ data: object[] }>('GET', '/v1/audit?action=delivery.redelivered');
  expect(data).toMatchObject([
    { target: changed.id, data: { trigger: 'again', status: 'dead', count: 2 } },
    { target: dead[0]!.id, data: { trigger: 'again', count: 1 } },
  ]);
});

test('twenty given up in a row turn a rule off, with a notice; what waits is held until it is on again', async () => {
  let status = 400;
  fixture.web.serve = (_request, response) => response.writeHead(status).end();
  await fixture.rule('off', { retry: { maxAttempts: 1 } });
  for (let at = 0; at < 20; at++) await fixture.sync.session(ada, 'off');
  const off = await until('off', async () => {
    const trigger = await fixture.done<Trigger>('GET', '/v1/triggers/off');
    return trigger.enabled ? null : trigger;
  });
  expect(off.disabledReason).toBe(
    '20 deliveries in a row were given up; the last: The receiver answered 400.',
  );
  const { data } = await fixture.done<{ data: object[] }>('GET', '/v1/audit?action=trigger.disabled');
  expect(data[0]).toMatchObject({
    actor: { kind: 'system' },
    target: off.id,
    data: { name: 'off', reason: off.disabledReason },
  });
  // An edit alone does not turn it on again.
  expect(await fixture.done('PATCH', '/v1/triggers/off', { timeoutMs: 5_000 })).toMatchObject({
    version: 2,
    enabled: false,
    disabledReason: off.disabledReason,
  });
  // Not even captured now; what is delivered again by hand is held.
  await fixture.sync.session(ada, 'off');
  expect(await fixture.done('POST', '/v1/deliveries/redeliver', { trigger: 'off', limit: 2 })).toEqual({
    redelivered: 2,
  });
  status = 200;
  const heard = fixture.web.heard.length;
  await fixture.sync.session(ada, 'nothing');
  expect((await fixture.done<Trigger>('GET', '/v1/triggers/off')).open).toBe(2);
  expect(fixture.web.heard.length).toBe(heard);
  expect(await fixture.done('POST', '/v1/triggers/off/enable')).toMatchObject({
    enabled: true,
    disabledReason: null,
    deadInRow: 0,
    version: 2,
  });
  await until('held ones', async () => (await fixture.deliveries('off', '&status=delivered')).length === 2);
  expect(await fixture.deliveries('off')).toHaveLength(20);
});
