import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  Event,
  Invoked,
  Json,
  JsonObject,
  Message,
  Problem,
  Run,
  RunStep,
  ToolCall,
} from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type TestServer, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { compiled, type Definition, type FixtureTool, MODEL, publish } from './published-network.ts';

// One server and one network of three; every test brings the script of its run, which breaks a rule. All runs are given system
// parameters, and all that anybody was told or shown is searched for them in the end. Long because of that: what is searched is one server's.

type Say = (request: ModelRequest, agent: string) => Turn | Promise<Turn>;
const scripts = new Map<string, Say>();
const prompts: string[] = [];
const logged: string[] = [];
const answered: string[] = [];
const received: string[] = [];
const planted = {
  tenant: `tenant-${randomBytes(8).toString('hex')}`,
  nested: { pin: `pin "${randomBytes(8).toString('hex')}`, number: 8_321_777_123 },
};
const SECRET = `secret-${randomBytes(8).toString('hex')}`;

let server: TestServer;
let outside: Server;
let project: string;

const tools: Record<string, FixtureTool> = {
  lookup: {
    params: [
      { name: 'q', source: 'agent', required: true, schema: { type: 'string', maxLength: 20 } },
      { name: 'most', source: 'agent', required: false, defaultValue: 7, schema: { type: 'integer' } },
      { name: 'tenant', source: 'system', required: true, schema: {} },
      { name: 'nested', source: 'system', required: false, schema: {} },
      { name: 'format', source: 'default', required: true, defaultValue: 'json', schema: {} },
    ],
  },
  needy: { params: [{ name: 'absent', source: 'system', required: true, schema: {} }] },
  pay: {},
};
const definition: Definition = {
  name: 'Front Desk',
  policy: { maxSteps: 8, retries: 2 },
  response: {
    schema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
    guidance: 'Be short.',
    example: { answer: 'Yes.' },
  },
  tools: Object.keys(tools).map((key) => ({ key })),
  agents: [
    { key: 'front', isDefault: true, prompt: 'I am front.', tools: ['lookup', 'needy'], routes: ['writer'] },
    {
      key: 'writer',
      prompt: 'I am writer.',
      description: 'Writes answers.',
      tools: ['lookup'],
      routes: ['front'],
      allowRespond: true,
    },
    { key: 'vault', prompt: 'I am vault.', tools: ['pay'], allowRespond: true },
  ],
};

beforeAll(async () => {
  outside = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      received.push(JSON.stringify([request.url, request.headers, body]));
      response.setHeader('content-type', 'application/json');
      response.statusCode = request.url!.startsWith('/fails') ? 500 : 200;
      response.end(JSON.stringify({ url: request.url, got: request.headers['x-token'], body }));
    });
  });
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
  const { port } = outside.address() as AddressInfo;
  for (const [name, path] of [
    ['call_out', '/takes'],
    ['call_failing', '/fails'],
  ] as const) {
    tools[name] = {
      kind: 'http',
      params: [
        { name: 'q', source: 'agent', required: false, schema: {} },
        { name: 'tenant', source: 'system', required: true, schema: {} },
      ],
      config: {
        request: {
          method: 'POST',
          url: `http://127.0.0.1:${port}${path}/{{input.tenant}}`,
          headers: { 'x-token': '{{secrets.TOKEN}}' },
          body: { tenant: '{{input.tenant}}', q: '{{input.q}}' },
        },
      },
    };
  }
  tools.call_unset = {
    kind: 'http',
    config: { request: { method: 'GET', url: `http://127.0.0.1:${port}/{{secrets.NOT_SET}}` } },
  };
  const out = ['call_out', 'call_failing', 'call_unset'];
  definition.tools!.push(...out.map((key) => ({ key })));
  definition.agents![0]!.tools!.push(...out);

  const write = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    logger: { debug: write, info: write, warn: write, error: write },
    allow: [`127.0.0.1:${port}`],
    script: (request) => {
      prompts.push(JSON.stringify(request));
      const asked = request.messages.find(({ role }) => role === 'user') as { text: string };
      const name = [...scripts.keys()].find((one) => asked.text.includes(one))!;
      return scripts.get(name)!(request, /I am (\w+)\./.exec(request.system)![1]!);
    },
  });
  await ask('PUT', '/v1/secrets/TOKEN', { value: SECRET });
  project = (await server.db.pool.query('select id from troupe.projects')).rows[0].id;
  await publish(server.db, project, compiled(definition, tools));
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
  outside.close();
});

