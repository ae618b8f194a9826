import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject, Verdict } from '@troupe/protocol';
import { tool } from '@troupe/server/parts';
import { violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { call, NetworkFixture, respond, route, type Say, turns } from './fixture.ts';
import { placesOf } from './planted.ts';

// Ways out that values of system parameters and of secrets have had or could have: by what begins another run, by their length, by the
// place where an answer is cut, by the code of an error, by the stream of an invocation.

const logged: string[] = [];
let fixture: NetworkFixture;
let outside: Server;
let address: string;
/** What the server outside answers, by the path of the request. */
const answers = new Map<string, (sent: string) => { status?: number; type?: string; body: string }>();

beforeAll(async () => {
  outside = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { status = 200, type = 'application/json', body: said } = answers.get(request.url!)!(body);
    response.writeHead(status, { 'content-type': type }).end(said);
  });
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(outside.address() as AddressInfo).port}`;
  const write = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  fixture = await NetworkFixture.open({
    allow: [address],
    logger: { debug: write, info: write, warn: write, error: write },
    code: [
      tool({
        name: 'throws_it',
        execute: async (args, { secret }) => {
          const { tenant } = args as { tenant: string };
          const value = tenant === 'no' ? await secret('IN_CODE') : tenant;
          throw Object.assign(new Error(`No, ${value}.`), { code: value });
        },
      }),
    ],
  });
});
afterAll(async () => {
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
  outside.close();
});

async function httpTool(
  name: string,
  answer: (sent: string) => { status?: number; type?: string; body: string },
  more: JsonObject = {},
) {
  answers.set(`/${name}`, answer);
  await fixture.done('POST', '/v1/tools', {
    name,
    kind: 'http',
    params: [{ name: 'tenant', source: 'system', required: true }],
    request: { method: 'POST', url: `http://${address}/${name}`, body: { tenant: '{{input.tenant}}' } },
    ...more,
  });
}
const alone = (name: string, tools: string[], more: JsonObject = {}) =>
  fixture.network({
    name,
    tools: tools.map((key) => ({ key })),
    agents: [{ key: 'front', prompt: 'I am front.', allowRespond: true, tools, ...more }],
  });
/** All that anybody was told. */
const told = () => [JSON.stringify(fixture.prompts), ...fixture.answered, ...logged].join('\n');
async function expectNowhere(...values: string[]) {
  for (const value of values) {
    expect(told().includes(value), value.slice(0, 100)).toBe(false);
    expect(await placesOf(fixture.server.db, value)).toEqual([]);
  }
}

test('an agent that is asked as a tool is not told what the system gives', async () => {
  await fixture.done('POST', '/v1/agents', { name: 'Ada', systemPrompt: 'I am ada.' });
  await fixture.done('POST', '/v1/tools', {
    name: 'ask_ada',
    kind: 'agent',
    agent: { agent: 'Ada' },
    params: [
      { name: 'input', required: true, schema: { type: 'string' } },
      { name: 'tenant', source: 'system', required: true },
    ],
  });
  const id = await alone('Asking', ['ask_ada']);
  const heard: string[] = [];
  const { run } = await fixture.play(
    id,
    ({ messages, step }, agent) => {
      const { text } = messages[0] as { text: string };
      if (agent === 'front') return step === 1 ? call('ask_ada', { input: text }) : respond({ ok: true });
      heard.push(text);
      return { text: 'Yes.' };
    },
    { systemParams: { tenant: 'tenant-of-ada-51c0ffee' } },
  );
  expect(run).toMatchObject({ status: 'completed', calls: [{ status: 'completed', output: 'Yes.' }] });
  expect(heard).toEqual([expect.stringMatching(/^ask-[0-9a-f-]{36}$/)]);
  await expectNowhere('tenant-of-ada-51c0ffee');
});

/** No part of it is like another. */
const long = (word: string, length: number) =>
  Array.from({ length: length / 10 }, (_, n) => `${word}${String(n).padStart(10 - word.length, '0')}`).join(
    '',
  );

