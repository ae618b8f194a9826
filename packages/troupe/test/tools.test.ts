import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start, type Told } from './command.ts';

let server: TestServer;
const home = mkdtempSync(join(tmpdir(), 'troupe-command-'));

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

async function told(...words: string[]): Promise<Told> {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
}
async function parsed(...words: string[]) {
  const { code, out, err } = await told(...words, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}
function file(name: string, content: unknown): string {
  const path = join(home, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

it('creates, lists, shows, tries and deletes', async () => {
  expect(await told('tools')).toMatchObject({ code: 0, out: 'none\n' });
  const path = file('hello.json', { name: 'hello', kind: 'static', output: { hello: 'world' } });
  const tool = await parsed('tools', 'create', path);
  expect(tool).toMatchObject({ name: 'hello', version: 1 });
  expect(await told('tools', 'create', path)).toMatchObject({
    code: 1,
    err: expect.stringContaining('hello.json: '),
  });
  for (const name of [tool.id, 'hello', 'HELLO']) expect(await parsed('tools', 'get', name)).toEqual(tool);
  expect((await told('tools', 'list')).out).toMatch(/hello +static +1/);
  expect(await parsed('tools', 'try', 'hello')).toMatchObject({ ok: true, output: { hello: 'world' } });
  expect(await told('tools', 'try', 'hello', '[1]')).toMatchObject({ code: 2 });
  expect(await told('tools', 'delete', 'hello')).toMatchObject({ code: 0, out: 'hello is deleted\n' });
  expect(await told('tools', 'get', 'hello')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no tool "hello"'),
  });
});

it('what fails when it is tried is shown, with exit code 1', async () => {
  const request = { url: 'http://127.0.0.1:1/{{input.x}}' };
  await parsed('tools', 'create', file('away.json', { name: 'away', kind: 'http', request }));
  const { code, out } = await told('tools', 'try', 'away', '{"x": 1}', '--json');
  expect([code, JSON.parse(out)]).toMatchObject([1, { ok: false, error: { code: 'address_forbidden' } }]);
});

it('applies a folder, again and again, in every way of writing it', async () => {
  const folder = join(home, 'tools');
  mkdirSync(folder);
  file('tools/a.json', { name: 'a', executionType: 'internal', visibility: 'visible' });
  file('tools/b.json', { name: 'b', kind: 'client', description: 'Asks.' });
  file('tools/notes.txt', 'no tool');
  const done = async () =>
    (await parsed('tools', 'apply', folder)).map((tool: { done: string }) => tool.done);
  expect(await done()).toEqual(['created', 'created']);
  expect(await done()).toEqual(['unchanged', 'unchanged']);
  file('tools/b.json', { name: 'b', kind: 'client' });
  expect(await done()).toEqual(['unchanged', 'changed']);
  expect(await parsed('tools', 'get', 'b')).toMatchObject({ version: 2, description: '' });
  file('tools/c.yaml', 'name: c\nkind: static\noutput: { hello: [world] }\n');
  file('tools/d.yml', '# written otherwise\n{ name: d, kind: client }');
  expect(await done()).toEqual(['unchanged', 'unchanged', 'created', 'created']);
  expect(await done()).toEqual(['unchanged', 'unchanged', 'unchanged', 'unchanged']);
  expect(await parsed('tools', 'get', 'c')).toMatchObject({ kind: 'static', output: { hello: ['world'] } });
  expect(await told('tools', 'apply', file('list.yaml', '- a'))).toMatchObject({
    code: 1,
    err: expect.stringContaining('list.yaml describes no tool'),
  });
  file('tools/b.json', { name: 'b', kind: 'static' });
  expect(await told('tools', 'apply', folder)).toMatchObject({
    code: 1,
    err: expect.stringContaining('b.json: '),
  });
  file('tools/b.json', '{');
  expect(await told('tools', 'apply', folder)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/b\.json: .*no JSON/),
  });
});

it('registers the functions of a module, keeps what only the row has, and tells what is wrong', async () => {
  const module = (name: string, description: string) =>
    file(name, `export default [{ name: 'refund', description: '${description}', execute: () => 1 }];`);
  module('one.mjs', 'Pays back');
  const register = (name: string) => parsed('tools', 'register', join(home, name));
  expect(await register('one.mjs')).toMatchObject([
    { name: 'refund', kind: 'code', function: 'refund', effect: 'once', done: 'created' },
  ]);
  expect(await register('one.mjs')).toMatchObject([{ done: 'unchanged', version: 1 }]);
  module('two.mjs', 'Pays an order back');
  expect(await register('two.mjs')).toMatchObject([
    { done: 'changed', version: 2, description: 'Pays an order back' },
  ]);
  expect(await told('tools', 'register', join(home, 'absent.mjs'))).toMatchObject({
    code: 1,
    err: expect.stringContaining('absent.mjs cannot be loaded'),
  });
});

it('the examples of docs/tools.md are true: defined, tried, and called by the demo model', async () => {
  const document = readFileSync(new URL('../../../docs/tools.md', import.meta.url), 'utf8');
  const examples = [...document.matchAll(/```json\n([\s\S]+?)```/g)].map(([, text]) => text!);
  const [definition, trial] = examples;
  const source = examples.find((text) => text.includes('executionType'));
  const weather = createServer(({ headers }, response) => {
    const now = { temperature: -4, sky: `${headers.authorization?.slice('Bearer '.length)} is clear` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ now }));
  });
  await new Promise<void>((done) => weather.listen(0, '127.0.0.1', done));
  try {
    const { port } = weather.address() as AddressInfo;
    const here = (text: string) => text.replaceAll('127.0.0.1:4701', `127.0.0.1:${port}`);
    const send = (method: string, path: string, body: object) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await send('PUT', '/v1/secrets/WEATHER_KEY', { value: 'wk-3f9a2c71' });
    await parsed('tools', 'create', file('weather.json', here(definition!)));
    const [, allowed] = /\/v1\/projects\/\$PROJECT [^']+'[^']+' \\\n {2}-d '(.+?)'/.exec(document)!;
    const city = '{"city": "Oslo"}';
    expect((await told('tools', 'try', 'fetchWeather', city)).out).toContain('address_forbidden');
    const project = (await (await fetch(`${server.url}/v1/project`)).json()) as { id: string };
    const patched = await send('PATCH', `/v1/projects/${project.id}`, JSON.parse(here(allowed!)));
    expect(patched.status).toBe(200);
    expect(await parsed('tools', 'try', 'fetchWeather', city)).toEqual({
      ...JSON.parse(here(trial!)),
      durationMs: expect.any(Number),
    });
    await send('POST', '/v1/agents', { name: 'Ada', tools: ['fetchWeather'] });
    const { code, out } = await told('chat', 'Ada', `call fetchWeather ${city}`);
    expect([code, out]).toEqual([0, expect.stringContaining('[secret WEATHER_KEY] is clear')]);
    const loaded = file('source.json', source!.replace('fetchWeather', 'loaded'));
    expect(await parsed('tools', 'apply', loaded)).toMatchObject([
      { name: 'loaded', kind: 'http', visible: true, timeoutMs: 10_000, done: 'created' },
    ]);
  } finally {
    weather.close();
    weather.closeAllConnections();
  }
});