async function ask<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  answered.push(text);
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}

/** Runs the network with a script, to its end, and looks at it from all sides. */
async function play(say: Say, more: JsonObject = {}) {
  const input = `ask-${newId()}`;
  scripts.set(input, say);
  const given = { input, mode: 'wait', systemParams: planted, timeoutMs: 20_000, ...more };
  const { status, body: run } = await ask<Invoked>('POST', '/v1/networks/front%20desk/invoke', given);
  expect(status, JSON.stringify(run)).toBe(201);
  const of = <Body>(what: string) => ask<Body>('GET', `/v1/runs/${run.id}${what}`).then(({ body }) => body);
  const { calls, steps } = await of<Run & { calls: ToolCall[]; steps: RunStep[] }>('');
  const { data: messages } = await of<{ data: Message[] }>('/messages');
  const { data: events } = await of<{ data: Event[] }>('/events?limit=1000');
  const refusals = events.filter(({ type }) => type === 'decision.refused').map(({ data }) => data!.code);
  const shown = prompts
    .filter((prompt) => prompt.includes(run.id))
    .map((text): ModelRequest => JSON.parse(text));
  return { run, calls, messages, events, steps, refusals, shown };
}

const call = (name: string, args: Json = {}): Turn => ({ calls: [{ name, arguments: args }] });
const route = (agent: string, context?: Json) =>
  call('route_to_agent', context === undefined ? { agent } : { agent, context });
const respond = (payload: Json) => call('respond', { payload });
/** One turn after the other, whoever is at it. */
const turns =
  (...all: Turn[]): Say =>
  ({ step }) =>
    all[Math.min(step, all.length) - 1]!;
const properly = [route('writer'), respond({ answer: 'done' })];

