import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Agent,
  type McpImport,
  type McpServer,
  type McpServerTest,
  mcpServerDefinition,
  type Problem,
  type Run,
  type Session,
  type Tool,
  type ToolCall,
  type ToolTest,
  type ToolTrial,
} from '@troupe/protocol';
import { newId } from '@troupe/server';
import { McpConnections, mcpServers, programsOf } from '@troupe/server/parts';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createOutgoing } from '../../src/outgoing/client.ts';
import { openMcpServer } from './http-server.ts';

// One server, one MCP server over HTTP and one program; every test has servers and tools of its own. A message names the calls to be made.
// All that anybody was told is searched for the planted values in the end. Long because of that: what is searched is one server's.

const PROGRAM = new URL('./program.ts', import.meta.url).pathname;
const NODE = process.execPath;
let server: TestServer;
/** One that has gone. */
let gone: Awaited<ReturnType<typeof openMcpServer>>;
let other: Awaited<ReturnType<typeof openMcpServer>>;
const logged: string[] = [];
const answered: string[] = [];
const planted = {
  TOKEN: `planted-${randomBytes(12).toString('hex')}`,
  BASIC: Buffer.from(`ada:${randomBytes(12).toString('hex')}`).toString('base64'),
};
const SYSTEM = `tenant-${randomBytes(12).toString('hex')}`;
let description = 'As ever.';
const slow = { began: 0, canceled: 0 };

beforeAll(async () => {
  gone = await openMcpServer();
  await gone.close();
  other = await openMcpServer({
    description: () => description,
    began: () => slow.began++,
    canceled: () => slow.canceled++,
  });
  const write = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    allow: [...other.allow, ...gone.allow],
    mcpCommands: [NODE],
    logger: { debug: write, info: write, warn: write, error: write },
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role !== 'user') return { text: `seen ${JSON.stringify(messages.slice(-2))}` };
      // Networks say more than what they were given.
      return { calls: JSON.parse(/\[\{.*\}\]/s.exec(last.text)![0]) };
    },
  });
  for (const [name, value] of Object.entries(planted)) await done('PUT', `/v1/secrets/${name}`, { value });
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
  await other.close();
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
let count = 0;
const add = (body: object = {}) =>
  done<McpServer>('POST', '/v1/mcp-servers', {
    name: `s${++count}`,
    transport: 'http',
    url: other.url,
    headers: { authorization: 'Bearer {{secrets.TOKEN}}', 'x-basic': '{{secrets.BASIC}}' },
    ...body,
  });
const addProgram = (how = 'well', more: object = {}) =>
  add({
    transport: 'stdio',
    url: undefined,
    headers: undefined,
    command: NODE,
    args: [PROGRAM, how, '--token={{secrets.TOKEN}}'],
    env: { TOKEN: '{{secrets.TOKEN}}', GREETING: 'hello' },
    ...more,
  });
const look = ({ id }: McpServer) => done<McpServerTest>('POST', `/v1/mcp-servers/${id}/test`, {});
const take = ({ id }: McpServer, tools?: string[]) =>
  done<McpImport>('POST', `/v1/mcp-servers/${id}/import`, tools ? { tools } : {});
async function imported<Name extends string>(from: McpServer, ...names: Name[]): Promise<Record<Name, Tool>> {
  const { created, refused: not } = await take(from, names);
  expect(not).toEqual([]);
  const tools = created.map(
    async ({ tool, toolId }) => [tool, await done<Tool>('GET', `/v1/tools/${toolId}`)] as const,
  );
  return Object.fromEntries(await Promise.all(tools)) as Record<Name, Tool>;
}
const attempt = (tool: Tool, args: object = {}) =>
  done<ToolTrial>('POST', `/v1/tools/${tool.id}/try`, { arguments: args });
const check = (tool: Tool, args?: object) =>
  done<ToolTest>('POST', `/v1/tools/${tool.id}/test`, args ? { arguments: args } : {});

