import { endpoint } from '@troupe/protocol';
import { noMcp, until } from '@troupe/testing';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Access, Encryption, type EncryptionKey } from '../../src/access/index.ts';
import { Refusal, RetryableError, silentLogger } from '../../src/base/index.ts';
import { Endpoints } from '../../src/http/endpoint.ts';
import { answerError } from '../../src/http/problem.ts';
import { Past } from '../../src/kernel/index.ts';
import { purgeIdempotencyKeys } from '../../src/store/queries/idempotency.ts';
import { encryptionKey, openAccess, takeTokens } from '../access/fixture.ts';

const order = endpoint({
  method: 'POST',
  path: '/v1/orders',
  tag: 'system',
  summary: 'Counts how often it is carried out',
  scope: 'admin',
  user: true,
  query: z.strictObject({ q: z.string().optional() }),
  body: z.strictObject({ text: z.string() }),
  status: 201,
  response: z.object({ count: z.number(), text: z.string() }),
});
const empty = endpoint({
  method: 'POST',
  path: '/v1/empty',
  tag: 'system',
  summary: 'Answers nothing',
  scope: 'admin',
  status: 204,
});
const put = endpoint({ ...order, method: 'PUT', path: '/v1/put' });

/** An endpoint that counts; `act` is what it does besides. */
async function openOrders(act: (count: number) => Promise<void> | void = () => {}) {
  const fixture = await openAccess();
  const { db, kernel, access: ours, stream, followers } = fixture;
  let access = ours;
  /** As a process with these keys of the operator's. */
  const restart = (...keys: EncryptionKey[]) => {
    access = new Access({ db, mode: 'closed', encryption: new Encryption(keys) });
  };
  const app = new Hono();
  const endpoints = new Endpoints(app, () => ({
    server: { version: '0', mode: 'serve' as const },
    past: new Past(db, []),
    db,
    kernel,
    access,
    stream,
    followers,
    sealer: null,
    environmentKeys: {},
    tools: { resolve: () => undefined },
    mcp: noMcp,
  }));
  let count = 0;
  const made: string[] = [];
  for (const each of [order, put]) {
    endpoints.serve(each, async ({ body, id }) => {
      const mine = ++count;
      made.push(id);
      await act(mine);
      return { count: mine, text: body.text };
    });
  }
  endpoints.serve(empty, () => {
    count++;
    return undefined;
  });
  app.onError((error, context) => answerError(error, context, silentLogger));
  const send = async (
    key: string | null,
    text = 'x',
    more: { path?: string; method?: string; headers?: Record<string, string> } = {},
  ) => {
    const response = await app.request(more.path ?? '/v1/orders', {
      method: more.method ?? 'POST',
      headers: {
        authorization: `Bearer ${fixture.ourKey}`,
        'content-type': 'application/json',
        ...(key === null ? {} : { 'idempotency-key': key }),
        ...more.headers,
      },
      ...(more.path === '/v1/empty' ? {} : { body: JSON.stringify({ text }) }),
    });
    const answer = await response.text();
    return {
      status: response.status,
      replayed: response.headers.get('idempotency-replayed'),
      retryAfter: response.headers.get('retry-after'),
      type: response.headers.get('content-type'),
      body: answer === '' ? null : JSON.parse(answer),
    };
  };
  return { ...fixture, fixture, send, made, restart, count: () => count };
}

test('the same request again gets the same answer, and is carried out once', async () => {
  const { send, count } = await openOrders();
  const first = await send('a', 'a "quoted" \u0001 text \ud83d\ude00');
  expect(first).toMatchObject({ status: 201, replayed: null, body: { count: 1 } });
  const again = await send('a', 'a "quoted" \u0001 text \ud83d\ude00');
  expect(again).toEqual({ ...first, replayed: 'true' });
  expect(count()).toBe(1);
  expect((await send('b')).body.count).toBe(2);
  // Without the header every request is its own.
  expect((await send(null)).body.count).toBe(3);
  expect((await send(null)).body.count).toBe(4);
  // Nothing but POST is held to it.
  for (const expected of [5, 6])
    expect((await send('p', 'x', { method: 'PUT', path: '/v1/put' })).body.count).toBe(expected);
});

test('an answer without a body is repeated as well', async () => {
  const { send, count } = await openOrders();
  expect(await send('e', '', { path: '/v1/empty' })).toMatchObject({ status: 204, replayed: null });
  expect(await send('e', '', { path: '/v1/empty' })).toMatchObject({
    status: 204,
    replayed: 'true',
    body: null,
  });
  expect(count()).toBe(1);
});

