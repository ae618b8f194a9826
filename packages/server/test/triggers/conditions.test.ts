import type { JsonObject } from '@troupe/protocol';
import { stopwatch } from '@troupe/testing';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { COLLECTIONS } from '../../src/triggers/collections.ts';
import { ConditionInvalid, conditionOf, fires } from '../../src/triggers/condition.ts';
import { globOf } from '../../src/triggers/glob.ts';
import { outcomeOf } from '../../src/triggers/outcome.ts';
import { headersFor, isSigned, keyOf } from '../../src/triggers/sign.ts';
import { filledIn, templateProblem } from '../../src/triggers/template.ts';

const task = (document: JsonObject, before: JsonObject | null = null) => ({
  type: before ? ('update' as const) : ('create' as const),
  timestamp: 1_800_000_000_000,
  document,
  before,
});
const holds = (text: string, document: JsonObject, before: JsonObject | null = null) =>
  conditionOf(text, ['tasks'])(task(document, before)).holds;
const wrong = (text: string, collections = ['tasks']) => {
  try {
    conditionOf(text, collections);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ConditionInvalid);
    return (error as Error).message;
  }
};

test('a condition sees the document in both spellings, what it was before, and whole numbers as such', () => {
  const document = { status: 'success', depth: 2, background: true, args: { list: [1, 2.5] } };
  expect(holds(`event.document.status == 'success'`, document)).toBe(true);
  expect(holds(`event.document.data.status == 'success'`, document)).toBe(true);
  expect(holds(`event.document.data.status != event.document.status`, document)).toBe(false);
  expect(holds('event.document.depth + 1 == 3 && event.document.background', document)).toBe(true);
  expect(holds('event.document.args.list[0] == 1 && event.document.args.list[1] > 2.0', document)).toBe(true);
  expect(
    holds(`event.type == 'update' && event.before.status == 'running'`, document, { status: 'running' }),
  ).toBe(true);
  expect(holds(`event.before == null`, document)).toBe(true);
  expect(holds(`event.timestamp > 1700000000000`, document)).toBe(true);
  expect(holds(`event.document.args.list.exists(x, x == 2.5)`, document)).toBe(true);
  expect(holds(`has(event.document.result) && event.document.result == 'x'`, document)).toBe(false);
});

test('what is not there, and what is neither true nor false, does not hold and says why', () => {
  const absent = conditionOf(`event.document.result == 'x'`, ['tasks'])(task({ status: 'a' }));
  expect(absent).toMatchObject({ holds: false, error: expect.stringContaining('result') });
  const other = conditionOf(`event.document.args`, ['tasks'])(task({ args: 'text' }));
  expect(other).toEqual({ holds: false, error: 'it came to neither true nor false' });
});

test('what can never be right is refused when it is saved, with the place', () => {
  expect(wrong(`event.document.status ==`)).toMatch(/^line 1, column \d+: /);
  expect(wrong(`event.document.statuss == 'x'`)).toMatch(
    /line 1, column 15.*no field "statuss"; it has .*status/,
  );
  expect(wrong(`evnt.document.status == 'x'`)).toContain('there is no "evnt"');
  expect(wrong(`event.documents.status == 'x'`)).toContain('event has no field "documents"');
  expect(wrong(`event.document.status == 1`)).toContain('a text and a whole number are never equal');
  expect(wrong(`event.document.status + 1 == 'x'`)).toContain('does not take a text and a whole number');
  expect(wrong(`event.document.status`)).toContain('it comes to a text, and must come to true or false');
  expect(wrong(`event.document.status && true`)).toContain('stands where true or false must');
  expect(wrong(`wrongly(event.document.status)`)).toContain('there is no function "wrongly"');
  expect(wrong(`size(event.document.depth) > 1`)).toContain('"size" does not take a whole number');
  expect(wrong(`event.document.depth.startsWith('x')`)).toContain('does not take');
  expect(wrong(`event.document.status.all(x, true)`)).toContain('cannot be gone through');
  expect(wrong(`true &&\n  event.document.nothing`)).toMatch(/^line 2, column /);
  expect(wrong(`event.document.toolName == 'x'`)).toContain('no field "toolName"');
  expect(wrong(`event.document.toolName == 'x'`, ['sub_agent_tool_calls'])).toBeNull();
  for (const fine of [
    `size(event.document.tags) > 1 && 'x' in event.document.tags`,
    `event.document.metadata.a.b == 1 && size(event.document.metadata) > 0 && 'a' in event.document.metadata`,
    `event.document.title.matches('^a+$') || event.document.title.size() < 3`,
    `event.document.tags.exists(tag, tag.startsWith('x')) ? true : event.document.tags.filter(t, t == 'y').size() == 1`,
    `timestamp(event.document.createdAt) < timestamp('2030-01-01T00:00:00Z') || type(event.document.title) == string`,
    `!(event.document.tags == ['a', 'b']) && event.document.createdAt >= 5.0 && int('3') + 1 == 4`,
    `event.before == null || event.before.title != event.document.title`,
  ])
    expect([fine, wrong(fine, ['sessions'])]).toEqual([fine, null]);
  expect(wrong('('.repeat(1_900))).toContain('nested too deep');
  const loops = `event.document.args.all(a, event.document.args.all(b, event.document.args.all(c, a == b)))`;
  expect(wrong(loops)).toContain('loops within loops');
});