describe('what is allowed', () => {
  test('hands over, sees its own steps whole and earlier ones in a line, and responds', async () => {
    const { run, calls, shown, steps, messages } = await play(
      turns(
        call('lookup', { q: 'first' }),
        route('writer', { found: 'it' }),
        { calls: ['a', 'b'].map((q) => ({ name: 'LOOKUP', arguments: { q } })) },
        respond({ answer: 'done' }),
      ),
    );
    expect(run).toMatchObject({
      status: 'completed',
      response: { answer: 'done' },
      agent: 'writer',
      network: { name: 'Front Desk', version: 1 },
    });
    // What the ledger has is what the agent gave; what came back is what the tool got, without what nobody may see.
    expect(calls.map(({ tool, arguments: args }) => [tool, args])).toEqual([
      ['lookup', { q: 'first' }],
      ['lookup', { q: 'a' }],
      ['lookup', { q: 'b' }],
    ]);
    expect(calls[0]!.output).toEqual({
      echo: {
        q: 'first',
        most: 7,
        format: 'json',
        tenant: '[secret tenant]',
        nested: { pin: '[secret nested.pin]', number: '[secret nested.number]' },
      },
    });
    expect(steps.map(({ agentKey }) => agentKey)).toEqual(['front', 'front', 'writer', 'writer']);
    const names = shown.map(({ tools: offered }) => offered.map(({ name }) => name));
    expect(names[0]).toEqual(['call_failing', 'call_out', 'call_unset', 'lookup', 'needy', 'route_to_agent']);
    expect(names[2]).toEqual(['lookup', 'respond', 'route_to_agent']);
    expect(shown[0]!.tools.find(({ name }) => name === 'lookup')!.inputSchema).toMatchObject({
      properties: { q: {}, most: {} },
      required: ['q'],
    });
    expect(JSON.stringify(shown[0])).not.toContain('tenant');
    const [first, last] = [shown[2]!, shown[3]!];
    expect(first.system).toContain('I am writer.');
    expect(first.system).toContain('Be short.');
    expect(first.messages).toHaveLength(1);
    const told = (first.messages[0] as { text: string }).text;
    expect(told).toContain('{"found":"it"}');
    expect(told).toMatch(/1\. lookup\(\{"q":"first"\}\) → \{.*\n2\. front handed over to writer/);
    expect(last.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: { text: '{"answer":"done"}' } });
  });

  test('a text is a response where the contract takes one', async () => {
    const snapshot = compiled({
      name: 'plain',
      agents: [{ key: 'front', prompt: 'I am front.', allowRespond: true }],
    });
    const { id } = await publish(server.db, project, snapshot);
    scripts.set('plain text', () => ({ text: 'Hello.' }));
    const { body } = await ask<Invoked>('POST', `/v1/networks/${id}/invoke`, {
      input: { say: 'plain text' },
      mode: 'wait',
    });
    expect(body).toMatchObject({ status: 'completed', response: { message: 'Hello.' }, agent: 'front' });
  });

  test('agents have models of their own, and fall back within them', async () => {
    const broken = { ...MODEL, model: 'fails' };
    const given: Definition = {
      name: 'models',
      policy: { modelTries: 1 },
      agents: [
        { key: 'front', prompt: 'I am front.', isDefault: true, routes: ['writer'] },
        { key: 'writer', prompt: 'I am writer.', allowRespond: true },
      ],
    };
    const models = {
      front: [broken, { ...MODEL, model: 'second' }],
      writer: [broken, { ...MODEL, model: 'other' }],
    };
    await publish(server.db, project, compiled(given, {}, models));
    scripts.set('by models', ({ model }, agent) => {
      if (model === 'fails') return { error: { code: 'down', message: 'No.', retryable: true } };
      return agent === 'front' ? route('writer') : respond(model);
    });
    const { body } = await ask<Invoked>('POST', '/v1/networks/models/invoke', {
      input: 'by models',
      mode: 'wait',
    });
    expect(body).toMatchObject({ status: 'completed', response: { message: 'other' } });
    const asked = prompts
      .map((text): ModelRequest => JSON.parse(text))
      .filter(({ runId }) => runId === body.id);
    expect(asked.map(({ model }) => model)).toEqual(['fails', 'second', 'fails', 'other']);
  });
});