test('values of any length are hidden', async () => {
  const [system, secret, many] = [long('sys', 40_000), long('sec', 60_000), long('lst', 20_000)];
  await fixture.done('PUT', '/v1/secrets/LONG', { value: secret });
  const headers = { 'x-none': '' };
  await httpTool('long', (sent) => ({ body: sent }), {
    request: {
      method: 'POST',
      url: `http://${address}/long`,
      headers,
      body: { tenant: '{{input.tenant}}', key: '{{secrets.LONG}}' },
    },
  });
  const id = await alone('Long', ['long']);
  const tenant = {
    one: system,
    list: Array.from({ length: 200 }, (_, n) => many.slice(100 * n, 100 * n + 100)),
  };
  const { run } = await fixture.play(id, turns(call('long'), respond({ ok: true })), {
    systemParams: { tenant },
  });
  expect(run).toMatchObject({
    status: 'completed',
    calls: [{ status: 'completed', output: { status: 200, data: { key: '[secret LONG]' } } }],
  });
  await expectNowhere('sys0000001', 'sec0000001', 'lst0000001');
});

test('a tool that is given nothing does not tell what another one wrote down', async () => {
  let written = '';
  await httpTool('writes', (sent) => {
    written = (JSON.parse(sent) as { tenant: string }).tenant;
    return { body: '{}' };
  });
  const none = { params: [], request: { method: 'POST', url: `http://${address}/reads` } };
  await httpTool('reads', () => ({ body: JSON.stringify({ owner: written, zone: 'eu' }) }), none);
  await httpTool('breaks', () => ({ status: 500, body: `no ${written}` }), {
    ...none,
    request: { method: 'POST', url: `http://${address}/breaks` },
  });
  const id = await alone('Reads back', ['writes', 'reads', 'breaks']);
  const tenant = 'written-down-4711';
  const { run } = await fixture.play(
    id,
    turns(call('writes'), call('reads'), call('breaks'), respond({ ok: true })),
    { systemParams: { tenant } },
  );
  expect(run).toMatchObject({
    status: 'completed',
    calls: [
      {},
      // What is short is a word like any other where it was not given.
      { output: { data: { owner: '[secret tenant]', zone: 'eu' } } },
      { status: 'failed' },
    ],
  });
  expect(written).toBe(tenant);
  await expectNowhere(tenant);
});

test('there are only so many and so long ones as can be looked for in time', async () => {
  const id = await alone('Bounded', []);
  const refused = async (systemParams: JsonObject) => {
    const { status, body } = await fixture.ask<{ issues?: { path: string; message: string }[] }>(
      'POST',
      `/v1/networks/${id}/invoke`,
      { input: 'x', systemParams },
    );
    expect(status).toBe(422);
    return body.issues;
  };
  const [path, rows] = ['systemParams', Array.from({ length: 1_001 }, (_, n) => n)];
  expect(await refused({ a: long('big', 70_000) })).toEqual([
    { path, message: 'take more than 65536 characters as JSON' },
  ]);
  expect(await refused({ a: { b: rows } })).toEqual([{ path, message: 'have more than 1000 values' }]);
});

test('an answer that is cut within a value ends before it', async () => {
  const value = 'tenant-7d41b2aa90c3e65f';
  const before = (length: number) => 'x'.repeat(length - 10) + value;
  await httpTool('fails', () => ({ status: 500, type: 'text/plain', body: before(3_000) + 'x'.repeat(100) }));
  await httpTool('no_json', () => ({ body: before(1_000) }));
  await httpTool('not_picked', () => ({ body: JSON.stringify({ a: before(1_000 - 6) }) }), {
    response: { pick: '/b' },
  });
  await httpTool('cut_off', () => ({ type: 'text/plain', body: `${before(1_000)}xxxx` }), {
    response: { maxBytes: 1_000 },
  });
  const tools = ['fails', 'no_json', 'not_picked', 'cut_off'];
  const id = await alone('Cut', tools);
  const { run } = await fixture.play(
    id,
    turns({ calls: tools.map((name) => ({ name, arguments: {} })) }, respond({ ok: true })),
    { systemParams: { tenant: value } },
  );
  expect(run.calls.map(({ status, error }) => [status, error?.code])).toEqual([
    ['failed', 'http_status'],
    ['failed', 'response_not_json'],
    ['failed', 'pick_missing'],
    ['completed', undefined],
  ]);
  // Not even its beginning, where that is longer than what is everywhere.
  await expectNowhere('tenant-7d');
});

