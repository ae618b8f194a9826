import { allEndpoints, type Endpoint } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { Random } from '../simulation/random.ts';
import { badJson } from './bad-values.ts';
import type { RefusalFixture } from './fixture.ts';
import { sampleOf } from './sample.ts';

// Requests that no endpoint may take, made from those that it does. Each is known to be bad: by the endpoint's own schema, or
// by what was done to it.

export interface BadRequest {
  kind: string;
  endpoint: Endpoint;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream;
}

type Maker = (
  random: Random,
  endpoint: Endpoint,
  good: BadRequest,
  fixture: RefusalFixture,
) => BadRequest | null;

const MEGABYTE = 1_048_576;
const blank = new Uint8Array(10 * MEGABYTE + 1).fill(32);

const garbageIds = [
  ...[
    'x',
    'null',
    'undefined',
    '0',
    '-1',
    '%00',
    '%',
    '%zz',
    '%ff',
    '%ED%A0%80',
    '%F0%9F%98%80',
    '%2f',
    '%5c',
  ],
  ...[
    '*',
    '%3Cscript%3E',
    "';drop%20table%20agents",
    '1e9',
    '0x1',
    'x'.repeat(300),
    '%0a',
    'a%20b',
    '[object%20Object]',
  ],
  ...['00000000-0000-0000-0000-00000000000g', '{agentId}', ':agentId', '__proto__', 'constructor', ''],
];
const garbageTexts = [
  '',
  '{',
  '[',
  '{"a":}',
  "{'a':1}",
  '{"a":1,}',
  'undefined',
  'NaN',
  '\ufeff\ufeff{}',
  '{}{}',
  '\0',
  'nul',
  '"',
  '"\t"',
  '01',
  '{"a":1}\0',
  '/**/{}',
];
const garbageBytes = [
  [0xff, 0xfe, 0x7b, 0, 0x7d, 0],
  [0xc0, 0x80],
  [0x22, 0xed, 0xa0, 0x80, 0x22],
  [0x7b, 0x22, 0xff],
  [0xf5, 0x80],
  [0x1f, 0x8b, 8],
];
const garbageFiles = [
  '{',
  '- a\n- b',
  'name: [',
  '---\nname: x\n',
  'name: "a\\0b"',
  'name: &a x\ntags: [*a]',
  '!!js/function x',
  '[]',
  '---\n- 1\n---\nx',
  'name: x\nunknown: 1',
  '{"name":"x","__proto__":{}}',
  'name: 1',
  '\t',
  `name: x\nmetadata: ${'['.repeat(5_000)}`,
];
const wrongTypes = [
  'text/html',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/jsonx',
  'application/json; charset=utf-16',
  'json',
  '*/*',
  '',
  ';',
  'application/json, text/plain',
];
const oddKeys = ['', 'x'.repeat(201), 'ä', '\x7f', 'a\tb', '\xa0\xff', 'x'.repeat(9_000)];
const oddAccepts = [
  '*/*',
  'image/png',
  'text/html;q=0.9',
  ';;;',
  'x'.repeat(5_000),
  'application/json;q=banana',
  '',
];
const oddEventIds = ['x', '-1', '1.5', '1e3', '9'.repeat(16), '0x1', '1,2', 'NaN', '\xff', '1 2'];
const oddAuthorizations = [
  'Bearer',
  'Bearer x',
  'Basic eDp5',
  'Bearer  ',
  'Bearer a b',
  'x'.repeat(9_000),
  'Bearer tsk_\xff',
  `Bearer ${'.'.repeat(3_000)}`,
  'Bearer a.b.c',
  '',
];
const oddQueryValues = [
  'x',
  '-1',
  '0',
  '1.5',
  '99999999999999999999',
  'NaN',
  'Infinity',
  '%00',
  'a%00b',
  'null',
  '[]',
  '1e400',
  'x'.repeat(1_500),
  '%F0%9F%98%80',
  '%22',
];

