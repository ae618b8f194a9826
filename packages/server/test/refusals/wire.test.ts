import { once } from 'node:events';
import { connect } from 'node:net';
import { commonProblems } from '@troupe/protocol';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpServer, listen } from '../../src/http/index.ts';
import { RefusalFixture } from './fixture.ts';

// What only shows on a real socket.

let fixture: RefusalFixture;
let server: HttpServer;
beforeAll(async () => {
  fixture = await RefusalFixture.open();
  server = await listen(fixture.app, { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await server?.close(100);
  await fixture?.close();
});

/** Sends this as it is and returns all that comes back until the server ends the connection, or at once where we `hangUp`. */
async function exchange(sent: string, { hangUp = false } = {}): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  let heard = '';
  socket.setEncoding('utf8').on('data', (text) => {
    heard += text;
  });
  socket.on('error', () => {});
  socket.write(sent);
  if (hangUp) socket.end();
  await once(socket, 'close');
  return heard;
}

const head = (line: string, ...headers: string[]) =>
  `${[line, 'host: localhost', `authorization: ${fixture.authorization}`, ...headers].join('\r\n')}\r\n\r\n`;
const json = 'content-type: application/json';

test('what is no request is a problem too, and the server lives', async () => {
  const before = await fixture.picture();
  const bad: Record<string, [string, number, string]> = {
    'no HTTP at all': ['hello\r\n\r\n', 400, 'malformed_request'],
    'a binary protocol': ['\x16\x03\x01\x02\x00\x01\x00\r\n\r\n', 400, 'malformed_request'],
    'a header without a name': [head('GET /v1/agents HTTP/1.1', ': x'), 400, 'malformed_request'],
    'NUL in a header': [head('GET /v1/agents HTTP/1.1', 'x: a\0b'), 400, 'malformed_request'],
    'no host': ['GET /v1/agents HTTP/1.1\r\nconnection: close\r\n\r\n', 400, ''],
    'a host that is no name': [
      'GET /v1/agents HTTP/1.1\r\nhost: a b/c?\r\nconnection: close\r\n\r\n',
      400,
      'malformed_request',
    ],
    'two lengths': [
      head('POST /v1/agents HTTP/1.1', json, 'content-length: 2', 'content-length: 3'),
      400,
      'malformed_request',
    ],
    'a length and chunks': [
      head('POST /v1/agents HTTP/1.1', json, 'content-length: 2', 'transfer-encoding: chunked'),
      400,
      'malformed_request',
    ],
    'a length below zero': [
      head('POST /v1/agents HTTP/1.1', json, 'content-length: -1'),
      400,
      'malformed_request',
    ],
    'long headers': [head('GET /v1/agents HTTP/1.1', `x: ${'y'.repeat(20_000)}`), 431, 'headers_too_large'],
    'a very long address': [
      head(`GET /v1/agents?x=${'y'.repeat(20_000)} HTTP/1.1`),
      431,
      'headers_too_large',
    ],
    'a long address': [
      head(`GET /v1/agents?search=${'y'.repeat(9_000)} HTTP/1.1`, 'connection: close'),
      414,
      'address_too_long',
    ],
    'half of a percent code': [
      head('GET /v1/agents/%E2%82 HTTP/1.1', 'connection: close'),
      400,
      'invalid_request',
    ],
    'two byte order marks': [
      `${head('POST /v1/agents HTTP/1.1', json, 'content-length: 20', 'connection: close')}\ufeff\ufeff{"name":"bom"}`,
      400,
      'malformed_json',
    ],
  };
  for (const [what, [sent, status, code]] of Object.entries(bad)) {
    const answer = await exchange(sent);
    const text = answer.split('\r\n\r\n')[1] ?? '';
    expect([what, answer.split(' ')[1]]).toEqual([what, String(status)]);
    if (code === '') continue;
    expect([what, JSON.parse(text)]).toMatchObject([what, { status, code, type: 'about:blank' }]);
    expect(code in commonProblems).toBe(true);
    expect(answer.toLowerCase()).toContain('content-type: application/problem+json\r\n');
    expect(answer.toLowerCase()).toContain('x-content-type-options: nosniff\r\n');
    expect(answer.toLowerCase()).toMatch(/troupe-request-id: [\w-]{36}\r\n/);
    expect(answer.toLowerCase()).not.toMatch(/\r\n(server|x-powered-by):/);
  }
  expect(await fixture.picture()).toEqual(before);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

test('a body that ends before its length stores nothing and is no error of ours', async () => {
  const before = await fixture.picture();
  await exchange(`${head('POST /v1/agents HTTP/1.1', json, 'content-length: 1000')}{"name":"cut"}`, {
    hangUp: true,
  });
  await exchange(
    `${head('POST /v1/agents HTTP/1.1', json, 'transfer-encoding: chunked')}e\r\n{"name":"cut"}\r\n`,
    { hangUp: true },
  );
  await exchange(
    `${head('POST /v1/agents HTTP/1.1', json, 'transfer-encoding: chunked')}zz\r\n{"name":"cut"}\r\n0\r\n\r\n`,
  );
  // What is left over after a length that was too short is the next request, and no good one.
  const answers = await exchange(
    `${head('POST /v1/agents HTTP/1.1', json, 'content-length: 5')}{"name":"short"}`,
  );
  expect(answers).toContain('malformed_request');
  await until('connections are gone', async () => (await fetch(`${server.url}/healthz`)).ok);
  expect(await fixture.picture()).toEqual(before);
  expect(fixture.logged).toEqual([]);
});

test('a body that is too large is refused while it arrives, with and without a length', async () => {
  const before = await fixture.picture();
  const send = async (length: boolean) => {
    const size = 20 * 1_048_576;
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    let heard = '';
    socket.setEncoding('utf8').on('data', (text) => {
      heard += text;
    });
    const kind = length ? `content-length: ${size}` : 'transfer-encoding: chunked';
    socket.write(head('PUT /v1/secrets/LARGE HTTP/1.1', json, kind));
    const piece = Buffer.alloc(65_536, 'x');
    const framed = length ? piece : Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]);
    for (let sent = 0; sent < size && !socket.destroyed && heard === ''; sent += piece.length) {
      if (!socket.write(framed)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
      await new Promise(setImmediate);
    }
    await until('it was answered', () => heard.includes('body_too_large'));
    socket.destroy();
    return heard;
  };
  for (const length of [true, false]) expect(await send(length)).toMatch(/^HTTP\/1\.1 413 /);
  expect(await fixture.picture()).toEqual(before);
});