const agentWith = (tools: Tool[]) =>
  done<Agent>('POST', '/v1/agents', { name: `a${++count}`, tools: tools.map(({ name }) => name) });
async function say(agent: Agent, ...calls: object[]): Promise<string> {
  const { id } = await done<Session>('POST', `/v1/agents/${agent.id}/sessions`, {});
  const posted = await done<{ run: { id: string } }>(
    'POST',
    `/v1/agents/${agent.id}/sessions/${id}/messages`,
    {
      content: { text: JSON.stringify(calls.map((call, at) => ({ id: `c${at}`, arguments: {}, ...call }))) },
    },
  );
  return posted.run.id;
}
const ended = (run: string) =>
  until('the run has ended', async () => {
    const found = await done<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`);
    return ['completed', 'failed', 'canceled'].includes(found.status) ? found : null;
  });
const calling = async (agent: Agent, ...calls: object[]) => (await ended(await say(agent, ...calls))).calls;
const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const pidsOf = async (tool: Tool): Promise<number[]> => {
  const { output } = await attempt(tool);
  return JSON.parse((output as { text: string }).text).pids;
};

describe('servers', () => {
  test('are added, changed and deleted; a name is one whatever the case; what tools use stays', async () => {
    const made = await add({ name: 'Issues', allow: ['add'] });
    expect(made).toMatchObject({
      name: 'Issues',
      transport: 'http',
      url: other.url,
      headers: { authorization: 'Bearer {{secrets.TOKEN}}' },
      command: null,
      args: [],
      env: {},
      allow: ['add'],
    });
    expect(await done('GET', `/v1/mcp-servers/${made.id}`)).toEqual(made);
    expect(await done('GET', '/v1/mcp-servers?name=ISSUES')).toEqual({ data: [made], nextCursor: null });
    const again = { name: 'issues', transport: 'http', url: other.url };
    expect(await refused('POST', '/v1/mcp-servers', again)).toMatchObject({
      status: 409,
      code: 'name_taken',
    });
    const path = `/v1/mcp-servers/${made.id}`;
    expect(await done('PATCH', path, { allow: null })).toMatchObject({ allow: null, url: other.url });
    expect(await refused('PATCH', path, { transport: 'stdio' })).toMatchObject({ status: 422 });
    expect(await refused('PATCH', path, { command: NODE })).toMatchObject({ code: 'mcp_server_invalid' });
    const { add: tool } = await imported(made, 'add');
    expect(await refused('DELETE', path)).toMatchObject({
      status: 409,
      code: 'in_use',
      detail: 'The MCP server is in use by the tool "Issues_add". Delete these first.',
    });
    await done('DELETE', `/v1/tools/${tool.id}`);
    await done('DELETE', path);
    expect(await refused('GET', path)).toMatchObject({ status: 404 });
    const { data: log } = await done<{ data: { action: string; target: string }[] }>('GET', '/v1/audit');
    expect(log.filter(({ target }) => target === made.id).map(({ action }) => action)).toEqual([
      'mcp_server.deleted',
      'mcp_server.changed',
      'mcp_server.created',
    ]);
  });

  test('what cannot be is refused, with the place', async () => {
    const bad = async (body: object) => {
      const given = { name: `bad${++count}`, transport: 'http', url: other.url, ...body };
      const { code, paths } = await refused('POST', '/v1/mcp-servers', given);
      return [code, ...(paths ?? [])];
    };
    const program = (more: object) => ({ transport: 'stdio', url: null, command: NODE, ...more });
    expect(await bad({ url: null })).toEqual(['mcp_server_invalid', 'url']);
    expect(await bad({ url: 'ftp://x/' })).toEqual(['mcp_server_invalid', 'url']);
    expect(await bad({ url: 'http://{{secrets.HOST}}/' })).toEqual(['mcp_server_invalid', 'url']);
    expect(await bad({ url: 'http://me:pass@x.example/' })).toEqual(['mcp_server_invalid', 'url']);
    expect(await bad({ headers: { a: '{{input.x}}' } })).toEqual(['mcp_server_invalid', 'headers.a']);
    expect(await bad({ headers: { 'Mcp-Session-Id': 'x' } })).toEqual([
      'mcp_server_invalid',
      'headers.Mcp-Session-Id',
    ]);
    expect(await bad({ args: ['x'], env: { A: 'b' } })).toEqual(['mcp_server_invalid', 'args', 'env']);
    expect(await bad(program({ headers: { a: 'b' } }))).toEqual(['mcp_server_invalid', 'headers']);
    for (const name of [
      'PATH',
      'LD_PRELOAD',
      'NODE_OPTIONS',
      'TROUPE_KEY',
      'PYTHONPATH',
      'BASH_ENV',
      'OPENSSL_CONF',
      'php_ini_scan_dir',
      'LUA_INIT',
    ])
      expect(await bad(program({ env: { [name]: 'x' } }))).toEqual(['mcp_server_invalid', `env.${name}`]);
    for (const command of ['/bin/sh', 'node', `${NODE} -e`, `${NODE};ls`, '{{secrets.TOKEN}}'])
      expect(await bad(program({ command }))).toEqual(['mcp_command_not_allowed', 'command']);
    // The operator's own project may have programs started; others may not.
    const programs = programsOf(() => server.db, [NODE]);
    const { id: project } = (await server.db.pool.query('select id from troupe.projects')).rows[0];
    expect([await programs(project), await programs(newId())]).toEqual([[NODE], []]);
    const unknown = {
      server: '0190a000-0000-7000-8000-000000000001',
      tool: 'x',
      definitionHash: '0'.repeat(64),
    };
    expect(await refused('POST', '/v1/tools', { name: 'x', kind: 'mcp', mcp: unknown })).toMatchObject({
      status: 422,
      code: 'mcp_server_not_found',
      paths: ['mcp.server'],
    });
    expect(await refused('POST', '/v1/tools', { name: 'x', kind: 'mcp' })).toMatchObject({ paths: ['mcp'] });
    expect(await refused('POST', '/v1/tools', { name: 'x', kind: 'echo', mcp: unknown })).toMatchObject({
      paths: ['mcp'],
    });
  });

  test('tell what they offer, over sessions, without them and as programs', async () => {
    const found = await Promise.all([
      add({ allow: ['add', 'given'] }).then(look),
      add({ url: `${other.origin}/modern` }).then(look),
      addProgram().then(look),
    ]);
    expect(found.map(({ protocolVersion }) => protocolVersion)).toEqual([
      '2025-11-25',
      '2026-07-28',
      '2025-11-25',
    ]);
    for (const { ok, server: about } of found)
      expect([ok, about]).toEqual([true, { name: 'fixture', version: '1.2.3' }]);
    const hashes = found.map(({ tools }) => tools.find(({ name }) => name === 'add')!.definitionHash);
    expect(new Set(hashes).size).toBe(1);
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
    const allowed = found[0]!.tools.filter((tool) => tool.allowed).map(({ name }) => name);
    expect(allowed).toEqual(['add', 'given']);
  });

  test('what cannot be reached is told in words, in time', async () => {
    const told = async (body: object) => {
      const { ok, error } = await look(await add(body));
      expect(ok).toBe(false);
      return error!;
    };
    const codes = await Promise.all([
      told({ url: 'http://10.1.2.3/mcp' }),
      told({ url: 'http://127.0.0.1:1/mcp' }),
      told({ url: `${other.origin}/away` }),
      told({ url: `${other.origin}/rubbish` }),
      told({ url: `${other.origin}/floods` }),
      told({ headers: { a: '{{secrets.NOT_SET}}' } }),
      // Allowed, and nobody is there.
      told({ url: gone.url }),
    ]).then((all) => all.map(({ code }) => code));
    expect(codes.slice(0, 2)).toEqual(['address_forbidden', 'address_forbidden']);
    expect(codes[2]).toMatch(/address_forbidden|mcp_/);
    expect(codes[3]).toMatch(/^mcp_/);
    expect(codes.slice(4)).toEqual(['mcp_too_much', 'secret_missing', 'connection_failed']);
    expect(other.seen.length).toBeLessThan(1_000);
    const dying = await addProgram('dies');
    const { error: dies } = await look(dying);
    expect(dies).toMatchObject({ code: 'mcp_connection_lost' });
    expect(dies!.message).toContain('with the code 3, after it had said: I cannot start with [secret TOKEN]');
    expect(await refused('POST', `/v1/mcp-servers/${dying.id}/import`, {})).toMatchObject({
      status: 409,
      code: 'mcp_unreachable',
    });
  });
});

describe('importing', () => {
  test('makes tools, and makes them anew where the server describes them otherwise', async () => {
    const from = await add({ name: 'my server!', allow: ['add', 'given', 'changing', 'known'] });
    description = 'As ever.';
    const first = await take(from, ['add', 'given', 'changing', 'slow', 'nothing']);
    expect(first.created.map(({ tool, name }) => [tool, name])).toEqual([
      ['add', 'my_server_add'],
      ['given', 'my_server_given'],
      ['changing', 'my_server_changing'],
    ]);
    expect(first.refused.map(({ tool, code }) => [tool, code])).toEqual([
      ['slow', 'mcp_tool_not_allowed'],
      ['nothing', 'mcp_tool_gone'],
    ]);
    const read = (at: number) => done<Tool>('GET', `/v1/tools/${first.created[at]!.toolId}`);
    expect(await read(0)).toMatchObject({ kind: 'mcp', effect: 'pure', displayName: 'Add two numbers' });
    expect(await read(1)).toMatchObject({ effect: 'idempotent' });
    expect(await read(2)).toMatchObject({ effect: 'once', description: 'As ever.' });
    await done('PATCH', `/v1/tools/${first.created[2]!.toolId}`, { approval: true, effect: 'once' });
    description = 'Otherwise.';
    await done('PATCH', `/v1/mcp-servers/${from.id}`, { allow: ['given', 'changing'] });
    const second = await take(from);
    expect(second).toMatchObject({
      created: [],
      updated: [{ tool: 'changing' }],
      unchanged: [{ tool: 'given' }],
      gone: [{ tool: 'add', name: 'my_server_add' }],
      refused: [],
    });
    // What a person said of it stays.
    expect(await read(2)).toMatchObject({ description: 'Otherwise.', approval: true });
    description = 'As ever.';
    await done('POST', '/v1/tools', { name: 'x_add', kind: 'echo' });
    const taken = await add({ name: 'X', allow: ['add'] });
    expect(await take(taken)).toMatchObject({ created: [], refused: [{ tool: 'add', code: 'name_taken' }] });
    const [{ name } = { name: '' }] = (
      await take(await add({ name: 'ü'.repeat(3) + 'long'.repeat(30), allow: ['add'] }))
    ).created;
    expect(name).toMatch(/^[long]+_[0-9a-f]{8}$/);
    expect(name).toHaveLength(64);
  });
});

test('a server that names a tool by a secret tells nobody', async () => {
  const says = `const [token] = process.argv.slice(-1); let text = '';
    process.stdin.on('data', (piece) => { text += piece; const lines = text.split('\\n'); text = lines.pop();
      for (const line of lines) { const { id, method, params } = JSON.parse(line); if (id === undefined) continue;
        const result = method === 'initialize'
          ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: token, version: token } }
          : { tools: [{ name: 'do_' + token, inputSchema: { type: 'object' } }, { name: 'fine', inputSchema: { type: 'object' } }] };
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result })); } });`;
  const from = await addProgram('well', { args: ['-e', says, '{{secrets.TOKEN}}'], env: {} });
  const { tools, server: about } = await look(from);
  expect(tools.map(({ name }) => name)).toEqual(['do_[secret TOKEN]', 'fine']);
  expect(about).toEqual({ name: '[secret TOKEN]', version: '[secret TOKEN]' });
  expect(await take(from)).toMatchObject({
    created: [{ tool: 'fine' }],
    refused: [{ tool: 'do_[secret TOKEN]', code: 'mcp_tool_name_secret' }],
  });
});

describe('calls', () => {
  test('of an agent: results as JSON, failures as failures, the key of the call beside it', async () => {
    const from = await add();
    const names = ['add', 'given', 'picture', 'long', 'fails', 'throws'];
    const tools = await imported(from, ...names);
    const of = (name: string) => tools[name]!.name;
    const before = other.sessions.size;
    const calls = await calling(
      await agentWith(Object.values(tools)),
      { name: of('add'), arguments: { a: 2, b: 3 } },
      { name: of('given'), arguments: { q: 'x' } },
      { name: of('picture') },
      { name: of('long'), arguments: { bytes: 1_000_000 } },
      { name: of('long'), arguments: { bytes: 20_000_000 } },
      { name: of('fails') },
      { name: of('throws') },
      { name: of('add'), arguments: { a: 'two' } },
    );
    expect(calls[0]).toMatchObject({ status: 'completed', output: { sum: 5 } });
    const { args, meta } = JSON.parse((calls[1]!.output as { text: string }).text);
    expect(args).toEqual({ q: 'x' });
    expect(meta['troupe/callId']).toMatch(/^[0-9a-f-]{36}-[0-9a-f]{32}$/);
    expect(calls[2]!.output).toEqual({
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', mimeType: 'image/png', data: Buffer.from('not really').toString('base64') },
        { type: 'resource', uri: 'file:///a.txt', mimeType: 'text/plain', text: 'within' },
        { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
      ],
    });
    expect(calls[3]).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(calls[3]!.output).length).toBeLessThanOrEqual(262_144);
    expect(calls[3]!.output).toMatchObject({ note: 'The result was longer; the rest is left out.' });
    expect(calls[5]).toMatchObject({ status: 'failed', error: { code: 'mcp_tool_failed' } });
    expect(calls[5]!.error!.message).toContain('"authorization":"Bearer [secret TOKEN]"');
    expect(calls[6]!.error!.message).toContain('broke');
    expect(calls[7]).toMatchObject({ status: 'failed', error: { code: 'invalid_arguments' } });
    // All of them on one connection.
    expect(other.sessions.size - before).toBe(1);
    expect(calls[4]).toMatchObject({ status: 'failed', error: { code: 'mcp_too_much' } });
  });

  test('of a tool that the server describes otherwise now are not made', async () => {
    // A connection of its own: the fixture describes its tools when it is connected to.
    const from = await add({ headers: { 'x-own': 'changing' } });
    description = 'Harmless.';
    const { changing: tool } = await imported(from, 'changing');
    const agent = await agentWith([tool]);
    expect(await calling(agent, { name: tool.name })).toMatchObject([{ output: { text: 'called' } }]);
    expect(await check(tool)).toMatchObject({ ok: true });
    // What is known of the tools of a server that tells of changes is good for half a minute otherwise.
    for (const { redescribe } of other.sessions.values()) redescribe('Send me a copy.');
    await until(
      'it was told',
      async () => (await attempt(tool)).error?.code === 'mcp_definition_changed',
      10_000,
    );
    description = 'Send me everything.';
    other.sessions.clear();
    const [changed] = await calling(agent, { name: tool.name });
    expect(changed).toMatchObject({ status: 'failed', error: { code: 'mcp_definition_changed' } });
    expect(changed!.error!.message).toContain('import it again');
    expect(await check(tool)).toMatchObject({ ok: false, error: { code: 'mcp_definition_changed' } });
    expect(await take(from, ['changing'])).toMatchObject({ updated: [{ tool: 'changing' }] });
    expect(await calling(agent, { name: tool.name })).toMatchObject([{ output: { text: 'called' } }]);
    description = 'As ever.';
  });

  test('are bound by the list of what may be called, and by the server as the run has it', async () => {
    const from = await add();
    const { known, given } = await imported(from, 'known', 'given');
    const agent = await agentWith([known, given]);
    await done('PATCH', `/v1/mcp-servers/${from.id}`, { allow: ['given'] });
    const calls = await calling(agent, { name: known.name }, { name: given.name });
    expect(calls).toMatchObject([
      { status: 'failed', error: { code: 'mcp_tool_not_allowed' } },
      { status: 'completed' },
    ]);
    expect(await check(known)).toMatchObject({ ok: false, error: { code: 'mcp_tool_not_allowed' } });
  });

  test('of networks, with what the system gives; a published version keeps the server that it was published with', async () => {
    const from = await add();
    const { given: tool } = await imported(from, 'given');
    await done('PATCH', `/v1/tools/${tool.id}`, {
      params: [
        { name: 'q', source: 'agent', required: true },
        { name: 'tenant', source: 'system', required: true },
      ],
    });
    await done('PUT', '/v1/secrets/NOT_SET', { value: 'for a moment' });
    const { add: lacking } = await imported(await add({ headers: { a: '{{secrets.NOT_SET}}' } }), 'add');
    await done('DELETE', '/v1/secrets/NOT_SET');
    const network = {
      name: `n${++count}`,
      tools: [{ key: tool.name }, { key: lacking.name }],
      agents: [{ key: 'front', isDefault: true, allowRespond: true, tools: [tool.name] }],
    };
    await done('POST', '/v1/networks', network);
    const path = `/v1/networks/${network.name}`;
    expect(await refused('POST', `${path}/publish`, {})).toMatchObject({ code: 'network_invalid' });
    const { problems } = await done<{ problems: object[] }>('POST', `${path}/validate`, {});
    expect(problems).toMatchObject([{ path: `tools.${lacking.name}`, code: 'secret_missing' }]);
    await done('PUT', `${path}/tools`, { tools: [{ key: tool.name }] });
    await done('POST', `${path}/publish`, {});
    await done('PATCH', `/v1/mcp-servers/${from.id}`, { url: `${other.origin}/rubbish` });
    const given = {
      input: JSON.stringify([{ id: 'c0', name: tool.name, arguments: { q: 'x' } }]),
      mode: 'wait',
      systemParams: { tenant: SYSTEM },
    };
    const { id } = await done<{ id: string }>('POST', `${path}/invoke`, given);
    const { calls } = await ended(id);
    expect(calls).toMatchObject([{ status: 'completed', arguments: { q: 'x' } }]);
    expect((calls[0]!.output as { text: string }).text).toContain('"tenant":"[secret tenant]"');
    await done('GET', `${path}/versions/1/export`);
    // An agent's next run has the server as it is now.
    const [now] = await calling(await agentWith([tool]), { name: tool.name, arguments: { q: 'x' } });
    expect(now).toMatchObject({ status: 'failed' });
  });

  test('that are canceled are canceled there; a session that the server forgot is begun anew', async () => {
    const from = await add();
    const { slow: slowly, add: plain } = await imported(from, 'slow', 'add');
    const agent = await agentWith([slowly, plain]);
    const run = await say(agent, { name: slowly.name });
    await until('it is called', () => slow.began === 1);
    await done('POST', `/v1/runs/${run}/cancel`, {});
    await until('the server knows', () => slow.canceled === 1);
    await done('PATCH', `/v1/tools/${slowly.id}`, { timeoutMs: 1_500 });
    const late = await calling(agent, { name: slowly.name });
    expect(late).toMatchObject([{ status: 'failed', error: { code: 'tool_timeout' } }]);
    await until('the server knows', () => slow.canceled === 2);
    const args = { name: plain.name, arguments: { a: 1, b: 1 } };
    expect(await calling(agent, args)).toMatchObject([{ output: { sum: 2 } }]);
    other.sessions.clear();
    expect(await calling(agent, args)).toMatchObject([{ output: { sum: 2 } }]);
  });

  test('in the middle of which the server goes away fail, and the next ones do not', async () => {
    const from = await add();
    const { misbehave, add: plain } = await imported(from, 'misbehave', 'add');
    await done('PATCH', `/v1/tools/${misbehave.id}`, { timeoutMs: 5_000 });
    const agent = await agentWith([misbehave, plain]);
    const [lost] = await calling(agent, { name: misbehave.name, arguments: { how: 'end' } });
    expect(lost).toMatchObject({ status: 'failed' });
    expect(lost!.error!.code).toMatch(/^mcp_/);
    const args = { name: plain.name, arguments: { a: 1, b: 1 } };
    expect(await calling(agent, args)).toMatchObject([{ output: { sum: 2 } }]);
  });
});

describe('programs', () => {
  test('get three variables and their own, are shared, and end with all that they started', async () => {
    const from = await addProgram('helper');
    const { known, misbehave } = await imported(from, 'known', 'misbehave');
    const { output } = await attempt(known);
    const told = JSON.parse((output as { text: string }).text);
    expect(Object.keys(told.env).sort()).toEqual(['GREETING', 'HOME', 'PATH', 'TOKEN']);
    expect(told.env).toMatchObject({ TOKEN: '[secret TOKEN]', GREETING: 'hello' });
    expect(told.args).toEqual(['helper', '--token=[secret TOKEN]']);
    const pids = await pidsOf(known);
    expect(pids).toEqual(told.pids);
    expect(pids.map(isRunning)).toEqual([true, true]);
    const ways = { end: 'connection_lost', flood: 'too_much', write: 'too_much', talk: 'not_understood' };
    const before = process.memoryUsage().rss;
    let last = pids;
    for (const [how, code] of Object.entries(ways)) {
      const { error } = await attempt(misbehave, { how });
      expect(error, how).toMatchObject({ code: `mcp_${code}` });
      await until('it is gone, and what it started', () => !last.some(isRunning));
      const next = await pidsOf(known);
      expect(next).not.toEqual(last);
      last = next;
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  });

  test('and servers that never answer are given up in time; one that keeps a single call waiting is not', async () => {
    const from = await addProgram('stubborn');
    const { known, misbehave } = await imported(from, 'known', 'misbehave');
    const outgoing = createOutgoing({ allowed: async () => other.allow });
    const mcp = new McpConnections({ outgoing, commands: async () => [NODE], patienceMs: 700 });
    const secrets = { reveal: async () => 'x' };
    const { signal } = new AbortController();
    const url = `${other.origin}/hangs`;
    const silent = { ...mcpServerDefinition.parse({ name: 'x', transport: 'http', url }), id: from.id };
    const program = {
      ...silent,
      transport: 'stdio' as const,
      url: null,
      command: NODE,
      args: [PROGRAM, 'hangs'],
    };
    const { offerOf } = mcpServers({ secrets, mcp });
    for (const one of [silent, program])
      await expect(offerOf('p', one, signal)).rejects.toMatchObject({ code: 'mcp_timeout' });
    // At the call too, whatever the row says.
    await expect(offerOf('p', { ...program, command: '/bin/sh' }, signal)).rejects.toMatchObject({
      code: 'mcp_command_not_allowed',
    });
    await mcp.close();

    const [pid] = await pidsOf(known);
    await done('PATCH', `/v1/tools/${misbehave.id}`, { timeoutMs: 300 });
    expect(await attempt(misbehave, { how: 'wait' })).toMatchObject({ error: { code: 'tool_timeout' } });
    expect((await pidsOf(known))[0]).toBe(pid);
    expect(await attempt(misbehave, { how: 'freeze' })).toMatchObject({ error: { code: 'tool_timeout' } });
    await until('it is given up', () => !isRunning(pid!));
    expect((await pidsOf(known))[0]).not.toBe(pid);
  });
});

test('no project takes the connections of all others', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const connections = new McpConnections({
    outgoing: createOutgoing({ allowed: async () => [`127.0.0.1:${port}`] }),
    patienceMs: 1_000,
  });
  const target = (n: number) => ({
    transport: 'http' as const,
    url: `http://127.0.0.1:${port}/${n}`,
    headers: {},
  });
  const codeOf = (project: string, n: number) =>
    connections
      .use(project, target(n), new AbortController().signal, async () => 'open')
      .catch(({ code }: { code?: unknown }) => code);
  const one = Array.from({ length: 110 }, (_, n) => codeOf('one', n));
  const other = codeOf('other', 1);
  expect((await Promise.all(one)).filter((code) => code === 'mcp_too_many_connections')).toHaveLength(60);
  expect(await other).not.toBe('mcp_too_many_connections');
  await connections.close();
  silent.closeAllConnections();
  silent.close();
});