test('what takes long is broken off, whatever it loops over', () => {
  const many = Array.from({ length: 20_000 }, (_, at) => at);
  const condition = conditionOf('event.document.args.all(a, event.document.args.all(b, a + b >= 0))', [
    'tasks',
  ]);
  const elapsed = stopwatch();
  expect(condition(task({ args: many }))).toMatchObject({
    holds: false,
    error: expect.stringContaining('longer than'),
  });
  expect(elapsed()).toBeLessThan(2_000);
});

test('a document nested deeper than anybody can follow, and a text that is long to look through, do not hold and do no harm', () => {
  let deep: JsonObject = {};
  for (let at = 0; at < 20_000; at++) deep = { deep };
  const condition = conditionOf(`event.document.name == 'x'`, ['tasks']);
  expect(condition(task({ name: 'x', args: deep }))).toMatchObject({
    holds: false,
    error: expect.any(String),
  });
  const elapsed = stopwatch();
  const slow = conditionOf(`event.document.result.matches('(x+x+)+y')`, ['tasks']);
  wrong(`event.document.args${'.a'.repeat(1_950)} == 1`);
  expect(slow(task({ result: 'x'.repeat(3_000_000) })).holds).toBe(false);
  expect(elapsed()).toBeLessThan(1_000);
});

test('an update fires where it makes the condition true; a rule can ask for every one', () => {
  const condition = conditionOf(`event.document.status == 'success'`, ['tasks']);
  const edge = { edge: true, conditional: true };
  const update = (before: string, after: string) => task({ status: after, result: 'x' }, { status: before });
  expect(fires(condition, edge, update('running', 'success')).holds).toBe(true);
  expect(fires(condition, edge, update('success', 'success')).holds).toBe(false);
  expect(fires(condition, edge, update('success', 'running')).holds).toBe(false);
  expect(fires(condition, { ...edge, edge: false }, update('success', 'success')).holds).toBe(true);
  const always = conditionOf(null, ['tasks']);
  expect(fires(always, { edge: true, conditional: false }, update('a', 'b')).holds).toBe(true);
  // Who compares with what was before has said it himself.
  const changed = conditionOf(`event.document.status != event.before.status`, ['tasks']);
  expect(fires(changed, edge, update('a', 'b')).holds).toBe(true);
});

