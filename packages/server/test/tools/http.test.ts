import { type Json, type SnapshotTool, snapshotTool } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { createTools } from '@troupe/server/parts';
import { stopwatch } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TroupeError } from '../../src/base/errors.ts';
import type { ToolContext } from '../../src/kernel/index.ts';
import { createOutgoing } from '../../src/outgoing/client.ts';
import { hiddenOf } from '../../src/outgoing/hidden.ts';
import { openUnruly } from './unruly.ts';

// The executor over the real guarded client, against a server on loopback that misbehaves.

let unruly: Awaited<ReturnType<typeof openUnruly>>;
const planted: Record<string, string> = {
  KEY: 'kE/y+9 "quoted"&=planted',
  PLAIN: 'sk-live-0123456789abcdef',
  BASIC: Buffer.from('ada:lovelace-1815').toString('base64'),
  LINES: 'two\nlines',
};

beforeAll(async () => {
  unruly = await openUnruly();
});
afterAll(() => unruly.close());

interface Sent {
  request: Record<string, Json>;
  response?: Record<string, Json>;
  args?: Json;
  context?: Partial<ToolContext>;
}

async function call({ request, response, args = {}, context }: Sent): Promise<Json> {
  const outgoing = createOutgoing({
    allowed: async () => unruly.allow,
    lookup: (_host, _options, done) =>
      done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []),
  });
  const tools = createTools({ outgoing, secrets: { reveal: async (_, name) => planted[name] ?? null } });
  const url = String(request.url).replace('http://unruly', unruly.url);
  const tool: SnapshotTool = snapshotTool.parse({
    name: 'tool',
    provider: 'http',
    config: { request: { ...request, url }, ...(response ? { response } : {}) },
  });
  const whole = {
    projectId: newId(),
    runId: newId(),
    callId: 'call 1',
    signal: new AbortController().signal,
    ...context,
  } as ToolContext;
  return (await tools.resolve(tool)!(args, whole)) as Json;
}

async function echoed(sent: Sent) {
  const { data } = (await call(sent)) as {
    data: { url: string; method: string; body: string; headers: Record<string, string> };
  };
  return data;
}

/** Code and sentence, as the model reads them. */
async function failure(sent: Sent): Promise<string> {
  const error = await call(sent).then(
    (output) => new Error(`no error but ${JSON.stringify(output).slice(0, 200)}`),
    (thrown) => thrown as Error,
  );
  expect(error).toBeInstanceOf(TroupeError);
  expect(error.cause).toBeUndefined();
  return `${(error as TroupeError).code}: ${error.message}`;
}