describe('what is not', () => {
  test.each<[string, Turn, string, string]>([
    ['a tool of another agent', call('pay', { amount: 1 }), 'tool_not_allowed', '`lookup`'],
    ['a tool that there is not', call('steal'), 'unknown_tool', '`lookup`'],
    ['a route that there is not', route('vault'), 'route_not_allowed', '`writer`'],
    ['a route to nobody', route('nobody'), 'unknown_agent', '`writer`'],
    ['a route to no name', call('route_to_agent', { agent: 3 }), 'invalid_params', '`agent`'],
    ['to respond', respond({ answer: 'mine' }), 'respond_not_allowed', '`writer`'],
    ['to respond by a text', { text: 'Mine.' }, 'respond_not_allowed', '`writer`'],
    ['a system parameter', call('lookup', { q: 'x', tenant: 'other' }), 'system_param_given', '`q`'],
    ['a default', call('lookup', { q: 'x', format: 'xml' }), 'default_param_given', '`q`'],
    ['an unknown parameter', call('lookup', { q: 'x', y: 1 }), 'unknown_param', '`q`'],
    ['no parameter', call('lookup'), 'missing_param', '`q`'],
    ['a parameter that does not fit', call('lookup', { q: 'x'.repeat(21) }), 'invalid_params', '`q`'],
    ['what is no JSON', { calls: [{ name: 'lookup', invalid: '{"q"' }] }, 'invalid_params', 'JSON'],
  ])('%s: the same agent is told once, and nothing happens', async (_, turn, code, told) => {
    const { run, calls, steps, refusals, shown } = await play(turns(turn, ...properly));
    expect(refusals).toEqual([code]);
    expect(run).toMatchObject({ status: 'completed', response: { answer: 'done' }, agent: 'writer' });
    expect(steps.map(({ agentKey }) => agentKey)).toEqual(['front', 'front', 'writer']);
    expect(steps[0]!.decision).toMatchObject([{ status: 'retry', code }]);
    // Not made, or made and failed before it began.
    expect(calls.filter(({ status }) => status !== 'failed')).toEqual([]);
    const said = shown[1]!.messages.filter(({ role }) => role === 'tool' || role === 'system');
    expect(said).toHaveLength(1);
    expect(JSON.stringify(said[0])).toContain(told);
    // Nobody after it hears of it.
    expect(JSON.stringify(shown[2]!.messages)).not.toContain(code);
  });

  test('a payload that breaks the contract ends nothing', async () => {
    const { run, refusals, steps } = await play(
      turns(route('writer'), respond({ answer: 5 }), { text: 'Just a text.' }, respond({ answer: 'done' })),
    );
    expect(refusals).toEqual(['response_invalid', 'response_invalid']);
    expect(run).toMatchObject({ status: 'completed', response: { answer: 'done' } });
    expect(steps.map(({ agentKey }) => agentKey)).toEqual(['front', 'writer', 'writer', 'writer']);
  });

  test('a hand-over beside other calls; the others are made', async () => {
    const both = { calls: [{ name: 'lookup', arguments: { q: 'x' } }, ...route('writer').calls!] };
    const { run, calls, refusals, steps } = await play(turns(both, ...properly));
    expect(refusals).toEqual(['not_alone']);
    expect(calls.map(({ tool, status }) => [tool, status])).toEqual([
      ['lookup', 'completed'],
      ['route_to_agent', 'failed'],
    ]);
    expect(steps[1]!.agentKey).toBe('front');
    expect(run.status).toBe('completed');
  });

  test('again and again: the run fails after as many refusals in a row as the policy has', async () => {
    const { run, steps, refusals } = await play(turns(call('pay')));
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'too_many_refusals' },
      response: null,
      agent: 'front',
    });
    expect(refusals).toHaveLength(3);
    expect(steps).toHaveLength(3);
    // In a row: what was allowed in between starts anew.
    const bad = call('pay');
    const mixed = await play(turns(bad, bad, call('lookup', { q: 'x' }), bad, { text: 'no' }, ...properly));
    expect(mixed.run.status).toBe('completed');
  });

  test('to hand over for ever: the steps come to an end', async () => {
    const { run, steps, events } = await play((_, agent) => route(agent === 'front' ? 'writer' : 'front'));
    expect(run).toMatchObject({ status: 'failed', error: { code: 'step_limit' } });
    expect(steps).toHaveLength(8);
    expect(events.filter(({ type }) => type === 'route.taken')).toHaveLength(8);
  });

  test('what the operator left out is no fault of the model: the run fails at once', async () => {
    const missing = await play(turns(call('needy'), ...properly));
    expect(missing.run).toMatchObject({
      status: 'failed',
      error: {
        code: 'missing_system_param',
        message: expect.stringContaining('`systemParams` of the invocation'),
      },
    });
    expect([missing.steps.length, missing.calls.length]).toEqual([1, 0]);
    const unset = await play(turns(call('call_unset'), ...properly));
    expect(unset.run).toMatchObject({ status: 'failed', error: { code: 'secret_missing' } });
    const none = await play(turns(call('lookup', { q: 'x' }), ...properly), { systemParams: {} });
    expect(none.run).toMatchObject({ status: 'failed', error: { code: 'missing_system_param' } });
  });
});