test('each of several values is hidden, also where they are reached by names that look the same', async () => {
  const tenant = {
    'a.b': 'value-one-c0de',
    a: { b: 'value-two-c0de' },
    list: ['value-three-c0de'],
    'list.0': 'value-four-c0de',
  };
  await httpTool('named_alike', (sent) => ({ body: sent }));
  const id = await alone('Alike', ['named_alike']);
  const { run } = await fixture.play(id, turns(call('named_alike'), respond({ ok: true })), {
    systemParams: { tenant },
  });
  expect(run.calls).toMatchObject([
    { status: 'completed', output: { data: { tenant: { 'a.b': '[secret tenant.a.b]' } } } },
  ]);
  await expectNowhere('value-one-c0de', 'value-two-c0de', 'value-three-c0de', 'value-four-c0de');
});

test('neither what a function throws nor its code tells it', async () => {
  await fixture.done('PUT', '/v1/secrets/IN_CODE', { value: 'sk_9f8e7d6c5b4a' });
  await fixture.done('POST', '/v1/tools', {
    name: 'throws_it',
    kind: 'code',
    function: 'throws_it',
    params: [{ name: 'tenant', source: 'system', required: true }],
  });
  const id = await alone('Throwing', ['throws_it']);
  for (const [tenant, name] of [
    ['no', 'IN_CODE'],
    ['tenant_1f2e3d4c', 'tenant'],
  ] as const) {
    const { run } = await fixture.play(id, turns(call('throws_it'), respond({ ok: true })), {
      systemParams: { tenant },
    });
    expect(run.calls).toMatchObject([
      { status: 'failed', error: { code: 'tool_error', message: `No, [secret ${name}].` } },
    ]);
  }
  await expectNowhere('sk_9f8e7d6c5b4a', 'tenant_1f2e3d4c');
});

