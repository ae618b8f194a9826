import { allEndpoints, commonProblems, type Endpoint, problem } from '@troupe/protocol';
import { someOf } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { problemsOf } from '../../src/http/problem-responses.ts';
import { Random } from '../simulation/random.ts';
import { goodRequest } from './bad-requests.ts';
import { RefusalFixture } from './fixture.ts';
import { sampleOf } from './sample.ts';

// What the contract allows, at its edges: it may be done or refused, and is never an error of ours.
// Of the bodies of an endpoint a quarter is sent, and all in `npm run test:long`.

const AT_ONCE = 10;
let fixture: RefusalFixture;
beforeAll(async () => {
  fixture = await RefusalFixture.open();
});
afterAll(() => fixture?.close());

const edges: unknown[] = [
  ...[0, 1, -1, 0.5, 1e-300, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, 1e6, 1e9, 1e300],
  ...[
    'x',
    'X'.repeat(200),
    '😀'.repeat(60),
    '\u0001',
    '\u202e',
    '\ufffe',
    '%',
    '_%\\',
    "'",
    '"',
    '$1',
    '{}',
    'ß'.repeat(64),
  ],
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+23:59',
    '9999-12-31T23:59:59.999999999-23:59',
    '2024-02-29T00:00:00Z',
  ],
  ...[
    'https://example.com/',
    'https://[::1]:99999/',
    'http://a/%00',
    'http://\u0001/',
    'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  ],
  ...['00000000-0000-0000-0000-000000000000', null, true, [], {}, { '': { '': [] } }, [['']]],
];

/** The document with one value after another replaced by this edge. */
function* variants(value: unknown, edge: unknown): Generator<unknown> {
  yield edge;
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value))
    for (const other of variants(item, edge))
      yield Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other };
}

async function send(failed: string[], endpoint: Endpoint, path: string, init: RequestInit): Promise<void> {
  const response = await fixture.request(path, init);
  const text = await response.text();
  const isRefused = response.status >= 400 && init.method === endpoint.method;
  if (response.status >= 500 || (isRefused && !isDocumented(endpoint, response.status, text)))
    failed.push(`${response.status} ${init.method} ${path} ${init.body ?? ''} ${text}`);
}

function isDocumented(endpoint: Endpoint, status: number, text: string): boolean {
  const { code } = problem.parse(JSON.parse(text));
  const known = code in commonProblems || endpoint.problems?.some((declared) => declared === code);
  return Boolean(known) && String(status) in problemsOf(endpoint);
}

test('bodies at the edges of the contract are never a 5xx, and refused as documented', async () => {
  const failed: string[] = [];
  let sent = 0;
  for (const endpoint of allEndpoints()) {
    if (!endpoint.body || endpoint.bodyTypes) continue;
    // One document of a hundred fields is as good as two of ten.
    for (let seed = 1; seed <= (endpoint.bodyBytes ? 1 : 2); seed++) {
      const sample = sampleOf(new Random(seed), endpoint.body);
      const takes = edges
        .flatMap((edge) => [...variants(sample, edge)])
        .filter((body) => endpoint.body!.safeParse(body).success);
      const chosen = someOf(`${endpoint.method} ${endpoint.path} ${seed}`, takes, 1 / 8);
      sent += chosen.length;
      for (let at = 0; at < chosen.length; at += AT_ONCE) {
        const { path, method, headers } = goodRequest(new Random(seed), endpoint, fixture);
        const some = chosen.slice(at, at + AT_ONCE);
        await Promise.all(
          some.map((body) => send(failed, endpoint, path, { method, headers, body: JSON.stringify(body) })),
        );
      }
    }
  }
  expect(failed).toEqual([]);
  expect(fixture.logged).toEqual([]);
  expect(sent).toBeGreaterThan(500);
});

test('queries at the edges of the contract are never a 5xx, and refused as documented', async () => {
  const failed: string[] = [];
  for (const endpoint of allEndpoints()) {
    const { path } = goodRequest(new Random(1), endpoint, fixture);
    for (const name of Object.keys(endpoint.query?.shape ?? {})) {
      const other = path.split('?')[0]!;
      const rest = (path.split('?')[1] ?? '')
        .split('&')
        .filter((part) => part && !part.startsWith(`${name}=`));
      const values = edges.filter((edge) => typeof edge === 'string' || typeof edge === 'number');
      await Promise.all(
        values.map((edge) =>
          send(failed, endpoint, `${other}?${[...rest, `${name}=${encodeURIComponent(edge)}`].join('&')}`, {
            method: 'GET',
          }),
        ),
      );
    }
  }
  expect(failed).toEqual([]);
  expect(fixture.logged).toEqual([]);
});
