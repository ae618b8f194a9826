import { randomBytes } from 'node:crypto';
import type { Agent, Problem, Run, Session, Tool, ToolCall, ToolTest, ToolTrial } from '@troupe/protocol';
import { type CodeToolContext, codeFunctions, tool } from '@troupe/server/parts';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { codeToolsOfWorkers, expireUnclaimed } from '../../src/store/queries/code-tools.ts';

// One server whose worker has these functions. A message names the calls to be made.

const planted = `planted-${randomBytes(12).toString('hex')}`;
const seen: { args: unknown; context: CodeToolContext }[] = [];
const circle: { self?: unknown } = {};
circle.self = circle;

const code = [
  tool({
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number().default(10) }),
    effect: 'pure',
    execute: (args, context) => {
      seen.push({ args, context });
      return { sum: args.a + args.b };
    },
  }),
  tool({
    name: 'throws',
    execute: () => Promise.reject(Object.assign(new Error('No such order.'), { code: 'no_order' })),
  }),
  tool({ name: 'throws_text', execute: () => Promise.reject('just a text') }),
  tool({
    name: 'hangs',
    timeoutMs: 50,
    execute: (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
  }),
  tool({ name: 'circle', execute: () => circle }),
  tool({ name: 'bigint', execute: () => ({ n: 1n }) }),
  tool({ name: 'a_function', execute: () => () => {} }),
  tool({ name: 'nothing', execute: () => undefined }),
  tool({
    name: 'tells',
    execute: async (_, { secret }) => ({ heard: `it is ${await secret('KEY')}`, when: new Date(0) }),
  }),
  tool({
    name: 'shouts',
    execute: async (_, { secret }) => Promise.reject(new Error(`bad key ${await secret('KEY')}`)),
  }),
  tool({ name: 'asks', execute: (_, { secret }) => secret('ABSENT') }),
];

let server: TestServer;
let agent: Agent;
beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    code,
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      return last.role === 'user'
        ? { calls: JSON.parse(last.text) }
        : { text: JSON.stringify(messages.slice(-2)) };
    },
  });
  await done('PUT', '/v1/secrets/KEY', { value: planted });
  for (const { name } of code) await done('POST', '/v1/tools', { name, kind: 'code' });
  agent = await done('POST', '/v1/agents', { name: 'Ada', tools: code.map(({ name }) => name) });
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