/** Bad in itself, or by what the endpoint's query takes. */
const badQuery: Maker = (random, { query }, good) => {
  const begin = good.path.includes('?') ? `${good.path}&` : `${good.path}?`;
  const names = Object.keys(query?.shape ?? {});
  const path = (more: string) => ({ ...good, path: begin + more });
  switch (random.pick([0, 1, 2, 3, 3, 3, 4, 4])) {
    case 0:
      return path(
        `${random.pick(['unknown', '__proto__', 'constructor', 'toString', 'Limit', 'limit[]', '%00', 'limit%20', ' '])}=1`,
      );
    case 1: {
      if (names.length === 0) return null;
      const name = random.pick(names);
      return path(`${name}=1&${name}=${random.pick(['1', '2'])}`);
    }
    case 2:
      return path(
        `${random.pick([...names, 'x'])}=${random.pick(['%', '%zz', '%ff', '%e2%82', 'a%2', '%ED%A0%80'])}`,
      );
    case 3:
      if (!names.includes('cursor')) return null;
      return path(
        `cursor=${random.pick(['x', 'e30', 'bnVsbA', 'Ilx1MDAwMCI', 'LTE', '%F0%9F%98%80', `${newId()}x`])}`,
      );
    default: {
      if (names.length === 0) return null;
      const name = random.pick(names);
      const value = random.pick(oddQueryValues);
      const field = query!.shape[name] as { safeParse(value: unknown): { success: boolean } };
      const isBad = value.includes('%00') || !field.safeParse(decodeURIComponent(value)).success;
      return isBad ? path(`${name}=${value}`) : null;
    }
  }
};

function decodedOr(text: string, otherwise: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return otherwise;
  }
}

const unknownId: Maker = (random, endpoint, good, fixture) => {
  const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (names.length === 0) return null;
  const name = random.pick(names);
  const field = endpoint.params!.shape[name] as { safeParse(value: unknown): { success: boolean } };
  const fresh = name === 'version' ? '999999' : name === 'capabilityId' ? 'no_such_thing' : newId();
  const garbage = random.pick(garbageIds);
  const decoded = decodedOr(garbage, '\0');
  // A key may be any text; one that nobody can write in an address is no key either.
  const takes = field.safeParse(decoded).success && !decoded.includes('\0');
  // Putting a secret or a memory under a name that is not there yet is how they are made.
  const made = endpoint.method === 'PUT' && (name === 'name' || name === 'key');
  const instead = random.chance(0.5) && !made ? fresh : takes ? null : garbage;
  const query = good.path.split('?')[1];
  return instead === null
    ? null
    : { ...good, path: fixture.pathOf(endpoint, { [name]: instead }) + (query ? `?${query}` : '') };
};

const wrongMethod: Maker = (random, { path }, good) => {
  const taken = allEndpoints()
    .filter((other) => other.path === path)
    .map(({ method }) => method as string);
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY', 'FOO'].filter(
    (method) => !taken.includes(method),
  );
  const method = random.pick(others);
  const { body, ...rest } = good;
  return { ...rest, method, ...(body === undefined || method === 'GET' ? {} : { body }) };
};

const badBody: Maker = (random, endpoint, good) => {
  if (endpoint.method === 'GET') return null;
  if (!endpoint.body) return { ...good, body: random.pick(['{"a":1}', 'x', '[]', 'null', '0', '{', '"{}"']) };
  // Whatever is sent is a file.
  if (endpoint.bytes) return null;
  if (endpoint.bodyTypes) return { ...good, body: random.pick(garbageFiles) };
  const bad = badJson(random, endpoint.body, sampleOf(random, endpoint.body));
  return bad === null ? null : { ...good, body: bad };
};

const garbageBody: Maker = (random, endpoint, good) => {
  if (!endpoint.body || endpoint.bytes) return null;
  if (random.chance(0.3)) return { ...good, body: Uint8Array.from(random.pick(garbageBytes)) };
  if (endpoint.bodyTypes) return null;
  const cut = JSON.stringify(sampleOf(random, endpoint.body));
  const body = random.chance(0.3) ? cut.slice(0, random.int(0, cut.length - 1)) : random.pick(garbageTexts);
  // Nothing at all is right where a body may be left out.
  if (body === '' && endpoint.body.safeParse(undefined).success) return null;
  return { ...good, body };
};

const wrongType: Maker = (random, { body, bodyTypes }, good) => {
  if (!body) return null;
  if (random.chance(0.15))
    return { ...good, headers: { ...good.headers, 'content-encoding': random.pick(['gzip', 'br', 'x']) } };
  const type = random.pick(wrongTypes);
  if (bodyTypes?.includes(type)) return null;
  return { ...good, headers: { ...good.headers, 'content-type': type } };
};