test('in no frame of a stream, live ones included', async () => {
  const value = 'tenant-streamed-0d15ea5e';
  await httpTool('streamed', (sent) => ({ body: sent }));
  const id = await alone('Streamed', ['streamed']);
  // It says all that it was told.
  const say: Say = ({ messages, step }) =>
    step === 1 ? call('streamed') : respond({ told: JSON.stringify(messages) });
  const scripted = await fixture.invoke(id, say, { systemParams: { tenant: value } });
  const { data } = await fixture.done<{ data: { content: { text: string } }[] }>(
    'GET',
    `/v1/runs/${scripted.id}/messages`,
  );
  const response = await fetch(`${fixture.server.url}/v1/networks/${id}/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ input: data[0]!.content.text, systemParams: { tenant: value } }),
  });
  const frames = await response.text();
  expect(frames).toContain('event: invoked');
  expect(frames).toContain('[secret tenant]');
  expect(frames).not.toContain(value);
  await expectNowhere(value);
});

test('what `check` says is what happens: of decisions by chance, those with strange names and keys among them', async () => {
  await fixture.done('PUT', '/v1/secrets/TO_GO', { value: 'soon-gone' });
  await httpTool('needs_secret', (sent) => ({ body: sent }), {
    params: [],
    request: {
      method: 'POST',
      url: `http://${address}/needs_secret`,
      headers: { 'x-key': '{{secrets.TO_GO}}' },
    },
  });
  const integer = { type: 'integer', maximum: 5 };
  const echo = (name: string, params: JsonObject[]) =>
    fixture.done('POST', '/v1/tools', { name, kind: 'echo', params });
  await echo('look', [
    { name: 'q', required: true, schema: integer },
    { name: 'tenant', source: 'system' },
    { name: 'unit', source: 'default', defaultValue: 'c' },
  ]);
  await echo('needy', [{ name: 'absent', source: 'system', required: true }]);
  await echo('theirs', []);
  await fixture.done('POST', '/v1/tools', { name: 'open', kind: 'echo' });
  const id = await fixture.network({
    name: 'Judged',
    policy: { retries: 0 },
    response: { schema: { type: 'object', properties: { n: integer }, required: ['n'] } },
    tools: ['look', 'needy', 'theirs', 'open', 'needs_secret'].map((key) => ({ key })),
    agents: [
      {
        key: 'front',
        isDefault: true,
        prompt: 'I am front.',
        allowRespond: true,
        tools: ['look', 'needy', 'open', 'needs_secret'],
        routes: ['next'],
      },
      { key: 'next', prompt: 'I am next.', tools: ['theirs'], routes: ['other'] },
      { key: 'other', prompt: 'I am other.', allowRespond: true, routes: ['front'] },
    ],
  });
  await fixture.done('DELETE', '/v1/secrets/TO_GO');

  // Always the same ones.
  let seed = 20_26;
  const any = <Item>(items: readonly Item[]): Item => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return items[Math.floor((seed / 2 ** 31) * items.length)]!;
  };
  const names = [
    'look',
    'LOOK',
    'look\u200b',
    'ｌｏｏｋ',
    'needy',
    'theirs',
    'open',
    'needs_secret',
    'constructor',
    'toString',
    'Respond',
    '',
  ];
  const agents = ['next', 'NEXT', 'other', 'front', 'nobody', '__proto__', 'next '];
  const keys = ['q', 'q', 'q', 'Q', 'tenant', 'unit', 'constructor', 'hasOwnProperty', 'x'];
  const values: Json[] = [1, 9, '1', null, true, [], { q: 1 }, 'x'.repeat(3_000)];
  const params = () =>
    Object.fromEntries(Array.from({ length: any([0, 1, 1, 1, 2]) }, () => [any(keys), any(values)]));
  const decisions: JsonObject[] = [
    { type: 'USE_TOOL', tool: 'needy', params: {} },
    { type: 'USE_TOOL', tool: 'look', params: { q: 9 } },
    { type: 'USE_TOOL', tool: 'look', params: { q: 1, unit: 'f' } },
    { type: 'USE_TOOL', tool: 'look', params: { q: 1, tenant: 'mine' } },
    ...Array.from({ length: 45 }, () => ({ type: 'USE_TOOL', tool: any(names), params: params() })),
    ...agents.map((agent) => ({ type: 'ROUTE_TO_AGENT', agent })),
    ...[...values, { n: 1 }, { n: 9 }, { constructor: 1 }].map((payload) => ({ type: 'RESPOND', payload })),
  ];
  const turnOf = (decision: JsonObject): Turn => {
    if (decision.type === 'USE_TOOL') return call(decision.tool as string, decision.params);
    return decision.type === 'RESPOND' ? respond(decision.payload!) : route(decision.agent as string);
  };
  const codes = new Set<string>();
  const outcomes = await Promise.all(
    decisions.map(async (action) => {
      const { status, body } = await fixture.ask<Verdict>('POST', `/v1/networks/${id}/check`, {
        agent: 'front',
        instruction: { action },
        systemParams: { tenant: 'tenant-judged' },
      });
      // What no request may have, a model may say: it is compared where it can be.
      if (status !== 200) return null;
      // With no second try, whatever is not let through ends the run with its code.
      const { run } = await fixture.play(
        id,
        turns(turnOf(action), route('next'), route('other'), respond({ n: 1 })),
        {
          systemParams: { tenant: 'tenant-judged' },
        },
      );
      const [first] = run.steps;
      const [note] = first!.decision as { status: string; code?: string }[];
      codes.add(body.code ?? body.status);
      const verdict = run.error?.code === 'secret_missing' ? 'secret_missing' : (note!.code ?? note!.status);
      const done = run.calls.filter(({ status }) => status === 'completed').map(({ tool: called }) => called);
      return {
        action,
        said: body.code ?? body.status,
        happened: verdict,
        done,
        isUsed: body.status === 'ok' && action.type === 'USE_TOOL',
      };
    }),
  );
  const compared = outcomes.filter((outcome) => outcome !== null);
  expect(compared.length).toBeGreaterThan(50);
  for (const { action, said, happened, done, isUsed } of compared) {
    expect({ action, verdict: happened }).toEqual({ action, verdict: said });
    expect({ action, done: done.length }).toEqual({ action, done: isUsed ? 1 : 0 });
  }
  expect([...codes].sort()).toEqual([
    'default_param_given',
    'invalid_params',
    'missing_param',
    'missing_system_param',
    'ok',
    'response_invalid',
    'route_not_allowed',
    'secret_missing',
    'system_param_given',
    'tool_not_allowed',
    'unknown_agent',
    'unknown_param',
    'unknown_tool',
  ]);
});
