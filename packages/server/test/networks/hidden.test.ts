import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@troupe/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withGiven } from '../../src/tools/given.ts';
import { call, NetworkFixture, respond, turns } from './fixture.ts';
import { placesOf } from './planted.ts';

// What the system gives to tools shows nowhere: all that anybody was answered, told or logged is searched, and the whole database.

const planted = {
  tenant: 'tenant-4f1c9a77b2',
  nested: { pin: 'pin "77 \\ 4f1c9a', list: ['first-4f1c9a', 8_321_777_123] },
  wanted: 'wanted-4f1c9a77b2',
};
const values = [
  planted.tenant,
  planted.nested.pin,
  'first-4f1c9a',
  String(planted.nested.list[1]),
  planted.wanted,
];
const logged: string[] = [];
const received: string[] = [];
let fixture: NetworkFixture;
let outside: Server;
let address: string;
beforeAll(async () => {
  outside = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      received.push(`${request.url} ${body}`);
      if (request.url!.startsWith('/hangs')) return request.socket.destroy();
      response.statusCode = request.url!.startsWith('/fails') ? 500 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ url: request.url, body }));
    });
  });
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(outside.address() as AddressInfo).port}`;
  const write = (...words: unknown[]) => {
    const plain = (_: string, value: unknown) =>
      value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value;
    logged.push(JSON.stringify(words, plain));
  };
  fixture = await NetworkFixture.open({
    allow: [address],
    metricsToken: 'the-token-of-metrics',
    logger: { debug: write, info: write, warn: write, error: write },
  });
});
afterAll(async () => {
  await fixture.server.close();
  outside.close();
});

const params = [
  { name: 'q', source: 'agent' },
  { name: 'tenant', source: 'system', required: true },
  { name: 'nested', source: 'system' },
];

test('in no answer, prompt, log, metric or row, whatever becomes of the call and of the network', async () => {
  const paths = ['takes', 'fails', 'hangs'];
  for (const path of paths) {
    await fixture.done('POST', '/v1/tools', {
      name: path,
      kind: 'http',
      params,
      request: {
        method: 'POST',
        url: `http://${address}/${path}/{{input.tenant}}`,
        headers: { 'x-pin': '{{input.tenant}}' },
        body: { tenant: '{{input.tenant}}', nested: '{{input.nested}}' },
      },
    });
  }
  await fixture.done('POST', '/v1/tools', { name: 'again', kind: 'echo', params });
  await fixture.done('POST', '/v1/tools', {
    name: 'needs',
    kind: 'echo',
    params: [
      { name: 'wanted', source: 'system', required: true },
      { name: 'absent', source: 'system', required: true },
    ],
  });
  const tools = [...paths, 'again', 'needs'];
  const id = await fixture.network({
    name: 'Planted',
    tools: tools.map((key) => ({ key })),
    agents: [{ key: 'front', prompt: 'I am front.', allowRespond: true, tools }],
  });
  const every = await fixture.play(
    id,
    turns({ calls: [...paths, 'again'].map((name) => ({ name, arguments: {} })) }, respond({ ok: true })),
    { systemParams: planted },
  );
  expect(every.run.status).toBe('completed');
  expect(every.run.calls.map(({ status }) => status)).toEqual([
    'completed',
    'failed',
    expect.stringMatching(/failed|in_doubt/),
    'completed',
  ]);
  const failed = await fixture.play(id, turns(call('needs')), { systemParams: planted });
  expect(failed.run.error).toMatchObject({ code: 'missing_system_param' });
  const key = { 'idempotency-key': 'the same' };
  const body = { input: `ask-${every.run.id}`, systemParams: planted };
  await fixture.ask('POST', '/v1/networks/planted/invoke', body, key);
  await fixture.ask(
    'POST',
    '/v1/networks/planted/invoke',
    { ...body, version: 9 },
    { 'idempotency-key': 'x' },
  );
  const instruction = { action: { type: 'USE_TOOL', tool: 'again', params: {} } };
  await fixture.done('POST', '/v1/networks/planted/check', {
    agent: 'front',
    instruction,
    systemParams: planted,
  });
  await fixture.done('PATCH', '/v1/networks/planted/agents/front', { prompt: 'I am other.' });
  await fixture.done('POST', '/v1/networks/planted/publish', {});
  await fixture.done('GET', '/v1/networks/planted/diff?from=1&to=2');
  await fixture.done('GET', '/v1/networks/planted/versions/2/export');
  await fixture.done('GET', '/v1/networks/planted/runs');
  await fixture.done('GET', '/openapi.json');
  await fixture.done('GET', '/v1/audit');
  const metrics = await fetch(`${fixture.server.url}/metrics`, {
    headers: { authorization: 'Bearer the-token-of-metrics' },
  });
  expect(metrics.status).toBe(200);
  fixture.answered.push(await metrics.text());

  expect(received.length).toBeGreaterThanOrEqual(3);
  for (const sent of received) expect(sent).toContain(planted.tenant);
  const told = {
    prompts: JSON.stringify(fixture.prompts),
    answered: fixture.answered.join('\n'),
    logged: logged.join('\n'),
  };
  for (const value of values) {
    const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)];
    for (const [where, text] of Object.entries(told))
      for (const form of forms) expect(text.includes(form), `${where}: ${form}`).toBe(false);
    expect(await placesOf(fixture.server.db, value)).toEqual([]);
  }
  // It does find what is there.
  expect(await placesOf(fixture.server.db, every.run.id)).toContain('troupe.messages.run_id');
  expect(await placesOf(fixture.server.db, 'I am front.')).toContain('troupe.compiled_snapshots.compiled');
});

test('short values, true and false: where they stand alone, and nothing else is touched', async () => {
  const system: JsonObject = {
    pin: '1234',
    code: 'x7',
    letter: 'q',
    level: 42,
    admin: true,
    more: { flag: false, ids: [7, 'ab'] },
    none: null,
    empty: '',
  };
  const given = Object.keys(system).map((name) => ({ name, source: 'system', required: false, schema: {} }));
  const answers = async (answer: unknown) =>
    withGiven({ name: 'tool', config: { params: given } as never }, async () => answer as never, {
      open: async () => system,
    })({}, { projectId: 'p', runId: 'r', signal: new AbortController().signal } as never);
  expect(await answers({ echo: system })).toEqual({
    echo: {
      pin: '[secret pin]',
      code: '[secret code]',
      letter: '[secret letter]',
      level: '[secret level]',
      admin: '[secret admin]',
      more: { flag: '[secret more.flag]', ids: ['[secret more.ids.0]', '[secret more.ids.1]'] },
      none: null,
      empty: '',
    },
  });
  // As a text that is JSON, under other cases, and as a text alone.
  expect(await answers({ body: '{"level":42,"admin":true,"other":42}', LEVEL: '42', said: 'x7' })).toEqual({
    body: '{"level":"[secret level]","admin":"[secret admin]","other":42}',
    LEVEL: '[secret level]',
    said: '[secret code]',
  });
  const untouched = {
    text: 'The q of 42 things is true, x7 among them.',
    count: 42,
    ok: true,
    letters: ['q'],
    broken: '{"level":42',
  };
  expect(await answers(untouched)).toEqual(untouched);
});
