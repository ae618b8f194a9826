import { randomBytes } from 'node:crypto';
import type { Agent, Problem, Run, Session, Tool, ToolCall, ToolTrial, WaitingCall } from '@troupe/protocol';
import { createModels, Kernel, silentLogger } from '@troupe/server';
import { createDemo, createTools, sessionsDoor, toolParts } from '@troupe/server/parts';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openUnruly } from '../tools/unruly.ts';

// One server, one server that misbehaves; every test has tools and agents of its own. A message names the calls to be made.
// Long because all of it shares the servers, which take longer to start than most of the tests.

let unruly: Awaited<ReturnType<typeof openUnruly>>;
let server: TestServer;
const logged: string[] = [];
/** Everything that was answered to anybody. */
const answered: string[] = [];
const planted = {
  TOKEN: `planted-${randomBytes(12).toString('hex')}`,
  BASIC: Buffer.from(`ada:${randomBytes(12).toString('hex')}`).toString('base64'),
};

beforeAll(async () => {
  unruly = await openUnruly();
  const write = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    logger: { debug: write, info: write, warn: write, error: write },
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role !== 'user') return { text: `seen ${JSON.stringify(messages.slice(-2))}` };
      return { calls: JSON.parse(last.text) };
    },
  });
  for (const [name, value] of Object.entries(planted)) await done('PUT', `/v1/secrets/${name}`, { value });
  await server.db.pool.query('update troupe.projects set outgoing = $1', [{ allow: unruly.allow }]);
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
  await unruly.close();
});

