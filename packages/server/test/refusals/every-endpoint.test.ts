import { allEndpoints, type Endpoint, problem } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problemsOf } from '../../src/http/problem-responses.ts';
import { Random } from '../simulation/random.ts';
import { type BadRequest, goodRequest } from './bad-requests.ts';
import { RefusalFixture } from './fixture.ts';

// Every endpoint, and every way to get it wrong.

let fixture: RefusalFixture;
beforeAll(async () => {
  fixture = await RefusalFixture.open();
});
afterAll(() => fixture?.close());

type Wrong = (good: BadRequest, endpoint: Endpoint) => Partial<BadRequest> | null;
const withQuery = ({ path }: BadRequest, more: string) => path + (path.includes('?') ? '&' : '?') + more;

const ways: Record<string, { status: number; code: string | RegExp; wrong: Wrong }> = {
  'malformed JSON': {
    status: 400,
    code: 'malformed_json',
    wrong: (_, { body, bodyTypes }) => (body && !bodyTypes ? { body: '{"name": ' } : null),
  },
  'a body that is not UTF-8': {
    status: 400,
    code: 'malformed_json',
    wrong: (_, { body, bytes }) => (body && !bytes ? { body: Uint8Array.from([0x22, 0xff, 0x22]) } : null),
  },
  'an unknown field': {
    status: 422,
    code: 'invalid_request',
    wrong: ({ body }, { method, bodyTypes, bytes }) => {
      if (method === 'GET' || bytes) return null;
      if (bodyTypes) return { body: '---\nname: x\nunknown: 1\n---\n' };
      return { body: JSON.stringify({ ...JSON.parse((body as string) ?? '{}'), unknown: 1 }) };
    },
  },
  'an unknown parameter': {
    status: 422,
    code: 'invalid_request',
    wrong: (good) => ({ path: withQuery(good, 'unknown=1') }),
  },
  'a parameter of the wrong type': {
    status: 422,
    code: 'invalid_request',
    wrong: (good, { query }) =>
      query && 'limit' in query.shape ? { path: withQuery(good, 'limit=many') } : null,
  },
  'a cursor that no page gave': {
    status: 422,
    code: 'invalid_request',
    // "\u0000" as our cursors are written: text that no database takes.
    wrong: (good, { query }) =>
      query && 'cursor' in query.shape ? { path: withQuery(good, 'cursor=Ilx1MDAwMCI') } : null,
  },
  'a field that gets lost in copies': {
    status: 422,
    code: 'invalid_request',
    wrong: ({ body }, { bodyTypes }) => {
      if (!body || bodyTypes) return null;
      const { metadata: _, ...rest } = JSON.parse(body as string);
      return {
        body: `{"metadata":{"__proto__":1},${JSON.stringify({ ...rest, x: undefined }).slice(1)}`.replace(
          ',}',
          '}',
        ),
      };
    },
  },
  'the wrong type': {
    status: 422,
    code: /^(invalid_request|import_unreadable)$/,
    wrong: (_, { method, bytes }) => (method === 'GET' || bytes ? null : { body: '[1]' }),
  },
  'a body that is too large': {
    status: 413,
    code: 'body_too_large',
    wrong: (_, { method, bodyBytes = 1_048_576 }) =>
      method === 'GET' ? null : { body: new Uint8Array(bodyBytes + 1).fill(32) },
  },
  'the wrong content type': {
    status: 415,
    code: 'unsupported_media_type',
    wrong: (_, { body }) => (body ? { headers: { 'content-type': 'text/html' } } : null),
  },
  'no content type': {
    status: 415,
    code: 'unsupported_media_type',
    // Bytes, since a text would bring a content type of its own.
    wrong: ({ body }) => (body ? { headers: {}, body: new TextEncoder().encode(body as string) } : null),
  },
  'an id that is none': {
    status: 404,
    code: 'not_found',
    wrong: ({ path }, endpoint) => {
      if (!endpoint.params) return null;
      const none = fixture.pathOf(
        endpoint,
        allTo(endpoint, () => '-'),
      );
      // A name may be "-": then what must be asked is looked at first.
      return { path: none + (/\?.*/.exec(path)?.[0] ?? '') };
    },
  },
  'ids of nothing': {
    status: 404,
    code: /^(not_found|version_not_found)$/,
    wrong: (good, endpoint) => {
      // A secret is made by putting it.
      if (!endpoint.params || (endpoint.method === 'PUT' && 'name' in endpoint.params.shape)) return null;
      const named: Record<string, string> = { version: '99', name: 'NONE', capabilityId: 'none' };
      const path = fixture.pathOf(
        endpoint,
        allTo(endpoint, (name) => named[name] ?? newId()),
      );
      return { path: good.path.includes('?') ? `${path}?${good.path.split('?')[1]}` : path };
    },
  },
  'the wrong method': { status: 405, code: 'method_not_allowed', wrong: () => ({ method: 'PROPFIND' }) },
};