describe('over HTTP', () => {
  test('what was made, published and made otherwise since runs as it was published', async () => {
    const sources = ['agent', 'system'].map((source) => ({ name: `by_${source}`, source, required: true }));
    const made = [
      await ask('POST', '/v1/tools', { name: 'say_again', kind: 'echo', params: sources }),
      await ask('POST', '/v1/networks', {
        name: 'whole',
        tools: [{ key: 'say_again' }],
        agents: [
          { key: 'front', prompt: 'I am front.', isDefault: true, tools: ['say_again'], routes: ['writer'] },
          { key: 'writer', prompt: 'I am writer.', allowRespond: true, routes: ['front'] },
        ],
      }),
      await ask('POST', '/v1/networks/whole/publish', {}),
      await ask('PUT', '/v1/networks/whole/agents/front/routes', { routes: [] }),
    ];
    for (const { status, body } of made) expect(status, JSON.stringify(body)).toBeLessThan(300);
    scripts.set(
      'the whole way',
      turns(call('say_again', { by_agent: 1 }), route('writer'), respond({ well: true })),
    );
    const given = { input: 'the whole way', mode: 'wait', systemParams: { by_system: planted.tenant } };
    const { body } = await ask<Invoked>('POST', '/v1/networks/whole/invoke', given);
    expect(body).toMatchObject({ status: 'completed', response: { well: true }, network: { version: 1 } });
    const { body: run } = await ask<{ calls: ToolCall[] }>('GET', `/v1/runs/${body.id}`);
    expect(run.calls).toMatchObject([
      { arguments: { by_agent: 1 }, output: { echo: { by_agent: 1, by_system: '[secret by_system]' } } },
    ]);
  });

  test('a version that was asked for, where it begins, and what is refused', async () => {
    const snapshot = (answer: string) =>
      compiled({
        name: 'versions',
        agents: [{ key: 'front', prompt: `I am front. ${answer}`, allowRespond: true }],
      });
    const { id } = await publish(server.db, project, snapshot('v-one'));
    await publish(server.db, project, snapshot('v-two'), id);
    scripts.set('which version', ({ system }) => ({ text: system.includes('v-one') ? 'one' : 'two' }));
    const invoke = async (more: object) =>
      (
        await ask<Invoked>('POST', '/v1/networks/VERSIONS/invoke', {
          input: 'which version',
          mode: 'wait',
          ...more,
        })
      ).body;
    expect(await invoke({})).toMatchObject({ response: { message: 'two' }, network: { id, version: 2 } });
    expect(await invoke({ version: 1, agent: 'FRONT' })).toMatchObject({ response: { message: 'one' } });
    const refused = async (path: string, body: object) => {
      const { status, body: problem } = await ask<Problem>('POST', `/v1/networks/${path}/invoke`, body);
      return [status, problem.code];
    };
    expect(await refused('nothing', { input: 'x' })).toEqual([404, 'not_found']);
    expect(await refused(newId(), { input: 'x' })).toEqual([404, 'not_found']);
    expect(await refused('versions', { input: 'x', version: 9 })).toEqual([404, 'version_not_found']);
    expect(await refused('versions', { input: 'x', agent: 'nobody' })).toEqual([422, 'unknown_key']);
    await server.db.pool.query(`update troupe.networks set status = 'archived' where id = $1`, [id]);
    expect(await refused('versions', { input: 'x' })).toEqual([409, 'network_archived']);
    await server.db.pool.query(
      `update troupe.networks set status = 'draft', current_version = null where id = $1`,
      [id],
    );
    expect(await refused('versions', { input: 'x' })).toEqual([409, 'network_not_published']);
    const { body } = await ask<{ data: Invoked[] }>('GET', '/v1/networks/versions/runs?limit=1');
    expect(body.data).toMatchObject([{ network: { version: 1 }, response: { message: 'one' } }]);
  });

  test('in the background, once for each key, and nobody waits longer than they want', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    scripts.set('slowly', () => ({ gate, ...route('writer') }));
    const given = { input: 'slowly', systemParams: planted };
    const headers = { 'idempotency-key': newId() };
    const first = await ask<Invoked>('POST', '/v1/networks/front%20desk/invoke', given, headers);
    const again = await ask<Invoked>('POST', '/v1/networks/front%20desk/invoke', given, headers);
    expect(again.body).toEqual(first.body);
    const waited = await ask<Invoked>('POST', '/v1/networks/front%20desk/invoke', {
      ...given,
      mode: 'wait',
      timeoutMs: 100,
    });
    expect(waited.body).toMatchObject({ response: null, agent: 'front' });
    expect(['queued', 'running']).toContain(waited.body.status);
    scripts.set('slowly', turns(...properly));
    open();
    expect(await server.kernel.ended(first.body.id)).toMatchObject({ status: 'completed' });
    await server.kernel.ended(waited.body.id);
    const { body: problem } = await ask<Problem>('POST', `/v1/runs/${first.body.id}/fork`, { step: 1 });
    expect(problem.code).toBe('run_of_network');
  });

  test('a system parameter that no tool takes is refused before anything begins, by invoke and by check', async () => {
    const count = async () =>
      (await server.db.pool.query('select count(*)::int as n from troupe.runs')).rows[0].n as number;
    const before = await count();
    const systemParams = { ...planted, Tenant: 'as-if', tenent: 'typo' };
    const check = { agent: 'front', instruction: { action: { type: 'RESPOND', payload: {} } } };
    for (const [path, body] of [
      ['invoke', { input: 'x' }],
      ['check', check],
    ] as const) {
      const { status, body: problem } = await ask<Problem>('POST', `/v1/networks/front%20desk/${path}`, {
        ...body,
        systemParams,
      });
      expect([status, problem.code]).toEqual([422, 'unknown_system_param']);
      expect(problem.issues?.map((issue) => issue.path)).toEqual([
        'systemParams.Tenant',
        'systemParams.tenent',
      ]);
      expect(problem.detail).toContain('"absent", "nested", "tenant"');
      expect(JSON.stringify(problem)).not.toContain('as-if');
    }
    expect(await count()).toBe(before);
  });

  test('check judges without a model; prompt shows what an agent would be told', async () => {
    const check = async (agent: string, action: JsonObject, systemParams = {}) =>
      (
        await ask<JsonObject>('POST', '/v1/networks/front%20desk/check', {
          agent,
          instruction: { action },
          systemParams,
        })
      ).body;
    const use = { type: 'USE_TOOL', tool: 'lookup', params: { q: 'x' } };
    expect(await check('front', use, planted)).toEqual({
      status: 'ok',
      code: null,
      message: null,
      params: { q: 'x' },
    });
    expect(await check('front', use)).toMatchObject({ status: 'error', code: 'missing_system_param' });
    expect(await check('front', { type: 'ROUTE_TO_AGENT', agent: 'vault' })).toMatchObject({
      status: 'retry',
      code: 'route_not_allowed',
    });
    expect(await check('nobody', use)).toMatchObject({ code: 'unknown_key' });
    const { shown } = await play(turns(...properly));
    const { body } = await ask<JsonObject>('POST', '/v1/networks/front%20desk/prompt', { input: 'ask' });
    expect(body).toMatchObject({ agent: 'front', system: shown[0]!.system, tools: shown[0]!.tools });
    expect(body.messages).toEqual([{ role: 'user', text: 'ask' }]);
  });
});