describe('what is sent', () => {
  test('values in the address are encoded, and dots cannot leave their place', async () => {
    const request = { url: 'http://unruly/echo/{{input.id}}?q={{ input.deep.0.q }}#x' };
    const args = { id: 'a/../b?c#d%', deep: [{ q: 'x y&z=1é' }] };
    expect((await echoed({ request, args })).url).toBe('/echo/a%2F..%2Fb%3Fc%23d%25?q=x%20y%26z%3D1%C3%A9');
    for (const id of ['.', '..', '%2e%2E']) {
      const sent = { request: { url: 'http://unruly/echo/{{input.id}}/x' }, args: { id } };
      if (id.startsWith('%')) expect((await echoed(sent)).url).toBe('/echo/%252e%252E/x');
      else expect(await failure(sent)).toMatch(/^argument_invalid: /);
    }
    for (const url of ['http://unruly/echo/{{input.id}}', 'http://unruly/echo/{{input.id}}/x'])
      expect(await failure({ request: { url }, args: { id: '' } })).toMatch(/^argument_invalid: .*empty/);
    expect(await failure({ request })).toMatch(/^argument_missing: "id" is needed for the address/);
    expect(await failure({ request: { url: 'http://unruly/echo/{{input.toString}}' } })).toMatch(
      /^argument_missing/,
    );
  });

  test('the query: several of one name, and none where there is no value', async () => {
    const query = { tag: '{{input.tags}}', n: 5, none: '{{input.none}}', text: 'a {{input.n}}' };
    const { url } = await echoed({
      request: { url: 'http://unruly/echo?x=1', query },
      args: { tags: ['a', 'b&c'], n: 2 },
    });
    expect(url).toBe('/echo?x=1&tag=a&tag=b%26c&n=5&text=a+2');
  });

  test('bodies keep their types; without one the arguments are sent, but not with GET and DELETE', async () => {
    const url = 'http://unruly/echo';
    const args = { n: 5, list: [1, { a: null }], name: 'Ada "A"' };
    const body = async (request: Record<string, Json>) => {
      const { body: text, headers } = await echoed({ request: { url, method: 'POST', ...request }, args });
      return [headers['content-type'], text];
    };
    const json = (value: unknown) => ['application/json', JSON.stringify(value)];
    expect(await body({})).toEqual(json(args));
    expect(await body({ body: '{{input.list}}' })).toEqual(json(args.list));
    expect(await body({ body: '{{input.name}}' })).toEqual(json('Ada "A"'));
    expect(
      await body({
        body: { a: '{{input.n}}', b: 'n={{input.n}}', c: '{{input.no}}', d: [true, '{{input.name}}'] },
      }),
    ).toEqual(json({ a: 5, b: 'n=5', d: [true, 'Ada "A"'] }));
    expect(await body({ body: 'Hello {{input.name}}' })).toEqual([
      'text/plain; charset=utf-8',
      'Hello Ada "A"',
    ]);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect(await body({ headers: form, body: { a: '{{input.name}}', b: 1 } })).toEqual([
      'application/x-www-form-urlencoded',
      'a=Ada+%22A%22&b=1',
    ]);
    expect(await body({ method: 'DELETE' })).toEqual([undefined, '']);
    expect(await body({ method: 'GET' })).toEqual([undefined, '']);
  });

  test('a header is one line, of whatever it is made', async () => {
    const request = {
      url: 'http://unruly/echo',
      headers: { 'X-Name': 'n {{input.name}}', 'X-No': '{{input.no}}' },
    };
    const { headers } = await echoed({ request, args: { name: 'é' } });
    expect(headers['x-no']).toBeUndefined();
    for (const name of ['a\r\nX-Evil: 1', 'a\nb', 'a\0b', '漢'])
      expect(await failure({ request, args: { name } })).toMatch(/^argument_invalid: The header "X-Name"/);
    const lines = { url: 'http://unruly/echo', headers: { 'X-Name': '{{secrets.LINES}}' } };
    expect(await failure({ request: lines })).toMatch(/^argument_invalid/);
    expect(unruly.heard.some((one) => one.headers['x-evil'])).toBe(false);
  });

  test('the key is that of the call, in every try, and of no other', async () => {
    const key = async (runId: string, callId: string, attempt: number) =>
      (
        await echoed({
          request: { url: 'http://unruly/echo', method: 'POST' },
          context: { runId, callId, attempt },
        })
      ).headers['idempotency-key'];
    const run = newId();
    const first = await key(run, 'c 1/é', 1);
    expect(first).toMatch(new RegExp(`^${run}-[0-9a-f]{32}$`));
    expect(await key(run, 'c 1/é', 2)).toBe(first);
    expect(new Set([first, await key(run, 'c 2', 1), await key(newId(), 'c 1/é', 1)]).size).toBe(3);
  });
});

