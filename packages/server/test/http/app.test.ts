import { stopwatch } from '@troupe/testing';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import pg from 'pg';
import { expect, test } from 'vitest';
import { createLogger, RetryableError, silentLogger } from '../../src/base/index.ts';
import { createApp, type Phase } from '../../src/http/index.ts';
import { answerError } from '../../src/http/problem.ts';

function appIn(phase: Phase, checkDatabase: () => Promise<null> = async () => null): Hono {
  return createApp({
    logger: silentLogger,
    services: () => null,
    health: { version: '1.2.3', phase: () => phase, checkDatabase },
  });
}

test('healthz is well between start and drain only', async () => {
  const ready = await appIn('ready').request('/healthz');
  expect(ready.status).toBe(200);
  expect(ready.headers.get('cache-control')).toBe('no-store');
  expect(await ready.json()).toEqual({ status: 'ok', version: '1.2.3' });
  for (const phase of ['starting', 'draining'] as const) {
    for (const path of ['/healthz', '/readyz']) {
      const response = await appIn(phase).request(path);
      expect([response.status, await response.json()]).toEqual([503, { status: phase }]);
    }
  }
});

test('readyz says whether the database answers, and waits a second for it', async () => {
  const well = await appIn('ready').request('/readyz');
  expect([well.status, await well.json()]).toEqual([200, { status: 'ok', version: '1.2.3' }]);
  const gone = await appIn('ready', () => Promise.reject(new Error('at 10.0.0.1: refused'))).request(
    '/readyz',
  );
  expect([gone.status, await gone.json()]).toEqual([503, { status: 'no_database' }]);
  let asked = 0;
  const silent = appIn('ready', () => {
    asked++;
    return new Promise(() => {});
  });
  const elapsed = stopwatch();
  const both = await Promise.all([silent.request('/readyz'), silent.request('/readyz')]);
  expect(both.map((response) => response.status)).toEqual([503, 503]);
  expect(elapsed()).toBeLessThan(2_000);
  expect(asked).toBe(1);
});

test('what is not there is a problem with a code', async () => {
  const response = await appIn('ready').request('/nowhere', { method: 'POST' });
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(await response.json()).toEqual({
    type: 'about:blank',
    title: 'Not found',
    status: 404,
    code: 'not_found',
    detail: 'There is no POST /nowhere.',
  });
});

test('errors of routes are problems; what is not meant for the caller stays in the log', async () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  const thrown: Record<string, Error> = {
    '/secret': new Error('password is hunter2'),
    '/database': Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' }),
    '/later': new RetryableError('busy', 'Too much is going on.', {
      hint: 'Try again.',
      retryAfterMs: 2_500,
    }),
    '/conflict': new HTTPException(409, { message: 'It is already there.' }),
  };
  const app = new Hono();
  app.get('*', (context) => {
    throw thrown[context.req.path]!;
  });
  app.onError((error, context) => answerError(error, context, logger));
  const ask = async (path: string) => {
    const response = await app.request(path);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const body = (await response.json()) as { code: string; detail: string };
    return { status: response.status, retryAfter: response.headers.get('retry-after'), ...body };
  };
  const secret = await ask('/secret');
  expect(secret).toMatchObject({ status: 500, code: 'internal_error' });
  expect(JSON.stringify(secret)).not.toContain('hunter2');
  const logged = lines.find((line) => line.includes('hunter2'));
  expect(logged).toContain(/under ([\w-]+)\./.exec(secret.detail)![1]!);
  expect(await ask('/database')).toMatchObject({
    status: 503,
    code: 'database_unavailable',
    retryAfter: '1',
  });
  expect(await ask('/later')).toMatchObject({
    status: 503,
    code: 'busy',
    retryAfter: '3',
    detail: 'Too much is going on. Try again.',
  });
  expect(await ask('/conflict')).toMatchObject({
    status: 409,
    code: 'conflict',
    detail: 'It is already there.',
  });
});

test('a request that outlasts its process may be sent again', async () => {
  const pool = new pg.Pool();
  await pool.end();
  const app = new Hono();
  app.get('*', async () => {
    await pool.query('select 1');
    throw new Error('the pool has answered');
  });
  app.onError((error, context) => answerError(error, context, silentLogger));
  const response = await app.request('/');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ code: 'database_unavailable' });
});

test('the log has an error under the number that the answer carries', async () => {
  const lines: string[] = [];
  const app = createApp({
    logger: createLogger('info', { write: (line) => void lines.push(line) }),
    services: () => {
      throw new Error('password is hunter2');
    },
    health: { version: '1.2.3', phase: () => 'ready', checkDatabase: async () => null },
  });
  const response = await app.request('/v1/agents');
  const number = response.headers.get('troupe-request-id')!;
  expect(response.status).toBe(500);
  expect(((await response.json()) as { detail: string }).detail).toContain(number);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ id: number, path: '/v1/agents' });
});
