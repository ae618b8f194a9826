import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { stopwatch, until } from '@troupe/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isAllowEntry } from '../../src/outgoing/addresses.ts';
import { createOutgoing } from '../../src/outgoing/client.ts';
import { redirected } from '../../src/outgoing/redirects.ts';
import { codeOf, fakeLookup, nearby, Web } from './web.ts';

let web: Web;
beforeAll(async () => {
  web = await Web.open();
});
afterAll(() => web.close());
beforeEach(() => web.forget());

const { lookup } = fakeLookup({ 'web.example': [['127.0.0.1']], 'other.example': [['127.0.0.1']] });
const connect = nearby([]);
const open = createOutgoing({ allowed: async () => ['127.0.0.1'], lookup, connect });
const at = (path = '/', host = 'web.example') => `http://${host}:${web.port}${path}`;
const ask = (more: object = {}) => open.request({ project: 'p', url: at(), ...more });

describe('sizes', () => {
  const ZEROS = Buffer.alloc(30 * 1024 * 1024);
  test.each([
    ['gzip', gzipSync(ZEROS)],
    ['br', brotliCompressSync(ZEROS, { params: { 1: 1 } })],
    ['zstd', zstdCompressSync(ZEROS)],
    ['gzip, gzip', gzipSync(gzipSync(ZEROS))],
  ])('a small answer that becomes a large one: %s', async (encoding, body) => {
    web.serve = (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body);
    expect(await codeOf(ask({ maxBytes: 100_000 }))).toBe('response_too_large');
    const cut = await ask({ maxBytes: 100_000, overflow: 'cut' });
    expect([cut.body.length, cut.cut]).toEqual([100_000, true]);
  });

  test('an answer without end, and one that says it is shorter than it is', async () => {
    web.serve = (_request, response) => {
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    expect(await codeOf(ask({ maxBytes: 1_000_000 }))).toBe('response_too_large');
    expect((await ask({ maxBytes: 10, overflow: 'cut' })).body.length).toBe(10);
    // A library that reads a stream whole.
    const { body } = await open.fetchFor('p')(at());
    let bytes = 0;
    const read = async () => {
      for await (const chunk of body!) bytes += chunk.byteLength;
    };
    expect([await codeOf(read()), bytes < 130 * 1024 * 1024]).toEqual(['response_too_large', true]);
    web.serve = (request, response) => {
      response.socket!.end(`HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcdefgh`);
      request.resume();
    };
    expect(['abc', 'connection_failed']).toContain(
      await ask().then(
        ({ body }) => Buffer.from(body).toString(),
        ({ code }) => code,
      ),
    );
    // Says more than it sends: half an answer is none.
    web.serve = (_request, response) => {
      response.socket!.end(`HTTP/1.1 200 OK\r\ncontent-length: 300\r\n\r\nabc`);
    };
    expect(await codeOf(ask())).toBe('connection_failed');
  });

  test('exactly as much as may be is whole', async () => {
    web.serve = (_request, response) => response.end('12345');
    expect(await ask({ maxBytes: 5 })).toMatchObject({ cut: false, status: 200 });
    expect(await codeOf(ask({ maxBytes: 4 }))).toBe('response_too_large');
  });

  test('too many headers, too long ones, and what is no HTTP', async () => {
    web.serve = (_request, response) => {
      for (let index = 0; index < 900; index++) response.setHeader(`x-${index}`, 'y'.repeat(40));
      response.end();
    };
    expect(await codeOf(ask())).toBe('connection_failed');
    web.serve = (_request, response) => response.socket!.end('SSH-2.0-OpenSSH_9.9\r\n');
    expect(await codeOf(ask())).toBe('connection_failed');
  });
});

describe('times', () => {
  test.each<[string, Web['serve']]>([
    ['no headers', () => {}],
    [
      'a body that drips',
      (_request, response) => {
        const timer = setInterval(() => response.write('.'), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
    [
      'redirects, one after the other',
      (_request, response) => {
        setTimeout(() => response.writeHead(302, { location: '/' }).end(), 100);
      },
    ],
  ])('%s', async (_name, serve) => {
    web.serve = serve;
    const elapsed = stopwatch();
    expect(await codeOf(ask({ timeoutMs: 250 }))).toBe('request_timeout');
    expect(elapsed()).toBeLessThan(5_000);
  });

  test('whoever stops it hears why they stopped', async () => {
    web.serve = () => {};
    const controller = new AbortController();
    const asking = codeOf(ask({ signal: controller.signal }));
    await until('heard', () => web.heard.length > 0);
    controller.abort(Object.assign(new Error('enough'), { code: 'canceled' }));
    expect(await asking).toBe('canceled');
  });
});

describe('headers', () => {
  test('a value that cannot be sent is refused and not shown', async () => {
    for (const value of ['secret\r\nx: y', 'secret\u0000', 'secret\u2713']) {
      const error = await ask({ headers: { authorization: value } }).catch((thrown) => thrown);
      expect(error.code).toBe('header_invalid');
      expect(`${error.message} ${error.stack}`).not.toContain('secret');
    }
    expect(await codeOf(ask({ headers: { 'a b': 'c' } }))).toBe('header_invalid');
    expect(web.heard).toEqual([]);
  });

  test('what belongs to the connection is not for callers to say', async () => {
    web.serve = (_request, response) => response.end();
    await ask({
      method: 'POST',
      body: 'abc',
      headers: {
        Host: 'intranet',
        'Transfer-Encoding': 'chunked',
        'Content-Length': '1',
        Via: 'me',
        'Proxy-Authorization': 'x',
      },
    });
    const [{ headers, body }] = web.heard as [(typeof web.heard)[0]];
    expect([headers.host, headers['content-length'], headers.via, body]).toEqual([
      `web.example:${web.port}`,
      '3',
      '1.1 troupe',
      'abc',
    ]);
    expect(headers['proxy-authorization']).toBeUndefined();
  });

  test('what names the caller, and what was to be written, stays with the origin it was meant for', async () => {
    web.serve = ({ url }, response) => {
      const location = { '/far': at('/end', 'other.example'), '/near': '/end' }[url!];
      response.writeHead(location ? 307 : 200, location ? { location } : {}).end();
    };
    const headers = {
      authorization: 'Bearer s',
      'x-key': 's',
      cookie: 's',
      accept: 'a/b',
      'content-type': 't/u',
    };
    await ask({ url: at('/near'), method: 'POST', headers, body: 'b' });
    expect(web.heard.at(-1)).toMatchObject({ method: 'POST', body: 'b', headers });
    await ask({ url: at('/far'), method: 'POST', headers, body: 'b' });
    const last = web.heard.at(-1)!;
    expect([last.method, last.body, last.headers.accept]).toEqual(['GET', '', 'a/b']);
    expect(Object.keys(last.headers).filter((name) => /authorization|key|cookie|content/.test(name))).toEqual(
      [],
    );
  });

  test('nobody is led from https to http', () => {
    const hop = { url: new URL('https://a.example/'), method: 'GET', headers: {}, body: undefined };
    expect(() => redirected(hop, 'http://a.example/', 301)).toThrow('from https to http');
    expect(() => redirected(hop, 'http:/b', 301)).toThrow('from https to http');
    expect(redirected(hop, '//b.example/', 301).url.href).toBe('https://b.example/');
  });
});

describe('allow-lists', () => {
  const listOf = (...entries: string[]) =>
    createOutgoing({ allowed: async () => entries, lookup, connect }).request;
  const reaches = async (entries: string[], url: string) =>
    (await codeOf(listOf(...entries)({ project: 'p', url }))) === 'no error';

  test('a host, an address, a range; with a port or for all of them', async () => {
    web.serve = (_request, response) => response.end();
    const { port } = web;
    for (const [entry, byName, byAddress] of [
      ['web.example', true, false],
      ['WEB.example', true, false],
      [`web.example:${port}`, true, false],
      ['web.example:1', false, false],
      ['other.example', false, false],
      ['example', false, false],
      ['127.0.0.1', true, true],
      [`127.0.0.1:${port}`, true, true],
      ['127.0.0.1:1', false, false],
      ['0x7f.1', true, true],
      ['127.0.0.0/8', true, true],
      ['127.0.0.2/31', false, false],
      ['10.0.0.0/8', false, false],
      ['::1', false, false],
      ['::/0', false, false],
    ] as const) {
      const got = [await reaches([entry], at()), await reaches([entry], `http://127.0.0.1:${port}/`)];
      expect([entry, ...got]).toEqual([entry, byName, byAddress]);
    }
  });

  test('what is an entry, and what is none', () => {
    for (const entry of [
      'a',
      'a.example',
      'münchen.example',
      'a:80',
      '10.0.0.1',
      '10.0.0.1:80',
      'fd00::1',
      '[fd00::1]:443',
      '10.0.0.0/8',
      'fd00::/8',
    ])
      expect([entry, isAllowEntry(entry)]).toEqual([entry, true]);
    for (const entry of [
      '',
      ' ',
      '*',
      '*.example',
      'http://a',
      'a/b',
      'a\\b',
      'a:0',
      'a:70000',
      'a:b',
      'u@a',
      '10.0.0.0/33',
      '[::1',
      'a b',
      'a%2eb',
      '10.0.0.256',
    ])
      expect([entry, isAllowEntry(entry)]).toEqual([entry, false]);
  });

  test('an open connection serves nobody else, and not after its entry is gone', async () => {
    web.serve = (_request, response) => response.end();
    const lists: Record<string, string[]> = { mine: ['127.0.0.1'], theirs: [] };
    const { request } = createOutgoing({ allowed: async (project) => lists[project]!, lookup, connect });
    await request({ project: 'mine', url: at() });
    await request({ project: 'mine', url: at() });
    const { connections } = web;
    expect(await codeOf(request({ project: 'theirs', url: at() }))).toBe('address_forbidden');
    lists.mine = [];
    expect(await codeOf(request({ project: 'mine', url: at() }))).toBe('address_forbidden');
    expect([web.connections, web.heard.length]).toEqual([connections, 2]);
  });

  test('the own origin passes; where it leads is judged', async () => {
    const { request } = createOutgoing({
      allowed: async () => [],
      own: () => [`http://127.0.0.1:${web.port}`],
      connect,
      lookup,
    });
    web.serve = ({ url }, response) => {
      if (url === '/away') return response.writeHead(302, { location: at('/') }).end();
      response.end('own');
    };
    const own = (path: string) => request({ project: 'p', url: `http://127.0.0.1:${web.port}${path}` });
    expect((await own('/')).status).toBe(200);
    // By which a server that asks for no key here knows that it is asked on somebody's behalf.
    expect(web.heard[0]!.headers.via).toBe('1.1 troupe');
    expect(await codeOf(own('/away'))).toBe('address_forbidden');
    expect(await codeOf(request({ project: 'p', url: `http://127.0.0.1:${web.port + 1}/` }))).toBe(
      'address_forbidden',
    );
  });
});