describe('what comes back', () => {
  const get = (way: string, response: Record<string, Json> = {}) => ({
    request: { url: `http://unruly/${way}` },
    response,
  });

  test('returns an image as an MCP content block', async () => {
    const data = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64');
    const image = { type: 'image', mimeType: 'image/png', data };
    expect(await call(get('picture'))).toEqual({ status: 200, content: [image] });
  });

  test('every misbehaviour is something that a model can read', async () => {
    const elapsed = stopwatch();
    expect(await failure(get('fail'))).toBe(
      'http_status: The server answered with the status 500: {"why":"out of order"}',
    );
    expect(await failure(get('huge'))).toMatch(/^response_too_large: The answer has more than 262144 bytes/);
    expect(await failure(get('html', { as: 'json' }))).toMatch(/^response_not_json: .*text\/html.*<h1>Hello/);
    expect(await failure(get('image'))).toMatch(/^response_not_text: .*image\/png/);
    expect(await failure(get('broken'))).toMatch(/^response_not_json: .*\{"half":/);
    expect(await failure(get('away'))).toMatch(/^address_forbidden: 169\.254\.169\.254/);
    expect(await failure(get('nowhere'))).toMatch(/^address_invalid: /);
    expect(await failure(get('drop'))).toMatch(/^connection_failed: /);
    expect(await failure({ request: { url: 'http://nowhere.example/' } })).toMatch(
      /^connection_failed: .*ENOTFOUND/,
    );
    expect(await failure({ request: { url: 'http://127.0.0.1:1/' } })).toMatch(/^address_forbidden: /);
    const hanging = AbortSignal.timeout(50);
    await expect(call({ ...get('hang'), context: { signal: hanging } })).rejects.toThrow(
      'aborted due to timeout',
    );
    expect(elapsed()).toBeLessThan(5_000);
  });

  test('text is cut where it is too long, so that the whole fits', async () => {
    const output = (await call(get('huge-text'))) as { data: string; note: string };
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(262_144);
    expect(output.data.length).toBeGreaterThan(200_000);
    expect(output.data.isWellFormed()).toBe(true);
    expect(output.note).toMatch(/left out/);
    expect(await call(get('html'))).toEqual({ status: 200, data: '<h1>Hello</h1>' });
    expect(await call(get('html', { as: 'text' }))).toEqual({ status: 200, data: '<h1>Hello</h1>' });
    expect(await call(get('echo', { as: 'text' }))).toMatchObject({
      data: expect.stringMatching(/^\{"method"/),
    });
  });

  test('nothing is null', async () => {
    expect(await call(get('nothing'))).toEqual({ status: 204, data: null });
    expect(await call(get('nothing', { pick: '/a' }))).toBeNull();
    expect(await call({ request: { url: 'http://unruly/echo', method: 'HEAD' } })).toEqual({
      status: 200,
      data: null,
    });
  });

  test('what is picked is all that the model gets', async () => {
    expect(await call(get('echo?a', { pick: '/url' }))).toBe('/echo?a');
    expect(await call(get('echo', { pick: { m: '/method', none: '/a/b', way: '/headers/host' } }))).toEqual({
      m: 'GET',
      none: null,
      way: unruly.allow[0],
    });
    expect(await failure(get('echo', { pick: '/nope' }))).toMatch(
      /^pick_missing: There is nothing at \/nope/,
    );
  });
});

describe('secrets', () => {
  const headers = {
    'X-Key': '{{secrets.PLAIN}}',
    Authorization: 'Basic {{secrets.BASIC}}',
    'X-Odd': 'a {{secrets.KEY}} b',
  };
  const query = { key: '{{secrets.KEY}}' };
  const body = { text: 'with {{secrets.KEY}}', key: '{{secrets.PLAIN}}' };
  const traces = [
    ...Object.values(planted).filter((value) => value !== planted.LINES),
    encodeURIComponent(planted.KEY!),
    JSON.stringify(planted.KEY).slice(1, -1),
    'lovelace-1815',
    Buffer.from(planted.PLAIN!).toString('base64').slice(0, 16),
    Buffer.from(`me:${planted.PLAIN}`).toString('base64').slice(6, 20),
  ];
  const isTold = (text: string) => traces.filter((trace) => text.includes(trace));

  test('they arrive, and whatever the server says of them is hidden', async () => {
    for (const status of [200, 500]) {
      for (const type of ['application/json', 'text/plain', 'text/html']) {
        const request = {
          url: `http://unruly/gossip/{{secrets.PLAIN}}?status=${status}&type=${type}`,
          method: 'POST',
          headers,
          query,
          body,
        };
        const said = status === 200 ? JSON.stringify(await call({ request })) : await failure({ request });
        const { headers: arrived, url } = unruly.heard.at(-1)!;
        expect(arrived['x-key']).toBe(planted.PLAIN);
        expect(arrived['x-odd']).toBe(`a ${planted.KEY} b`);
        expect(new URL(url, 'http://h').searchParams.get('key')).toBe(planted.KEY);
        expect([status, type, isTold(said)]).toEqual([status, type, []]);
        expect(said).toContain('[secret PLAIN]');
        expect(said).toContain('[secret BASIC]');
        expect(said).toContain('[secret KEY]');
      }
    }
  });

  test('what comes with the input is no template, so that a model cannot ask for a secret', async () => {
    const asking = 'x {{secrets.PLAIN}}';
    const request = {
      url: 'http://unruly/echo/{{input.a}}',
      method: 'POST',
      headers: { 'X-A': '{{input.a}}', 'X-Key': '{{secrets.PLAIN}}' },
      query: { a: '{{input.a}}' },
      body: { a: '{{input}}', b: 'with {{input.a}}' },
    };
    const sent = await echoed({ request, args: { a: asking } });
    expect(JSON.parse(sent.body)).toEqual({ a: { a: asking }, b: `with ${asking}` });
    expect(sent.headers['x-a']).toBe(asking);
    expect(unruly.heard.at(-1)!.url).toContain('secrets.PLAIN');
    const deep = { url: 'http://unruly/deep', headers: { 'X-Key': '{{secrets.PLAIN}}' } };
    expect(await failure({ request: deep })).toMatch(/^response_too_deep/);
  });

  test('one that is not there is named, and nothing is sent', async () => {
    const before = unruly.heard.length;
    const request = { url: 'http://unruly/echo', headers: { 'X-Key': '{{secrets.ABSENT}}' } };
    expect(await failure({ request })).toMatch(/^secret_missing: The tool needs the secret "ABSENT"/);
    expect(unruly.heard.length).toBe(before);
  });

  test('the environment of the process is no secret', async () => {
    const env = (name: string) => `$\{env.${name}}`;
    const request = { url: 'http://unruly/echo', headers: { 'X-Key': `${env('PATH')} {{input.x}}` } };
    const { headers: arrived } = await echoed({ request, args: { x: env('HOME') } });
    expect(arrived['x-key']).toBe(`${env('PATH')} ${env('HOME')}`);
  });

  test('hidden in numbers, names, other cases, and where the end was cut off', () => {
    const hidden = hiddenOf(
      new Map([
        ['PIN', '48151623'],
        ['A', 'abcdefgh'],
      ]),
    );
    expect(hidden.json({ '48151623': 48151623, x: [1, 'ABCDEFGH', 4815] })).toEqual({
      '[secret PIN]': '[secret PIN]',
      x: [1, '[secret A]', 4815],
    });
    expect(hidden.cut('text abcde')).toBe('text ');
    expect(hidden.cut('text abcdefgh')).toBe('text [secret A]');
    expect(hiddenOf(new Map()).cut('text')).toBe('text');
  });

  test('hidden however they are escaped, where the text around them stays as it is', () => {
    const value = 'sk-Ab"c\\dé/+& x%41\\u0042z';
    const hidden = hiddenOf(new Map([['K', value]]));
    const units = (text: string, write: (hex: string) => string) =>
      [...text].map((one) => write(one.charCodeAt(0).toString(16))).join('');
    const ascii = (text: string) =>
      text.replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const inJson = JSON.stringify(value).slice(1, -1);
    const twice = JSON.stringify(inJson).slice(1, -1);
    const forms = {
      value,
      inJson,
      twice,
      thrice: JSON.stringify(twice).slice(1, -1),
      php: ascii(inJson.replaceAll('/', '\\/')),
      phpTwice: JSON.stringify(ascii(inJson.replaceAll('/', '\\/'))).slice(1, -1),
      units: units(value, (hex) => `\\u${hex.padStart(4, '0').toUpperCase()}`),
      percent: units(value, (hex) => `%${hex}`),
      address: encodeURIComponent(encodeURIComponent(value)),
      form: new URLSearchParams({ a: value }).toString().slice(2),
      formInJson: ascii(JSON.stringify(new URLSearchParams({ a: value }).toString().slice(2)).slice(1, -1)),
      entities: units(value, (hex) => `&#x${hex};`),
      html: value.replaceAll('&', '&amp;').replaceAll('"', '&#34;').replaceAll('/', '&sol;'),
      hex: Buffer.from(value).toString('hex').toUpperCase(),
      latin: Buffer.from(value, 'latin1').toString('hex'),
      base64InPhp: Buffer.from(value).toString('base64').replaceAll('/', '\\/'),
      base64InUrl: encodeURIComponent(Buffer.from(value).toString('base64')),
    };
    for (const [name, form] of Object.entries(forms)) {
      const said = hidden.text(`C:\\new &amp; %41 <${form}> \\u0041`);
      expect([name, said.replace(/=*(%3D)*>/, '>')]).toEqual([
        name,
        'C:\\new &amp; %41 <[secret K]> \\u0041',
      ]);
      expect([name, hidden.json({ a: [form] })]).toEqual([
        name,
        { a: [expect.stringContaining('[secret K]')] },
      ]);
      // Wherever the end is cut off, at most a letter of it is left.
      for (let length = 4; length < form.length && !/base64|hex|latin/.test(name); length++) {
        const left = hidden.cut(`text <${form.slice(0, length)}`);
        expect([name, length, left.slice(0, 6)]).toEqual([name, length, 'text <']);
        expect([name, length, left]).not.toEqual([
          name,
          length,
          expect.stringMatching(/<.*(k-|006B|%6b|x6b)/),
        ]);
      }
    }
    for (const prefix of ['', 'a', 'ab'])
      for (const charset of ['base64', 'base64url'] as const)
        expect(hidden.text(Buffer.from(`${prefix}${value}!`).toString(charset))).toContain('[secret K]');
  });

  test('hidden in time that grows with the text alone', () => {
    const hidden = hiddenOf(new Map([['K', `${'\\'.repeat(50)}%25%25%25&&&&`]]));
    for (const piece of ['\\', '%', '%25', '&', '&amp;', '\\u005c', '%5C', '&#x26;']) {
      const elapsed = stopwatch();
      hidden.cut(piece.repeat(300_000 / piece.length));
      expect([piece, elapsed() < 3_000]).toEqual([piece, true]);
    }
  });
});