test('the same key for anything else is refused', async () => {
  const { send, count, makeKey, ours, theirKey } = await openOrders();
  await send('a', 'one');
  const other = (await makeKey(ours)).key;
  const differing = [
    send('a', 'two'),
    send('a', 'one', { path: '/v1/orders?q=1' }),
    send('a', 'one', { headers: { authorization: `Bearer ${other}` } }),
    send('a', 'one', { path: '/v1/empty' }),
  ];
  for (const answer of await Promise.all(differing))
    expect(answer).toMatchObject({ status: 409, replayed: null, body: { code: 'idempotency_conflict' } });
  expect(count()).toBe(1);
  // Another project has its own keys.
  expect((await send('a', 'one', { headers: { authorization: `Bearer ${theirKey}` } })).status).toBe(201);
  for (const bad of ['', 'x'.repeat(201), 'käse'])
    expect(await send(bad)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
});

test('a request is kept under the key of the operator, and known again while any process has that key', async () => {
  const { send, count, made, restart, db } = await openOrders();
  const kept = async (key: string) => {
    const { rows } = await db.pool.query('select fingerprint from troupe.idempotency_keys where key = $1', [
      key,
    ]);
    return rows[0].fingerprint.toString('hex') as string;
  };
  const [v1, v2] = [encryptionKey('v1'), encryptionKey('v2')];
  restart();
  await send('plain', 'pin 4711');
  restart(v1);
  // From before there was a key.
  expect((await send('plain', 'pin 4711')).replayed).toBe('true');
  await send('one', 'pin 4711');
  expect(await kept('one')).not.toBe(await kept('plain'));
  restart(v2, v1);
  expect((await send('one', 'pin 4711')).replayed).toBe('true');
  expect((await send('one', 'pin 4712')).body.code).toBe('idempotency_conflict');
  await send('two', 'pin 4711');
  expect(new Set([await kept('plain'), await kept('one'), await kept('two')]).size).toBe(3);
  // One that does not write with the new one yet, and one that has forgotten the old one.
  restart(v1, v2);
  expect((await send('two', 'pin 4711')).replayed).toBe('true');
  for (const keys of [[v2], []]) {
    restart(...keys);
    expect((await send('one', 'pin 4711')).body.code).toBe('idempotency_conflict');
  }
  expect(count()).toBe(3);
  // A request that was lost with its process is taken up by one with another key.
  restart(v2, v1);
  const { rows } = await db.pool.query(
    `update troupe.idempotency_keys set status = null, body = '{"made": "the same"}', created_at = now() - interval '2 minutes' where key = 'one' returning 1`,
  );
  expect(rows).toHaveLength(1);
  expect((await send('one', 'pin 4711')).body.count).toBe(4);
  expect(made.at(-1)).toBe('the same');
  expect(await kept('one')).toBe(await kept('two'));
});

test('the keys of one person are not in the way of another', async () => {
  const { send, fixture, ours } = await openOrders();
  const { publicKey, tokenOf } = await takeTokens(fixture, ours);
  const as = async (person: string) => ({
    'troupe-key': publicKey,
    authorization: `Bearer ${await tokenOf(person)}`,
  });
  const ada = await send('1', 'x', { headers: await as('ada') });
  const bob = await send('1', 'x', { headers: await as('bob') });
  expect([ada.body.count, bob.body.count]).toEqual([1, 2]);
  expect(await send('1', 'x', { headers: await as('ada') })).toMatchObject({
    replayed: 'true',
    body: { count: 1 },
  });
});

test('of many at once one is carried out; the others are told to come back', async () => {
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { send, count } = await openOrders(() => gate);
  const first = send('a');
  await until('the first is under way', () => count() === 1);
  const others = await Promise.all(Array.from({ length: 8 }, () => send('a')));
  for (const other of others)
    expect(other).toMatchObject({ status: 409, retryAfter: '1', body: { code: 'request_under_way' } });
  expect(await send('a', 'something else')).toMatchObject({
    status: 409,
    body: { code: 'idempotency_conflict' },
  });
  go();
  expect(await first).toMatchObject({ status: 201, replayed: null });
  expect(await send('a')).toMatchObject({ status: 201, replayed: 'true' });
  expect(count()).toBe(1);
});

test('twenty at the same instant are carried out once', async () => {
  const { send, count } = await openOrders();
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('a')));
  expect(count()).toBe(1);
  expect(answers.filter(({ status, replayed }) => status === 201 && replayed === null)).toHaveLength(1);
  for (const { status, replayed } of answers)
    expect(['201 null', '201 true', '409 null']).toContain(`${status} ${replayed}`);
});

