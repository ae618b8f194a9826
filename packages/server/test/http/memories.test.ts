import type { Goal, Memory } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/access/index.ts';
import { SessionFixture } from './session-fixture.ts';

// Memories and goals over HTTP: an administrator's, a person's, and how many there can be.

let fixture: SessionFixture;
let admin: Caller;
let at: string;

beforeAll(async () => {
  fixture = await SessionFixture.open();
  admin = fixture.caller;
  at = `/v1/agents/${fixture.ids.agent}`;
});
afterAll(() => fixture.close());

const put = (key: string, value: string, query = '') =>
  fixture.done<Memory>('PUT', `${at}/memories/${encodeURIComponent(key)}${query}`, { value });
const keysOf = async (query = '') =>
  (await fixture.done<{ data: Memory[] }>('GET', `${at}/memories${query}`)).data.map(({ key }) => key);
const count = async (table: 'memories' | 'goals', owner: string) =>
  (
    await fixture.db.pool.query(
      `select count(*) from troupe.${table} where owner_id = (select id from troupe.entities where external_id = $1)`,
      [owner],
    )
  ).rows[0].count;

test('memories are set, found, changed and forgotten by their keys', async () => {
  const odd = 'a/b ?#%2F é🎭 "x"';
  expect(await put(odd, 'one')).toMatchObject({ key: odd, value: 'one' });
  await put(odd, 'two');
  expect(await fixture.done('GET', `${at}/memories/${encodeURIComponent(odd)}`)).toMatchObject({
    value: 'two',
  });
  const memories = ['user.name', 'user.city', 'topic', 'topic'].map((key, index) => ({
    key,
    value: `Value ${index}`,
  }));
  expect(await fixture.done('POST', `${at}/memories`, { memories })).toEqual({ count: 3 });
  expect(await keysOf('?prefix=user.')).toEqual(['user.city', 'user.name']);
  expect(await keysOf('?search=VALUE%203')).toEqual(['topic']);
  const first = await fixture.done<{ data: Memory[]; nextCursor: string }>('GET', `${at}/memories?limit=3`);
  const rest = await keysOf(`?cursor=${first.nextCursor}`);
  expect([...first.data.map(({ key }) => key), ...rest].toSorted()).toEqual(
    [odd, 'topic', 'user.city', 'user.name'].toSorted(),
  );
  await fixture.done('DELETE', `${at}/memories/${encodeURIComponent(odd)}`);
  expect(await fixture.refused('DELETE', `${at}/memories/${encodeURIComponent(odd)}`)).toEqual([
    404,
    'not_found',
  ]);
  // An address that no memory can have leads nowhere; a value that cannot be kept is refused.
  for (const key of ['x'.repeat(201), 'a\nb', ' ']) {
    const path = `${at}/memories/${encodeURIComponent(key)}`;
    expect(await fixture.refused('PUT', path, { value: 'v' })).toEqual([404, 'not_found']);
  }
  for (const value of ['v'.repeat(10_001), 'a\0b', 1, null]) {
    expect(await fixture.refused('PUT', `${at}/memories/k`, { value })).toEqual([422, 'invalid_request']);
  }
  expect(await fixture.refused('POST', `${at}/memories`, { memories: [{ key: '..', value: '' }] })).toEqual([
    422,
    'invalid_request',
  ]);
  expect(await fixture.refused('GET', `/v1/agents/${newId()}/memories`)).toEqual([404, 'not_found']);
  const { rows } = await fixture.db.pool.query(
    `select action, data from troupe.audit_log where action like 'memory.%' order by id`,
  );
  expect(rows).toEqual([
    { action: 'memory.set', data: { count: 1 } },
    { action: 'memory.set', data: { count: 1 } },
    { action: 'memory.set', data: { count: 3 } },
    { action: 'memory.deleted', data: { count: 1 } },
  ]);
});