async function ask<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  answered.push(text);
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}
async function done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask<Body>(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function refused(method: string, path: string, body?: unknown) {
  const { status, body: problem } = await ask<Problem>(method, path, body);
  return {
    status,
    code: problem?.code,
    detail: problem?.detail,
    paths: problem?.issues?.map(({ path }) => path),
  };
}
const create = (body: object) => done<Tool>('POST', '/v1/tools', body);
const attempt = (tool: Tool, args: object = {}) =>
  done<ToolTrial>('POST', `/v1/tools/${tool.id}/try`, { arguments: args });
const http = (name: string, request: object, more: object = {}) => ({
  name,
  kind: 'http',
  request: { ...request, url: `${unruly.url}${(request as { url: string }).url}` },
  ...more,
});
const agentWith = (name: string, tools: string[], more: object = {}) =>
  done<Agent>('POST', '/v1/agents', { name, tools, ...more });

interface Asked {
  session: Session;
  run: string;
}
async function say(agent: Agent, ...calls: object[]): Promise<Asked> {
  const session = await done<Session>('POST', `/v1/agents/${agent.id}/sessions`, {});
  const path = `/v1/agents/${agent.id}/sessions/${session.id}`;
  const posted = await done<{ run: { id: string } }>('POST', `${path}/messages`, {
    content: { text: JSON.stringify(calls.map((call, at) => ({ id: `c${at}`, ...call }))) },
  });
  return { session, run: posted.run.id };
}
const callsOf = async (run: string) => {
  const { calls } = await done<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`);
  return Object.fromEntries(calls.map((call) => [call.id, call]));
};
const ended = (run: string) =>
  until('the run has ended', async () => {
    const found = await done<Run>('GET', `/v1/runs/${run}`);
    return found.status === 'completed' ? found : null;
  });
async function calling(agent: Agent, ...calls: object[]) {
  const { run } = await say(agent, ...calls);
  await ended(run);
  return callsOf(run);
}

test('a tool is defined, changed and deleted; versions, audit log, names', async () => {
  const made = await create({ name: 'greet', kind: 'static', output: { hello: 'you' }, metadata: { a: 1 } });
  expect(made).toMatchObject({
    name: 'greet',
    displayName: null,
    kind: 'static',
    effect: 'pure',
    visible: false,
    approval: false,
    version: 1,
    timeoutMs: 30_000,
    request: null,
    inputSchema: { type: 'object' },
    display: { customUI: null, when: 'always', showInput: true, showOutput: true },
  });
  expect(await done('GET', `/v1/tools/${made.id}`)).toEqual(made);
  expect(await done('GET', '/v1/tools?name=GREET')).toEqual({ data: [made], nextCursor: null });
  expect(await refused('POST', '/v1/tools', { name: 'Greet', kind: 'static' })).toMatchObject({
    status: 409,
    code: 'name_taken',
  });
  const changed = await done<Tool>('PATCH', `/v1/tools/${made.id}`, { description: 'Greets.', output: null });
  expect(changed).toMatchObject({ version: 2, description: 'Greets.', output: null, metadata: { a: 1 } });
  expect(await done('PATCH', `/v1/tools/${made.id}`, { description: 'Greets.' })).toEqual(changed);
  for (const fixed of [{ name: 'other' }, { kind: 'http' }])
    expect(await refused('PATCH', `/v1/tools/${made.id}`, fixed)).toMatchObject({ status: 422 });
  await done('DELETE', `/v1/tools/${made.id}`);
  expect(await refused('GET', `/v1/tools/${made.id}`)).toMatchObject({ status: 404 });
  const { data } = await done<{ data: { action: string; target: string }[] }>('GET', '/v1/audit');
  expect(data.filter(({ target }) => target === made.id).map(({ action }) => action)).toEqual([
    'tool.deleted',
    'tool.changed',
    'tool.created',
  ]);
});

test('of two changes that were made on one version, at once or one after the other, the second is refused', async () => {
  const { id } = await create({ name: 'editedByTwo', kind: 'echo' });
  const edit = (description: string) =>
    ask<Tool & Problem>('PATCH', `/v1/tools/${id}`, { description, baseVersion: 1 });
  const both = await Promise.all([edit('Mine.'), edit('Yours.')]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  const kept = both.find(({ status }) => status === 200)!.body;
  expect(both.find(({ status }) => status === 409)!.body).toMatchObject({
    code: 'version_conflict',
    issues: [{ path: 'baseVersion', message: 'is not 2' }],
  });
  // Also where it says what is there anyway: whoever sends it has not seen that.
  expect(await edit(kept.description)).toMatchObject({ status: 409 });
  expect(await done('GET', `/v1/tools/${id}`)).toEqual(kept);
  expect(await done('PATCH', `/v1/tools/${id}`, { visible: true, baseVersion: 2 })).toMatchObject({
    version: 3,
    description: kept.description,
  });
});

test('what cannot work is refused when it is written', async () => {
  const get = { url: 'https://api.example.com/x' };
  const bad: [object, string, string][] = [
    [{ kind: 'http' }, 'tool_invalid', 'request'],
    [{ kind: 'client', request: get }, 'tool_invalid', 'request'],
    [{ kind: 'ui', approval: true }, 'tool_invalid', 'approval'],
    [{ kind: 'http', request: get, output: 1 }, 'tool_invalid', 'output'],
    [{ kind: 'static', outputSchema: {} }, 'tool_invalid', 'outputSchema'],
    [{ kind: 'static', response: { as: 'text' } }, 'tool_invalid', 'response'],
    [{ kind: 'static', inputSchema: { type: 'string' } }, 'tool_schema_invalid', 'inputSchema'],
    [
      { kind: 'static', inputSchema: { type: 'object', properties: 5 } },
      'tool_schema_invalid',
      'inputSchema',
    ],
    [{ kind: 'client', outputSchema: { type: 'nonsense' } }, 'tool_schema_invalid', 'outputSchema'],
    [{ kind: 'http', request: { ...get, body: {} } }, 'tool_invalid', 'request.body'],
    [{ kind: 'http', request: { ...get, headers: { Host: 'x' } } }, 'tool_invalid', 'request.headers.Host'],
    [
      { kind: 'http', request: { ...get, headers: { 'X-A': 'a\nb' } } },
      'invalid_request',
      'request.headers.X-A',
    ],
    [
      { kind: 'http', request: { ...get, headers: { 'X-A': '{{other.x}}' } } },
      'tool_invalid',
      'request.headers.X-A',
    ],
    [{ kind: 'http', request: { ...get, query: { q: '{{input.q' } } }, 'tool_invalid', 'request.query.q'],
    [{ kind: 'http', request: get, response: { pick: 'a.b' } }, 'invalid_request', 'response.pick'],
    ...[
      'https://{{input.host}}/',
      '{{input.url}}',
      'https://api.example.com{{input.path}}',
      'https://api.example.com:{{input.port}}/',
      '{{input.scheme}}://api.example.com/',
      'https://{{secrets.HOST}}/',
      'https://ada:pw@api.example.com/',
      'ftp://api.example.com/',
      '/path',
      'https:///x',
    ].map((url): [object, string, string] => [
      { kind: 'http', request: { url } },
      'tool_invalid',
      'request.url',
    ]),
    [{ request: get }, 'invalid_request', 'kind'],
    [{ kind: 'http', request: get, displayTool: true }, 'invalid_request', ''],
    [{ kind: 'http', request: get, display: { mode: 'full' } }, 'invalid_request', 'display'],
    [{ executionType: 'space', execution: { url: 'https://a.example' } }, 'invalid_request', 'execution.url'],
  ];
  for (const [definition, code, path] of bad) {
    const answer = await refused('POST', '/v1/tools', { name: 'bad', ...definition });
    expect([definition, answer]).toEqual([
      definition,
      expect.objectContaining({ status: 422, code, paths: expect.arrayContaining([path]) }),
    ]);
  }
  const said = async (more: object) =>
    (await refused('POST', '/v1/tools', { name: 'bad', kind: 'static', ...more })).detail;
  expect(await said({ displayTool: true })).toContain('`visible`');
  expect(await said({ display: { mode: 'full' } })).toContain('`visible`');
  expect((await done<{ data: Tool[] }>('GET', '/v1/tools?name=bad')).data).toEqual([]);
});

test("the source's tool JSON loads as it stands", async () => {
  const weather = {
    name: 'fetchWeather',
    description: 'Get current weather for a city',
    executionType: 'gateway',
    visibility: 'visible',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execution: {
      url: 'https://api.weather.com/current?city={{input.city}}',
      method: 'GET',
      timeout: 10000,
    },
  };
  expect(await create(weather)).toMatchObject({
    name: 'fetchWeather',
    description: weather.description,
    kind: 'http',
    effect: 'pure',
    visible: true,
    inputSchema: weather.inputSchema,
    timeoutMs: 10_000,
    request: { url: weather.execution.url, method: 'GET' },
  });
  const env = (name: string) => `$\{env.${name}}`;
  const post = {
    executionType: 'gateway',
    visibility: 'result-only',
    execution: {
      url: 'https://api.example.com/orders',
      method: 'post',
      headers: { Authorization: `Bearer ${env('ORDERS_KEY')}` },
      body: '{"item": "{{input.item}}", "count": 1}',
    },
    display: { customUI: 'OrderCard', showOutput: true },
  };
  expect(await create({ name: 'placeOrder', ...post })).toMatchObject({
    effect: 'once',
    visible: true,
    display: { customUI: 'OrderCard', when: 'result', showInput: false, showOutput: true },
    request: {
      method: 'POST',
      headers: { Authorization: 'Bearer {{secrets.ORDERS_KEY}}' },
      body: { item: '{{input.item}}', count: 1 },
    },
  });
  expect(
    await create({ name: 'external', executionType: 'external', execution: { timeout: 5_000 } }),
  ).toMatchObject({
    kind: 'client',
    deadlineMs: 5_000,
    visible: false,
  });
  expect(
    await create({ name: 'confirm', executionType: 'space', display: { customUI: 'Confirm' } }),
  ).toMatchObject({
    kind: 'ui',
    visible: true,
  });
  const chart = { executionType: 'internal', visible: true, execution: { output: { shown: true } } };
  expect(await create({ name: 'chart', ...chart })).toMatchObject({
    kind: 'static',
    visible: true,
    output: { shown: true },
  });
  expect(await create({ name: 'ok', executionType: 'internal' })).toMatchObject({
    output: { status: 'ok' },
    visible: false,
  });
});

test('a GET that becomes a POST is no longer sent again freely, unless somebody says so', async () => {
  const tool = await create(http('turncoat', { url: '/echo' }));
  expect(tool.effect).toBe('pure');
  const request = { url: `${unruly.url}/echo`, method: 'POST' };
  expect(await done('PATCH', `/v1/tools/${tool.id}`, { request })).toMatchObject({
    effect: 'once',
    version: 2,
  });
  expect(await done('PATCH', `/v1/tools/${tool.id}`, { effect: 'idempotent' })).toMatchObject({
    effect: 'idempotent',
  });
  const again = { request: { ...request, method: 'PUT' } };
  expect(await done('PATCH', `/v1/tools/${tool.id}`, again)).toMatchObject({ effect: 'idempotent' });
});

test('tried alone: what was sent, without secrets, and what came of it', async () => {
  const headers = { Authorization: 'Bearer {{secrets.TOKEN}}' };
  const inputSchema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
  const request = { url: '/echo/{{input.id}}?key={{secrets.TOKEN}}', method: 'POST', headers };
  const tool = await create(http('tried', request, { inputSchema, approval: true }));
  const trial = await attempt(tool, { id: 5 });
  expect(trial).toMatchObject({
    ok: true,
    output: { status: 200, data: { method: 'POST', body: '{"id":5}' } },
    request: {
      method: 'POST',
      url: `${unruly.url}/echo/5?key=[secret TOKEN]`,
      headers: { authorization: 'Bearer [secret TOKEN]' },
      body: '{"id":5}',
    },
  });
  expect(trial.durationMs).toBeGreaterThanOrEqual(0);
  expect(unruly.heard.at(-1)!.headers.authorization).toBe(`Bearer ${planted.TOKEN}`);
  expect(await attempt(tool, { id: 'five' })).toMatchObject({
    ok: false,
    error: { code: 'invalid_arguments' },
    request: null,
  });
  const slow = await create(http('slow', { url: '/hang' }, { timeoutMs: 60 }));
  expect(await attempt(slow)).toMatchObject({ ok: false, error: { code: 'tool_timeout' } });
  const absent = await create(http('absent', { url: '/echo', headers: { 'X-Key': '{{secrets.ABSENT}}' } }));
  expect(await attempt(absent)).toMatchObject({
    ok: false,
    error: { code: 'secret_missing', message: expect.stringContaining('"ABSENT"') },
    request: null,
  });
  const asks = await create({ name: 'asks', kind: 'client' });
  expect(await refused('POST', `/v1/tools/${asks.id}/try`, {})).toMatchObject({
    status: 409,
    code: 'tool_not_triable',
  });
  expect(await attempt(await create({ name: 'fixed', kind: 'static', output: 7 }))).toMatchObject({
    ok: true,
    output: 7,
  });
});

test('treats null for an optional parameter as absent without another step', async () => {
  const properties = {
    id: { type: 'integer' },
    page: { type: 'integer', default: 1 },
    word: { type: ['string', 'null'] },
  };
  const inputSchema = { type: 'object', properties, required: ['id'], additionalProperties: false };
  const tool = await create(http('optional', { url: '/echo', method: 'POST' }, { inputSchema }));
  const agent = await agentWith('Filler', ['optional']);
  const { run } = await say(agent, { name: 'optional', arguments: { id: 5, page: null, word: null } });
  expect(await ended(run)).toMatchObject({ step: 2 });
  expect((await callsOf(run)).c0).toMatchObject({
    status: 'completed',
    arguments: { id: 5, word: null },
    output: { data: { body: '{"id":5,"word":null}' } },
  });
  expect(await attempt(tool, { id: 5, page: null })).toMatchObject({ ok: true });
  expect(await attempt(tool, { id: null })).toMatchObject({
    ok: false,
    error: { code: 'invalid_arguments' },
  });
});

test('agents carry tools by name: unknown, taken, changed, in use, rolled back, as a file', async () => {
  const tool = await create(http('carried', { url: '/echo?v=1' }, { response: { pick: '/url' } }));
  const other = await create({ name: 'spare', kind: 'static' });
  expect(await refused('POST', '/v1/agents', { name: 'No', tools: ['nope'] })).toMatchObject({
    code: 'tool_not_found',
    paths: ['tools.0'],
  });
  const clash = await create({ name: 'current_time', kind: 'static' });
  const both = { name: 'No', tools: ['current_time'], capabilities: [{ id: 'current_time' }] };
  expect(await refused('POST', '/v1/agents', both)).toMatchObject({ code: 'tool_taken' });
  await done('DELETE', `/v1/tools/${clash.id}`);
  for (const [name, owner] of [
    ['send_message', 'every agent has in spaces'],
    ['Final_Answer', 'every sub-agent has'],
    ['set_goals', 'the capability "memory" has'],
  ] as const) {
    const taken = await create({ name, kind: 'static' });
    const { detail, ...rest } = await refused('POST', '/v1/agents', { name: 'No', tools: ['spare', name] });
    expect(rest).toEqual({ status: 422, code: 'tool_taken', paths: ['tools.1'] });
    expect(detail).toContain(`"${name}"`);
    expect(detail).toContain(owner);
    await done('DELETE', `/v1/tools/${taken.id}`);
  }
  const agent = await agentWith('Carrier', ['spare', 'carried']);
  const preview = await done<{ tools: { name: string }[] }>('GET', `/v1/agents/${agent.id}/preview`);
  expect(preview.tools.map(({ name }) => name)).toEqual(['spare', 'carried']);
  expect((await calling(agent, { name: 'carried', arguments: {} })).c0).toMatchObject({
    output: '/echo?v=1',
  });

  // The next run has the change; one that has begun goes on with what it began with.
  const waits = await create({ name: 'waits', kind: 'client' });
  await done('PATCH', `/v1/agents/${agent.id}`, { tools: ['waits', 'carried'] });
  const pinned = await say(agent, { name: 'waits', arguments: {} });
  await until('it waits', async () => (await callsOf(pinned.run)).c0?.waitsFor === 'client');
  await done('PATCH', `/v1/tools/${tool.id}`, { request: { url: `${unruly.url}/echo?v=2` } });
  await done('PATCH', `/v1/tools/${waits.id}`, { outputSchema: { type: 'string' } });
  expect((await calling(agent, { name: 'carried', arguments: {} })).c0).toMatchObject({
    output: '/echo?v=2',
  });
  await done('POST', `/v1/runs/${pinned.run}/tool-results`, { callId: 'c0', result: { no: 'string' } });
  await ended(pinned.run);

  // What an agent carries stays; what none carries can go, and comes back with no version that names it.
  expect(await refused('DELETE', `/v1/tools/${tool.id}`)).toMatchObject({
    status: 409,
    code: 'tool_in_use',
    detail: expect.stringContaining('"Carrier"'),
  });
  const exported = await fetch(`${server.url}/v1/agents/${agent.id}/export?format=json`);
  const file = await exported.text();
  expect(JSON.parse(file).tools).toEqual(['waits', 'carried']);
  await done('DELETE', `/v1/tools/${other.id}`);
  expect(await refused('POST', `/v1/agents/${agent.id}/rollback`, { version: 1 })).toMatchObject({
    code: 'tool_not_found',
  });
  await done('PATCH', `/v1/agents/${agent.id}`, { tools: [] });
  expect(await done('POST', `/v1/agents/${agent.id}/rollback`, { version: 2 })).toMatchObject({
    tools: ['waits', 'carried'],
  });
  await done('PATCH', `/v1/agents/${agent.id}`, { tools: [] });
  expect(await done('POST', '/v1/agents/import', JSON.parse(file))).toMatchObject({
    tools: ['waits', 'carried'],
  });
  await done('PATCH', `/v1/agents/${agent.id}`, { tools: ['waits'] });
  await done('DELETE', `/v1/tools/${tool.id}`);
  expect(await refused('POST', '/v1/agents/import', JSON.parse(file))).toMatchObject({
    code: 'tool_not_found',
  });
});

test('every way to fail is a result, and the run goes on', async () => {
  const ways = ['fail', 'huge', 'broken', 'away', 'image', 'nothing', 'huge-text', 'hang'];
  for (const way of ways)
    await create(http(`way-${way}`, { url: `/${way}` }, { timeoutMs: way === 'hang' ? 100 : 5_000 }));
  const agent = await agentWith(
    'Unlucky',
    ways.map((way) => `way-${way}`),
  );
  const calls = await calling(agent, ...ways.map((way) => ({ id: way, name: `way-${way}`, arguments: {} })));
  const outcomes = Object.fromEntries(
    ways.map((way) => [way, calls[way]!.error?.code ?? calls[way]!.status]),
  );
  expect(outcomes).toEqual({
    fail: 'http_status',
    huge: 'response_too_large',
    broken: 'response_not_json',
    away: 'address_forbidden',
    image: 'response_not_text',
    nothing: 'completed',
    'huge-text': 'completed',
    hang: 'tool_timeout',
  });
});

test('with approval: sent once it is given, with the arguments as approved', async () => {
  const tool = await create(
    http('pay', { url: '/echo/pay', method: 'POST' }, { approval: true, response: { pick: '/body' } }),
  );
  const agent = await agentWith('Payer', [tool.name]);
  const { run } = await say(agent, { name: 'pay', arguments: { amount: 5 } });
  const sent = () => unruly.heard.filter(({ url }) => url === '/echo/pay').length;
  const waiting = await until('it waits', async () => {
    const { data } = await done<{ data: WaitingCall[] }>('GET', `/v1/inbox?runId=${run}`);
    return data[0];
  });
  expect(sent()).toBe(0);
  await done('POST', `/v1/runs/${run}/calls/c0/decision`, {
    decision: 'approve',
    argumentsHash: waiting.argumentsHash,
    arguments: { amount: 4 },
  });
  await ended(run);
  expect((await callsOf(run)).c0).toMatchObject({ status: 'completed', output: '{"amount":4}' });
  expect(sent()).toBe(1);
});

test('planted secrets are nowhere: not in a table, a log line, an event or an answer', async () => {
  const headers = { 'X-Key': '{{secrets.TOKEN}}', Authorization: 'Basic {{secrets.BASIC}}' };
  const ways = ['', '?status=500', '?type=text/plain', '?type=text/plain&status=403'];
  for (const [at, way] of ways.entries()) {
    const request = {
      url: `/gossip/{{secrets.TOKEN}}${way}`,
      method: 'POST',
      headers,
      body: { k: '{{secrets.TOKEN}}' },
    };
    await create(http(`gossip${at}`, request));
  }
  await create(http('loose', { url: '/drop', headers }));
  const names = [...ways.map((_, at) => `gossip${at}`), 'loose'];
  const agent = await agentWith('Gossip', names);
  const { session, run } = await say(agent, ...names.map((name) => ({ name, arguments: {} })));
  await ended(run);
  const path = `/v1/agents/${agent.id}/sessions/${session.id}`;
  const reading = new AbortController();
  const stream = await fetch(`${server.url}${path}/events`, {
    headers: { accept: 'text/event-stream', 'last-event-id': '0' },
    signal: reading.signal,
  });
  let events = '';
  for await (const chunk of stream.body!) {
    events += Buffer.from(chunk).toString();
    if (events.includes('run.completed')) break;
  }
  reading.abort();
  await done('GET', `${path}/messages`);
  await done('GET', `/v1/runs/${run}`);
  const { data: tools } = await done<{ data: Tool[] }>('GET', '/v1/tools');
  for (const tool of tools.filter(({ name }) => names.includes(name))) await attempt(tool);

  const { pool } = server.db;
  const { rows } = await pool.query(
    `select table_name as name from information_schema.tables where table_schema = 'troupe' and table_type = 'BASE TABLE'`,
  );
  const stored: string[] = [];
  for (const { name } of rows) {
    const found = await pool.query(`select to_jsonb(t)::text as text from troupe.${name} t`);
    stored.push(...found.rows.map(({ text }) => text));
  }
  const password = Buffer.from(planted.BASIC, 'base64').toString().slice(4);
  const traces = [
    ...Object.values(planted),
    password,
    Buffer.from(planted.TOKEN).toString('base64').slice(0, 20),
    Buffer.from(`me:${planted.TOKEN}`).toString('base64').slice(4, 24),
  ];
  const all = [...stored, ...logged, ...answered, events].join('\n');
  expect(traces.filter((trace) => all.includes(trace))).toEqual([]);
  // It was said, and would have been found.
  expect(all).toContain('[secret TOKEN]');
  expect(all).toContain('[secret BASIC]');
  expect(unruly.heard.some(({ url }) => url.includes(planted.TOKEN))).toBe(true);
});

test('the secret that tokens are checked with is not sent anywhere', async () => {
  await done('PUT', '/v1/secrets/SIGNING', { value: randomBytes(32).toString('hex') });
  const tokens = { algorithms: ['HS256'], audience: 'troupe', secretName: 'SIGNING' };
  await done('PATCH', '/v1/project', { tokens });
  const tool = await create(http('forger', { url: '/echo', headers: { 'X-Key': '{{secrets.SIGNING}}' } }));
  const before = unruly.heard.length;
  expect(await attempt(tool)).toMatchObject({ ok: false, error: { code: 'secret_reserved' }, request: null });
  expect(unruly.heard.length).toBe(before);
});

// The last one: it ends the server's worker.
test('a call that is executed again, by another worker, has the same key; one that must run once is in doubt', async () => {
  const later = (name: string, effect: string) =>
    create(http(name, { url: `/later/${name}`, method: 'POST' }, { effect }));
  await later('again', 'idempotent');
  await later('never', 'once');
  const agent = await agentWith('Mover', ['again', 'never']);
  const { run } = await say(agent, { name: 'again', arguments: {} }, { name: 'never', arguments: {} });
  const keys = (name: string) =>
    unruly.heard
      .filter(({ url }) => url === `/later/${name}`)
      .map(({ headers }) => headers['idempotency-key']);
  await until('both are under way', () => keys('again').length + keys('never').length === 2);
  await server.kernel.close();

  const { db, access } = server;
  const successor = new Kernel({ db, logger: silentLogger });
  const tools = createTools(toolParts(db, access.encryption));
  const models = createModels({ demo: () => createDemo() });
  await successor.work({ doors: [sessionsDoor], models, tools, graceMs: 500 });
  try {
    await until('it is sent again', () => keys('again').length === 2);
    unruly.answer();
    await until(
      'the run has ended',
      async () => (await done<Run>('GET', `/v1/runs/${run}`)).status === 'completed',
    );
  } finally {
    await successor.close();
  }
  expect(await callsOf(run)).toMatchObject({
    c0: { status: 'completed', attempt: 2 },
    c1: { status: 'in_doubt', attempt: 1 },
  });
  expect(new Set(keys('again')).size).toBe(1);
  expect(keys('never')).toHaveLength(1);
  expect(keys('never')[0]).not.toBe(keys('again')[0]);
});
