import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import {
  ApiError,
  ConflictError,
  ConnectionError,
  CredentialsError,
  RateLimitedError,
  ServerError,
  TimeoutError,
  Troupe,
  TroupeClientError,
  type TroupeOptions,
} from '../src/index.ts';
import { pauseBefore } from '../src/transport.ts';
import { openProxy, type Passing, type Way } from './proxy.ts';

let server: TestServer;
let proxy: Awaited<ReturnType<typeof openProxy>>;

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterAll(() => server.close());
afterEach(() => proxy?.close());

/** A client behind a proxy that follows the rules one by one, the last for ever. */
async function behind(rules: ((way: Way, request: Passing) => unknown)[], options: TroupeOptions = {}) {
  let at = 0;
  proxy = await openProxy(server.url, (request, way) =>
    rules[Math.min(at++, rules.length - 1)]!(way, request),
  );
  return new Troupe({ baseUrl: proxy.url, ...options });
}

const pass = (way: Way) => way.pass();
const namesOf = async (search: string) => {
  const { data } = await new Troupe({ baseUrl: server.url }).agents.list({ query: { search } });
  return data.map(({ name }) => name);
};

it('a POST whose answer is lost is sent again with the same key, and done once', async () => {
  const troupe = await behind([(way) => way.lose(), (way) => way.half(), pass]);
  const agent = await troupe.agents.create({ body: { name: 'Lost once' } });
  expect(agent.name).toBe('Lost once');
  expect(await namesOf('Lost once')).toEqual(['Lost once']);
  const keys = proxy.seen.map(({ headers }) => headers['idempotency-key']);
  expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
});

it('the key of the caller is used where there is one', async () => {
  const troupe = await behind([pass]);
  const options = { idempotencyKey: 'mine' };
  const first = await troupe.agents.create({ body: { name: 'Keyed' } }, options);
  expect(await troupe.agents.create({ body: { name: 'Keyed' } }, options)).toEqual(first);
  await expect(troupe.agents.create({ body: { name: 'Other' } }, options)).rejects.toMatchObject({
    code: 'idempotency_conflict',
  });
});

it('a deletion whose answer is lost is done', async () => {
  const troupe = await behind([pass, pass, (way) => way.lose(), pass]);
  const { id: agentId } = await troupe.agents.create({ body: { name: 'Host' } });
  const session = await troupe.open(agentId);
  await session.delete();
  expect(proxy.seen.slice(2).map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
  // Asked for the first time it is what it is.
  await expect(session.delete()).rejects.toMatchObject({ code: 'not_found' });
});

it('waits as long as the server asks, and then goes on', async () => {
  const troupe = await behind([(way) => way.answer(503, { 'retry-after': '1' }), pass]);
  const began = performance.now();
  await troupe.agents.list();
  expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  expect(proxy.seen).toHaveLength(2);
});

it('who is to wait for very long is told so instead', async () => {
  const troupe = await behind([(way) => way.answer(429, { 'retry-after': '3600' })]);
  await expect(troupe.agents.list()).rejects.toSatisfy(
    (error) => error instanceof RateLimitedError && error.retryAfterMs === 3_600_000,
  );
  expect(proxy.seen).toHaveLength(1);
});

it('asks again while its own first try is still under way', async () => {
  const underWay = JSON.stringify({ status: 409, code: 'request_under_way', detail: 'Wait.' });
  const troupe = await behind([(way) => way.answer(409, { 'retry-after': '0' }, underWay), pass]);
  await troupe.agents.create({ body: { name: 'Slow' } });
  expect(proxy.seen).toHaveLength(2);
});

it('a key that a process which died has left behind is waited for, and not for ever', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    const problem = JSON.stringify({ status: 409, code: 'request_under_way', detail: 'Wait.' });
    const underWay = () => new Response(problem, { status: 409, headers: { 'retry-after': '1' } });
    const made = () => Response.json({ name: 'Late' }, { status: 201 });
    /** What comes of a POST where the key is free after so long; every request with its time and its key. */
    const tried = async (freeAfterMs: number, options: TroupeOptions = {}) => {
      const began = performance.now();
      const seen: { at: number; key: string | null }[] = [];
      const troupe = new Troupe({
        ...options,
        fetch: (async (_: string, { headers }: RequestInit) => {
          const at = performance.now() - began;
          seen.push({ at, key: new Headers(headers).get('idempotency-key') });
          // The first answer is lost with its process; another failure in between is one of the tries, this is none.
          if (seen.length === 1 || seen.length === 4) throw new TypeError('gone');
          return at < freeAfterMs ? underWay() : made();
        }) as typeof fetch,
      });
      const answer = troupe.agents.create({ body: { name: 'Late' } }).then(
        ({ name }) => name,
        (error) => error.code,
      );
      await vi.advanceTimersByTimeAsync(120_000);
      return { answer: await answer, seen };
    };
    const { answer, seen } = await tried(60_000);
    expect(answer).toBe('Late');
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
    const pauses = seen.slice(2).map(({ at }, before) => at - seen[before + 1]!.at);
    expect(pauses.filter((ms, which) => ms < 1_000 && which !== 2)).toEqual([]);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(5_000);
    const never = await tried(Number.POSITIVE_INFINITY);
    expect(never.answer).toBe('request_under_way');
    expect(never.seen.at(-1)!.at).toBeGreaterThan(65_000);
    expect(never.seen.at(-1)!.at).toBeLessThan(77_000);
  } finally {
    vi.useRealTimers();
  }
});