test('what is kept of one person is apart from what is kept of another and for all', async () => {
  await put('food', 'for all');
  await put('food', 'of Ada', '?user=ada');
  await put('secret', 'of Ben', '?user=ben');
  expect(await keysOf('?user=ada')).toEqual(['food']);
  expect(await keysOf('?user=nobody-yet')).toEqual([]);
  expect(await fixture.refused('GET', `${at}/memories?user=troupe:else`)).toEqual([422, 'invalid_request']);
  const { rows } = await fixture.db.pool.query(`select id from troupe.entities where external_id = 'ada'`);
  fixture.caller = { ...admin, kind: 'user', entityId: rows[0].id };
  try {
    expect(await keysOf()).toEqual(['food']);
    expect(await fixture.done('GET', `${at}/memories/food`)).toMatchObject({ value: 'of Ada' });
    expect(await fixture.refused('GET', `${at}/memories/secret`)).toEqual([404, 'not_found']);
    expect(await fixture.refused('GET', `${at}/memories?user=ben`)).toEqual([403, 'forbidden']);
    expect(await fixture.refused('PUT', `${at}/memories/food`, { value: 'x' })).toEqual([403, 'forbidden']);
    await fixture.done('DELETE', `${at}/memories/food`);
    expect(await keysOf()).toEqual([]);
  } finally {
    fixture.caller = admin;
  }
  expect(await fixture.done('GET', `${at}/memories/food`)).toMatchObject({ value: 'for all' });
  fixture.caller = { ...admin, project: newId() };
  expect(await fixture.refused('GET', `${at}/memories`)).toEqual([404, 'not_found']);
  fixture.caller = admin;
});

test('goals are given, changed, listed by status and deleted', async () => {
  const make = (body: object) => fixture.done<Goal>('POST', `${at}/goals`, body);
  const low = await make({ description: 'Later', priority: 5 });
  const high = await make({ description: 'Now', priority: 1 });
  expect(low).toMatchObject({ status: 'active', priority: 5 });
  expect(await fixture.done('PATCH', `${at}/goals/${low.id}`, { status: 'completed' })).toMatchObject({
    description: 'Later',
    status: 'completed',
  });
  const list = (query: string) =>
    fixture.done<{ data: Goal[]; nextCursor: string | null }>('GET', `${at}/goals${query}`);
  const page = await list('?limit=1');
  expect(page.data).toMatchObject([{ id: high.id }]);
  expect((await list(`?limit=1&cursor=${page.nextCursor}`)).data).toMatchObject([{ id: low.id }]);
  expect((await list('?status=completed')).data).toMatchObject([{ id: low.id }]);
  expect(await fixture.refused('PATCH', `${at}/goals/${low.id}?user=ada`, { priority: 1 })).toEqual([
    404,
    'not_found',
  ]);
  expect(await fixture.refused('PATCH', `${at}/goals/${newId()}`, { priority: 1 })).toEqual([
    404,
    'not_found',
  ]);
  expect(await fixture.refused('POST', `${at}/goals`, { description: ' ' })).toEqual([
    422,
    'invalid_request',
  ]);
  await fixture.done('DELETE', `${at}/goals/${low.id}`);
  expect(await fixture.refused('DELETE', `${at}/goals/${low.id}`)).toEqual([404, 'not_found']);
});

test('there are never more than there can be, however many write at once', async () => {
  const bulk = (from: number, size: number) =>
    fixture.ask('POST', `${at}/memories?user=cy`, {
      memories: Array.from({ length: size }, (_, index) => ({ key: `k${from + index}`, value: '' })),
    });
  for (let from = 0; from < 900; from += 100) expect((await bulk(from, 100)).status).toBe(200);
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => bulk(1_000 + index * 40, 40)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(6);
  expect(await count('memories', 'cy')).toBe(980);
  // What is there can change when nothing more can be added; and it is per person.
  await bulk(2_000, 20);
  expect((await bulk(0, 50)).status).toBe(200);
  expect(await fixture.refused('PUT', `${at}/memories/one-more?user=cy`, { value: '' })).toEqual([
    409,
    'too_many_memories',
  ]);
  await put('one-more', '', '?user=dee');
  const goals = Array.from({ length: 205 }, () =>
    fixture.ask('POST', `${at}/goals?user=cy`, { description: 'g' }),
  );
  expect((await Promise.all(goals)).filter(({ status }) => status === 409)).toHaveLength(5);
  expect(await count('goals', 'cy')).toBe(200);
});