const allTo = ({ params }: Endpoint, make: (name: string) => string) =>
  Object.fromEntries(Object.keys(params!.shape).map((name) => [name, make(name)]));

describe.each(Object.entries(ways))('%s', (_, { status, code, wrong }) => {
  test('is refused by every endpoint, and nothing is stored', async () => {
    const before = await fixture.picture();
    let tried = 0;
    for (const endpoint of allEndpoints()) {
      const good = goodRequest(new Random(1), endpoint, fixture);
      const change = wrong(good, endpoint);
      if (!change) continue;
      tried++;
      const { path, method, headers, body } = { ...good, ...change };
      const response = await fixture.request(path, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      const what = `${endpoint.method} ${endpoint.path}`;
      const said = problem.parse(await response.json());
      expect([what, response.status, said.status]).toEqual([what, status, status]);
      expect([what, said.code]).toEqual([what, code instanceof RegExp ? expect.stringMatching(code) : code]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      if (status !== 405)
        expect([what, Object.keys(problemsOf(endpoint))]).toEqual([
          what,
          expect.arrayContaining([String(status)]),
        ]);
      if (status === 405) {
        const allowed = response.headers.get('allow')!.split(', ');
        expect([what, allowed]).toEqual([what, expect.arrayContaining([endpoint.method, 'OPTIONS'])]);
        expect(allowed.includes('HEAD')).toBe(allowed.includes('GET'));
      }
    }
    expect(tried).toBeGreaterThan(6);
    expect(await fixture.picture()).toEqual(before);
  });
});

test('HEAD is GET without a body, and opens no stream; OPTIONS tells methods and allows no other origin', async () => {
  const before = await fixture.picture();
  for (const endpoint of allEndpoints()) {
    const { path } = goodRequest(new Random(1), endpoint, fixture);
    const what = `${endpoint.method} ${endpoint.path}`;
    const options = await fixture.app.request(path, {
      method: 'OPTIONS',
      headers: { origin: 'https://example.com', 'access-control-request-method': endpoint.method },
    });
    expect([what, options.status, await options.text()]).toEqual([what, 204, '']);
    expect(options.headers.get('allow')).toContain(endpoint.method);
    expect([...options.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    if (endpoint.method !== 'GET') continue;
    const headers = { accept: 'text/event-stream', origin: 'https://example.com' };
    const head = await fixture.request(path, { method: 'HEAD', headers });
    // A key is nobody, the run is of a session, and nobody was erased.
    const absent = [
      '/v1/me',
      '/v1/me/export',
      '/v1/networks/{network}/runs/{runId}',
      '/v1/entities/{entityId}/erasure',
    ];
    const status = absent.includes(endpoint.path) ? 404 : 200;
    expect([what, head.status, await head.text()]).toEqual([what, status, '']);
    expect([...head.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
  expect(fixture.readers()).toBe(0);
  expect(await fixture.picture()).toEqual(before);
});

test('every answer has a number of its own and must not be sniffed', async () => {
  const numbers = new Set<string>();
  const paths = ['/healthz', '/readyz', '/openapi.json', '/docs', '/v1/agents', '/v1/nothing', '/nowhere'];
  for (const path of paths) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'FOO']) {
      const response = await fixture.request(path, { method });
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('server') ?? response.headers.get('x-powered-by')).toBe(null);
      numbers.add(response.headers.get('troupe-request-id')!);
    }
  }
  expect(numbers.has(null as never)).toBe(false);
  expect(numbers.size).toBe(paths.length * 5);
});