it.each([400, 401, 403, 404, 405, 409, 413, 415, 422])('%i is never sent again', async (status) => {
  const troupe = await behind([(way) => way.answer(status, {}, '<html>no</html>')]);
  await expect(troupe.agents.list()).rejects.toSatisfy(
    (error) => error instanceof ApiError && error.status === status && error.code === `http_${status}`,
  );
  expect(proxy.seen).toHaveLength(1);
});

it('gives up after as many tries as allowed', async () => {
  const troupe = await behind([(way) => way.answer(500, {}, 'null')], { retries: 2 });
  await expect(troupe.agents.list()).rejects.toBeInstanceOf(ServerError);
  expect(proxy.seen).toHaveLength(3);
});

it('says when there is no server, or another one', async () => {
  const troupe = await behind([(way) => way.answer(200, { 'content-type': 'text/html' }, '<html>')]);
  await expect(troupe.agents.list()).rejects.toSatisfy(
    (error) => error instanceof TroupeClientError && error.message.includes('is not Troupe'),
  );
  const { url } = proxy;
  await proxy.close();
  await expect(new Troupe({ baseUrl: url, retries: 0 }).agents.list()).rejects.toBeInstanceOf(
    ConnectionError,
  );
});

it('a try that takes too long is given up, and the next one may succeed', async () => {
  const troupe = await behind([(way) => way.keepSilent(), pass], { timeoutMs: 200 });
  await troupe.agents.list();
  expect(proxy.seen).toHaveLength(2);
  const silent = new Troupe({ baseUrl: proxy.url, retries: 0 });
  await proxy.close();
  proxy = await openProxy(server.url, (_, way) => way.keepSilent());
  const options = { timeoutMs: 50 };
  await expect(
    new Troupe({ baseUrl: proxy.url, retries: 0 }).agents.list({}, options),
  ).rejects.toBeInstanceOf(TimeoutError);
  await expect(silent.agents.list()).rejects.toBeInstanceOf(ConnectionError);
});

it('an abort ends a request under way, and a pause between two', async () => {
  const troupe = await behind([(way) => way.keepSilent()]);
  const abort = new AbortController();
  const asking = troupe.agents.list({}, { signal: abort.signal });
  await until('the request is there', () => proxy.seen.length === 1);
  abort.abort(new Error('enough'));
  await expect(asking).rejects.toThrow('enough');
  expect(proxy.seen).toHaveLength(1);
  await proxy.close();
  proxy = await openProxy(server.url, (_, way) => way.answer(503, { 'retry-after': '20' }));
  const pausing = new AbortController();
  const waiting = new Troupe({ baseUrl: proxy.url }).agents.list({}, { signal: pausing.signal });
  await until('the first try is over', () => proxy.seen.length === 1 && proxy.open.size === 0);
  pausing.abort(new Error('enough of this'));
  await expect(waiting).rejects.toThrow('enough of this');
});

it('a function is asked for the token before every try; its failure is told as such', async () => {
  let asked = 0;
  const token = async () => `token-${++asked}`;
  const troupe = await behind([(way) => way.answer(500), (way) => way.answer(401)], { key: 'tpk_x', token });
  await expect(troupe.agents.list()).rejects.toMatchObject({ status: 401 });
  expect(proxy.seen.map(({ headers }) => [headers.authorization, headers['troupe-key']])).toEqual([
    ['Bearer token-1', 'tpk_x'],
    ['Bearer token-2', 'tpk_x'],
  ]);
  const broken = new Troupe({
    baseUrl: proxy.url,
    token: () => {
      throw new Error('signed out');
    },
  });
  await expect(broken.agents.list()).rejects.toSatisfy(
    (error) => error instanceof CredentialsError && (error.cause as Error).message === 'signed out',
  );
  expect(proxy.seen).toHaveLength(2);
});

it('an answer that is shown once is not had by sending again', async () => {
  const troupe = await behind([(way) => way.lose(), pass]);
  await expect(troupe.access.createKey({ body: { name: 'once' } })).rejects.toSatisfy(
    (error) => error instanceof ConflictError && error.code === 'answer_not_kept',
  );
});

describe('the pause before another try', () => {
  it('is at most 2 s for the first half minute in which a server cannot be reached', () => {
    const unreachable = new ConnectionError('connect ECONNREFUSED');
    const pauses = Array.from({ length: 20 }, (_, attempt) => pauseBefore(attempt, unreachable));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(2_000);
    expect(pauses.reduce((sum, one) => sum + one)).toBeGreaterThan(15_000);
    expect(pauseBefore(20, unreachable)).toBeGreaterThanOrEqual(15_000);
  });

  it('grows to half a minute while a server answers with errors', () => {
    expect(pauseBefore(0)).toBeLessThanOrEqual(200);
    expect(pauseBefore(10)).toBeGreaterThanOrEqual(15_000);
  });
});