const oversized: Maker = (random, endpoint, good) => {
  if (endpoint.method === 'GET') return null;
  const most = endpoint.bodyBytes ?? MEGABYTE;
  if (random.chance(0.6)) {
    const length = random.pick([String(most + 1), '9'.repeat(30), '1e300']);
    return { ...good, headers: { ...good.headers, 'content-length': length } };
  }
  const bytes = blank.subarray(0, most + 1);
  if (random.chance(0.5)) return { ...good, body: bytes };
  let sent = 0;
  const stream = new ReadableStream({
    pull(controller) {
      if (sent > most) return controller.close();
      controller.enqueue(bytes.subarray(sent, sent + 262_144));
      sent += 262_144;
    },
  });
  return { ...good, body: stream };
};

const badHeader: Maker = (random, endpoint, good) => {
  const headers = (more: Record<string, string>) => ({ ...good, headers: { ...good.headers, ...more } });
  if (endpoint.path.endsWith('/events') && random.chance(0.7))
    return headers({ accept: 'text/event-stream', 'last-event-id': random.pick(oddEventIds) });
  if (endpoint.method === 'POST' && random.chance(0.5))
    return headers({ 'idempotency-key': random.pick(oddKeys) });
  if (random.chance(0.3)) return headers({ 'troupe-key': random.pick(['x', '', `tpk_${'x'.repeat(43)}`]) });
  return headers({ authorization: random.pick(oddAuthorizations) });
};

const longAddress: Maker = (random, _, good) => ({
  ...good,
  path: `${good.path}${good.path.includes('?') ? '&' : '?'}${random.pick(['x', 'limit', 'cursor'])}=${'y'.repeat(random.pick([8_000, 100_000]))}`,
});

const makers: Record<string, { weight: number; make: Maker }> = {
  body: { weight: 40, make: badBody },
  garbage: { weight: 12, make: garbageBody },
  query: { weight: 14, make: badQuery },
  id: { weight: 12, make: unknownId },
  method: { weight: 8, make: wrongMethod },
  type: { weight: 6, make: wrongType },
  header: { weight: 6, make: badHeader },
  oversized: { weight: 2, make: oversized },
  address: { weight: 1, make: longAddress },
};
const weights = Object.fromEntries(Object.entries(makers).map(([kind, { weight }]) => [kind, weight]));

/** The bad request of this number; always the same, but for the ids of what there is. */
export function badRequest(seed: number, fixture: RefusalFixture): BadRequest {
  const random = new Random(seed);
  for (;;) {
    const endpoint = random.pick(allEndpoints());
    const kind = random.weighted(weights);
    const bad = makers[kind]!.make(random, endpoint, goodRequest(random, endpoint, fixture), fixture);
    if (bad) return decorate(random, { ...bad, kind });
  }
}

export function goodRequest(random: Random, endpoint: Endpoint, fixture: RefusalFixture): BadRequest {
  const required = Object.entries(endpoint.query?.shape ?? {}).filter(
    ([, field]) => !field.safeParse(undefined).success,
  );
  const query = required
    .map(([name]) => (name === 'collections' ? `${name}=sessions` : `${name}=1`))
    .join('&');
  const path = fixture.pathOf(endpoint) + (query ? `?${query}` : '');
  const good = { kind: 'good', endpoint, path, method: endpoint.method, headers: {} };
  if (!endpoint.body) return good;
  const headers = { 'content-type': endpoint.bodyTypes?.[0] ?? 'application/json' };
  const body = endpoint.bodyTypes
    ? '---\nname: file\n---\n'
    : JSON.stringify(sampleOf(random, endpoint.body));
  return { ...good, headers, body };
}

/** What may come with any request and changes nothing about it. */
function decorate(random: Random, request: BadRequest): BadRequest {
  const headers: Record<string, string> = {};
  if (random.chance(0.2)) headers.accept = random.pick(oddAccepts);
  if (random.chance(0.1)) headers['x-unknown'] = random.pick(['', 'x'.repeat(8_000), '\xff']);
  if (random.chance(0.1)) headers['last-event-id'] = '1';
  if (random.chance(0.1) && request.kind !== 'oversized')
    headers['content-length'] = random.pick(['-1', 'x', '0', '7']);
  if (random.chance(0.1) && request.method === 'POST')
    headers['idempotency-key'] = `fuzz ${random.int(0, 1e9)}`;
  return { ...request, headers: { ...headers, ...request.headers } };
}