async function ask<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : null) as Body };
}
async function done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask<Body>(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function say(by: Agent, calls: object[]): Promise<string> {
  const { id } = await done<Session>('POST', `/v1/agents/${by.id}/sessions`, {});
  const content = { text: JSON.stringify(calls.map((call, at) => ({ id: `c${at}`, ...call }))) };
  const { run } = await done<{ run: Run }>('POST', `/v1/agents/${by.id}/sessions/${id}/messages`, {
    content,
  });
  return run.id;
}
const runOf = (run: string) => done<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`);
async function calling(...calls: object[]): Promise<Record<string, ToolCall>> {
  const run = await say(agent, calls);
  const ended = await until('the run has ended', async () => {
    const found = await runOf(run);
    return found.status === 'completed' ? found : null;
  });
  return Object.fromEntries(ended.calls.map((call) => [call.tool, call]));
}

test('a function is called with what its schema makes of the arguments, and told which call it is', async () => {
  const { add } = await calling({ name: 'add', arguments: { a: 2 } });
  expect(add).toMatchObject({ status: 'completed', output: { sum: 12 }, effect: 'once' });
  const { args, context } = seen.at(-1)!;
  expect(args).toEqual({ a: 2, b: 10 });
  expect(Object.keys(context).sort()).toEqual(
    ['attempt', 'callId', 'idempotencyKey', 'projectId', 'runId', 'secret', 'signal', 'threadId'].sort(),
  );
  expect(context).toMatchObject({ callId: add!.id, attempt: 1 });
  // Models name calls as they like; another run may have one of the same name.
  expect(String(context!.idempotencyKey).startsWith(`${context!.runId}-`)).toBe(true);
});

test('whatever a function does is a result with a code, and the run goes on', async () => {
  const names = ['throws', 'throws_text', 'hangs', 'circle', 'bigint', 'a_function', 'nothing', 'asks'];
  const row = (await done<{ data: Tool[] }>('GET', '/v1/tools?name=hangs')).data[0]!;
  await done('PATCH', `/v1/tools/${row.id}`, { timeoutMs: 50 });
  const calls = await calling(...names.map((name) => ({ name, arguments: {} })), {
    name: 'add',
    arguments: { a: 'one' },
  });
  const codes = Object.fromEntries(
    Object.entries(calls).map(([name, { error }]) => [name, error?.code ?? null]),
  );
  expect(codes).toEqual({
    throws: 'no_order',
    throws_text: 'tool_error',
    hangs: 'tool_timeout',
    circle: 'bad_output',
    bigint: 'bad_output',
    a_function: 'bad_output',
    nothing: null,
    asks: 'secret_missing',
    add: 'invalid_arguments',
  });
  expect(calls.throws!.error!.message).toBe('No such order.');
  expect(calls.nothing).toMatchObject({ status: 'completed', output: null });
});

test('a secret that a function asked for is hidden in what comes back', async () => {
  const run = await say(agent, [
    { name: 'tells', arguments: {} },
    { name: 'shouts', arguments: {} },
  ]);
  const { calls } = await until('the run has ended', async () => {
    const found = await runOf(run);
    return found.status === 'completed' ? found : null;
  });
  expect(calls[0]!.output).toEqual({ heard: 'it is [secret KEY]', when: '1970-01-01T00:00:00.000Z' });
  expect(calls[1]!.error!.message).toBe('bad key [secret KEY]');
  const { rows } = await server.db.pool.query('select content::text from troupe.messages');
  expect(JSON.stringify([calls, rows])).not.toContain(planted);
});

test('a row names its function; only code tools do', async () => {
  const made = await done<Tool>('POST', '/v1/tools', {
    name: 'plus',
    kind: 'code',
    function: 'add',
    effect: 'pure',
  });
  expect(made).toMatchObject({ kind: 'code', function: 'add', effect: 'pure' });
  const trial = await done<ToolTrial>('POST', `/v1/tools/${made.id}/try`, { arguments: { a: 1, b: 2 } });
  expect(trial).toMatchObject({ ok: true, output: { sum: 3 } });
  const refused = await ask<Problem>('POST', '/v1/tools', { name: 'odd', kind: 'static', function: 'add' });
  expect([refused.status, refused.body.issues]).toEqual([
    422,
    [{ path: 'function', message: 'is for code tools' }],
  ]);
});

test('tested without a call: who has a function; what a network or an agent as a tool would run', async () => {
  const check = async (body: object, given = {}) => {
    const { id } = await done<Tool>('POST', '/v1/tools', body);
    return ask<ToolTest & Problem>('POST', `/v1/tools/${id}/test`, given);
  };
  const times = seen.length;
  expect((await check({ name: 'again', kind: 'code', function: 'add' })).body).toMatchObject({
    ok: true,
    checked: expect.stringContaining('1 worker has'),
  });
  expect(seen).toHaveLength(times);
  const called = await check({ name: 'once', kind: 'code', function: 'add' }, { arguments: { a: 1 } });
  expect(called.body).toMatchObject({ ok: true, trial: { output: { sum: 11 } } });
  const nobody = await check({ name: 'gone', kind: 'code' });
  expect(nobody.body).toMatchObject({ ok: false, error: { code: 'tool_unavailable' } });
  expect(nobody.body.error!.message).toContain('No worker has the function "gone"');

  const asking = { name: 'ask_ada', kind: 'agent', agent: { agent: 'ada' } };
  expect((await check(asking)).body).toMatchObject({ ok: true, checked: expect.stringContaining('"ada"') });
  const tried = await check({ ...asking, name: 'ask_ada_now' }, { arguments: { input: 'x' } });
  expect([tried.status, tried.body.code]).toEqual([409, 'tool_not_triable']);
  await done('POST', '/v1/networks', {
    name: 'Desk',
    agents: [{ key: 'front', isDefault: true, allowRespond: true, prompt: 'Answer.' }],
  });
  const running = { kind: 'network', network: { network: 'desk' } };
  expect((await check({ ...running, name: 'too_early' })).body).toMatchObject({
    ok: false,
    error: { code: 'network_not_published' },
  });
  await done('POST', '/v1/networks/desk/publish', {});
  expect((await check({ ...running, name: 'in_time' })).body).toMatchObject({
    ok: true,
    checked: 'It runs version 1 of "Desk", from "front" on. No run was begun.',
  });
});

test('a run whose function no worker has waits, says for what, can be canceled, and ends when its time is over', async () => {
  const made = await done<Tool>('POST', '/v1/tools', { name: 'absent', kind: 'code' });
  const trial = await done<ToolTrial>('POST', `/v1/tools/${made.id}/try`, { arguments: {} });
  expect(trial).toMatchObject({ ok: false, error: { code: 'tool_unavailable' } });
  expect(await codeToolsOfWorkers(server.db, 'absent')).toEqual({ workers: 0, seenAt: null });
  await until(
    'the worker has said what it has',
    async () => (await codeToolsOfWorkers(server.db, 'add')).seenAt,
  );
  expect((await codeToolsOfWorkers(server.db, 'add')).workers).toBe(1);

  const waiting = await done<Agent>('POST', '/v1/agents', { name: 'Bea', tools: ['absent', 'add'] });
  const run = await say(waiting, [{ name: 'absent', arguments: {} }]);
  const other = await say(waiting, []);
  expect(await runOf(run)).toMatchObject({ status: 'queued', step: 0, waitsForCode: ['absent', 'add'] });
  expect((await calling({ name: 'add', arguments: { a: 1 } })).add!.status).toBe('completed');
  expect(await runOf(run)).toMatchObject({ status: 'queued', waitsForCode: ['absent', 'add'] });

  const canceled = await done<Run>('POST', `/v1/runs/${run}/cancel`);
  expect(canceled).toMatchObject({ status: 'canceled', waitsForCode: null });
  await server.db.pool.query(
    "update troupe.runs set wall_ms = 1, run_at = now() - interval '1 hour' where id = $1",
    [other],
  );
  expect(await expireUnclaimed(server.db, [], 10)).toEqual([other]);
  expect(await runOf(other)).toMatchObject({ status: 'canceled', cancelReason: 'timeout' });
});

const execute = (): unknown => 1;
test.each<[string, unknown[], RegExp]>([
  ['a name that no tool can have', [{ name: 'no name', execute }], /m\.ts: tool 1 \("no name"\): "name"/],
  ['no function', [{ name: 'one' }], /tool 1 \("one"\): "execute" must be a function/],
  [
    'a broken schema',
    [{ name: 'one', inputSchema: { type: 'object', required: 3 }, execute }],
    /"inputSchema"/,
  ],
  ['a schema of no object', [{ name: 'one', inputSchema: z.string(), execute }], /must describe an object/],
  [
    'a schema that is no JSON Schema',
    [{ name: 'one', inputSchema: z.object({ at: z.date() }), execute }],
    /cannot be written as JSON Schema/,
  ],
  ['what is unknown', [{ name: 'one', executes: 1, execute }], /executes/],
  ['nothing', [null], /tool 1 is no tool/],
  [
    'two of one name',
    [
      { name: 'one', execute },
      { name: 'One', execute },
    ],
    /"One", which m\.ts declares too/,
  ],
])('a module with %s is refused with a sentence', (_, tools, sentence) => {
  expect(() => codeFunctions([{ from: 'm.ts', tools }])).toThrow(sentence);
});