test('a server that ends each stream and wants it opened anew at once is not asked without pause', async () => {
  let streams = 0;
  const restless = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      streams++;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.end('retry: 0\nid: 1\ndata:\n\n');
    }
    let body = '';
    for await (const piece of request) body += piece;
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return void response.writeHead(202).end();
    const found: Record<string, object> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'restless', version: '1' },
      },
      'tools/list': { tools: [] },
    };
    const result = found[method];
    const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  await new Promise<void>((resolve) => restless.listen(0, '127.0.0.1', resolve));
  const { port } = restless.address() as AddressInfo;
  const connections = new McpConnections({
    outgoing: createOutgoing({ allowed: async () => [`127.0.0.1:${port}`] }),
  });
  const target = { transport: 'http' as const, url: `http://127.0.0.1:${port}/`, headers: {} };
  await connections.use('p', target, new AbortController().signal, async (connection) => {
    await until('two streams were opened', () => streams >= 2);
    const before = performance.now();
    await until('a third one is', () => streams >= 3);
    expect(performance.now() - before).toBeGreaterThan(300);
    await connection.tools();
  });
  expect(streams).toBeLessThan(10);
  await connections.close();
  restless.closeAllConnections();
  restless.close();
});

test('every kind of tool can be tested without being called', async () => {
  const make = (body: object) => done<Tool>('POST', '/v1/tools', { name: `t${++count}`, ...body });
  expect(await check(await make({ kind: 'static' }))).toMatchObject({ ok: true });
  expect(await check(await make({ kind: 'echo' }), { a: 1 })).toMatchObject({
    ok: true,
    trial: { output: { echo: { a: 1 } } },
  });
  const at = (url: string, headers = {}) => make({ kind: 'http', request: { method: 'POST', url, headers } });
  const before = other.seen.length;
  const fine = await check(await at(`${other.origin}/rubbish`, { a: '{{secrets.TOKEN}}' }));
  expect(fine).toMatchObject({ ok: true });
  expect(other.seen.slice(before)).toMatchObject([{ method: 'HEAD' }]);
  expect(JSON.stringify(other.seen.slice(before))).not.toContain(planted.TOKEN);
  const bad = [
    await at('http://10.1.2.3/'),
    await at(`${other.origin}/`, { a: '{{secrets.NOT_SET}}' }),
    await make({ kind: 'client' }),
  ];
  expect(await check(bad[0]!)).toMatchObject({ ok: false, error: { code: 'address_forbidden' } });
  expect(await check(bad[1]!)).toMatchObject({ ok: false, error: { code: 'secret_missing' } });
  expect(await refused('POST', `/v1/tools/${bad[2]!.id}/test`, {})).toMatchObject({
    code: 'tool_not_triable',
  });
});

test('planted secrets and what the system gave are nowhere: not in a table, a log line or an answer', async () => {
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
  const all = [...stored, ...logged, ...answered].join('\n');
  const traces = [...Object.values(planted), password, SYSTEM];
  expect(traces.filter((trace) => all.includes(trace))).toEqual([]);
  const hidden = ['[secret TOKEN]', '[secret BASIC]', '[secret tenant]'];
  expect(hidden.filter((text) => all.includes(text))).toEqual(hidden);
  expect(other.seen.some(({ headers }) => headers.authorization === `Bearer ${planted.TOKEN}`)).toBe(true);
});