test('a failure frees the key; a refusal is an answer', async () => {
  const outcomes: Error[] = [
    new Error('a bug'),
    new RetryableError('busy', 'Busy.'),
    new Refusal('rate_limited', 'rate_limited', 'Slow down.'),
    new Refusal('conflict', 'already_there', 'It is there.'),
  ];
  const { send, count } = await openOrders((n) => {
    const outcome = outcomes[n - 1];
    if (outcome) throw outcome;
  });
  const seen = [];
  for (let i = 0; i < 6; i++) {
    const { status, replayed } = await send('a');
    seen.push([status, replayed]);
  }
  expect(seen).toEqual([
    [500, null],
    [503, null],
    [429, null],
    [409, null],
    [409, 'true'],
    [409, 'true'],
  ]);
  expect(count()).toBe(4);
  // A request that is not even understood takes no key.
  expect((await send('b', 5 as never)).status).toBe(422);
  expect((await send('b')).status).toBe(201);
});

test('what failed may have been carried out: the next one makes the same, unless nothing can have come of it', async () => {
  const outcomes: Error[] = [
    new Error('the answer of the database was lost'),
    new RetryableError('busy', 'Busy.'),
    new Refusal('rate_limited', 'rate_limited', 'Slow down.'),
  ];
  const { send, made } = await openOrders((n) => {
    const outcome = outcomes[n - 1];
    if (outcome) throw outcome;
  });
  const seen = [];
  for (let i = 0; i < 4; i++) seen.push((await send('a')).status);
  expect(seen).toEqual([500, 503, 429, 201]);
  const [first, ...rest] = made;
  expect(first).toBeDefined();
  expect(rest.slice(0, 2)).toEqual([first, first]);
  expect(rest[2]).not.toBe(first);
});

test('a request whose process died blocks its key for a minute only', async () => {
  const { send, count, db } = await openOrders();
  await send('a');
  const age = (interval: string) =>
    db.pool.query(
      `update troupe.idempotency_keys set status = null, body = null, created_at = now() - $1::interval`,
      [interval],
    );
  await age('50 seconds');
  expect(await send('a')).toMatchObject({ status: 409, body: { code: 'request_under_way' } });
  await age('61 seconds');
  expect(await send('a', 'another')).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
  const both = await Promise.all([send('a'), send('a')]);
  expect(both.filter(({ status, replayed }) => status === 201 && replayed === null)).toHaveLength(1);
  expect(count()).toBe(2);
});

test('who comes back after the key was taken over does not change its answer', async () => {
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { send, count, db } = await openOrders((n) => (n === 1 ? gate : undefined));
  const slow = send('a');
  await until('it is under way', () => count() === 1);
  await db.pool.query(`update troupe.idempotency_keys set created_at = now() - interval '2 minutes'`);
  expect((await send('a')).body.count).toBe(2);
  go();
  await slow;
  expect((await send('a')).body.count).toBe(2);
});

test('answers are kept for a day', async () => {
  const { send, count, db } = await openOrders();
  await send('old');
  await send('young');
  const age = (key: string, interval: string) =>
    db.pool.query(`update troupe.idempotency_keys set created_at = now() - $2::interval where key = $1`, [
      key,
      interval,
    ]);
  await age('old', '25 hours');
  await age('young', '23 hours');
  expect((await send('old')).body.count).toBe(3);
  await age('old', '25 hours');
  expect(await purgeIdempotencyKeys(db)).toBe(1);
  expect(await purgeIdempotencyKeys(db)).toBe(0);
  expect(await send('young')).toMatchObject({ replayed: 'true', body: { count: 2 } });
  expect(count()).toBe(3);
});

test('a key of an API is not kept to be shown again', async () => {
  const { ask, ourKey, db } = await openAccess();
  const make = () =>
    ask('POST', '/v1/keys', { key: ourKey, body: { name: 'once' }, headers: { 'idempotency-key': 'k' } });
  const made = await make();
  expect(made.status).toBe(201);
  const again = await make();
  expect([again.status, again.body.code]).toEqual([409, 'answer_not_kept']);
  const { rows } = await db.pool.query(`select row_to_json(i)::text as row from troupe.idempotency_keys i`);
  expect(rows[0].row).not.toContain(made.body.key.slice(4));
  expect((await db.pool.query(`select from troupe.api_keys where name = 'once'`)).rows).toHaveLength(1);
});