test('what the system gives and secrets reach the tools, and nobody else', async () => {
  const { run, calls } = await play(
    turns(
      call('call_out', { q: 'x' }),
      call('call_failing', { q: 'x' }),
      call('lookup', { q: 'x' }),
      ...properly,
    ),
  );
  expect(run.status).toBe('completed');
  expect(calls.map(({ status }) => status)).toEqual(['completed', 'failed', 'completed']);
  expect(received).toHaveLength(2);
  for (const request of received) {
    expect(request).toContain(planted.tenant);
    expect(request).toContain(SECRET);
  }
  const tables = [
    'messages',
    'events',
    'tool_calls',
    'run_steps',
    'runs',
    'run_heads',
    'audit_log',
    'idempotency_keys',
    'compiled_snapshots',
  ];
  const kept: string[] = [];
  for (const table of tables) {
    const { rows } = await server.db.pool.query(`select to_jsonb(t)::text as row from troupe.${table} t`);
    kept.push(...rows.map(({ row }) => row));
  }
  const everything = { prompts, answered, logged, kept };
  for (const value of [planted.tenant, planted.nested.pin.slice(5), String(planted.nested.number), SECRET]) {
    for (const form of [
      value,
      Buffer.from(value).toString('base64').slice(0, -4),
      Buffer.from(value).toString('hex'),
    ]) {
      for (const [where, texts] of Object.entries(everything)) {
        expect(texts.length, where).toBeGreaterThan(where === 'logged' ? -1 : 20);
        expect(
          texts.filter((text) => text.includes(form)),
          `${where}: ${value}`,
        ).toEqual([]);
      }
    }
  }
});