test('* is one segment; a path that no collection has matches none', () => {
  const user = '0193b6a0-0000-7000-8000-00000000000A';
  expect(globOf('users/*/orch-chats/*/tasks')!.collections).toEqual(['tasks']);
  expect(globOf('users/*/orch-chats/*/sub-agents/*/messages')!.collections).toEqual(['sub_agent_messages']);
  expect(globOf('users/*/orch-chats/*/*')!.collections).toEqual(['messages', 'tasks', 'sub_agents']);
  expect(globOf('*')!.collections).toEqual(['sessions', 'spaces', 'runs']);
  expect(globOf(`users/${user}/orch-chats/*/messages`)!.collections).toEqual(['messages']);
  expect(globOf('users/*/messages')!.collections).toEqual([]);
  for (const no of [
    '',
    'users//tasks',
    '/spaces',
    'spaces/',
    'users/**/tasks',
    'users/(a|b)/orch-chats/*/tasks',
    'spa ces',
  ])
    expect(globOf(no)).toBeNull();
  const pattern = new RegExp(globOf(`users/${user}/orch-chats/*/messages`)!.pattern);
  expect(pattern.test(`users/${user.toLowerCase()}/orch-chats/c/messages`)).toBe(true);
  expect(pattern.test(`users/${user.toLowerCase()}/orch-chats/c/d/messages`)).toBe(false);
  expect(pattern.test(`users/b/orch-chats/c/messages`)).toBe(false);
  expect(Object.keys(COLLECTIONS)).toHaveLength(9);
});

test('the package that receivers use verifies a signature under either of two secrets', () => {
  const [old, fresh] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map(
    (bytes) => `whsec_${bytes.toString('base64')}`,
  ) as [string, string];
  const signed = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1_000), body: '{"a":"ü"}' };
  const headers = headersFor([keyOf(fresh), keyOf(old)], signed);
  for (const secret of [old, fresh])
    expect(new Webhook(secret).verify(signed.body, headers)).toEqual({ a: 'ü' });
  expect(() =>
    new Webhook(`whsec_${Buffer.alloc(32, 3).toString('base64')}`).verify(signed.body, headers),
  ).toThrow();
  expect(() => new Webhook(old).verify('{"a":"u"}', headers)).toThrow();
  const raw = headersFor([keyOf('a text that is no base64!')], signed);
  expect(new Webhook('a text that is no base64!', { format: 'raw' }).verify(signed.body, raw)).toBeTruthy();
  // And ours is as strict.
  const given = new Headers(headers);
  expect(isSigned([keyOf(old)], given, signed.body)).toBe(true);
  expect(isSigned([keyOf(old)], given, `${signed.body} `)).toBe(false);
  expect(isSigned([], given, signed.body)).toBe(false);
  expect(isSigned([keyOf(old)], given, signed.body, Date.now() + 301_000)).toBe(false);
});

test('waits grow twofold up to their limit, are drawn from all of that, and are never shorter than was asked for', () => {
  const retry = { maxAttempts: 4, initialBackoffMs: 100, maxBackoffMs: 250 };
  const failed = { ok: false, again: true, error: { code: 'x', message: 'x' } };
  const wait = (attempt: number, random: number, more = {}) =>
    outcomeOf({ ...failed, ...more }, { attempt, retry, durationMs: 1 }, () => random).delayMs;
  expect([1, 2, 3].map((attempt) => wait(attempt, 1))).toEqual([100, 200, 250]);
  expect([0, 0.5].map((random) => wait(2, random))).toEqual([0, 100]);
  expect(wait(1, 1, { retryAfterMs: 5_000 })).toBe(5_000);
  expect(wait(3, 1, { retryAfterMs: 10 })).toBe(250);
  expect(outcomeOf(failed, { attempt: 4, retry, durationMs: 1 }).status).toBe('dead');
  expect(outcomeOf({ ...failed, again: false }, { attempt: 1, retry, durationMs: 1 }).status).toBe('dead');
});

test('a text is filled in from the document, and what is filled in is not read again', () => {
  const told = {
    event: { type: 'update', path: 'a/b' },
    document: { name: '{{document.secret}}', n: 1, list: [1] },
    before: null,
  };
  expect(
    filledIn('{{document.name}} {{ document.data.n }} {{document.list}} {{before.n}}. {{event.type}}', told),
  ).toBe('{{document.secret}} 1 [1] . update');
  expect(templateProblem('{{document.status}} {{before.data.status}}', ['tasks'])).toBeNull();
  expect(templateProblem('{{document.statuss}}', ['tasks'])).toContain('no "statuss"');
  expect(templateProblem('{{secrets.X}}', ['tasks'])).toContain('known are');
});
