import { randomBytes } from 'node:crypto';
import type {
  Agent,
  McpImport,
  McpServer,
  McpServerTest,
  Problem,
  Run,
  Session,
  Tool,
  ToolCall,
  ToolTest,
  ToolTrial,
} from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openMcpServer } from './http-server.ts';

// One server, one MCP server over HTTP and one program; every test has servers and tools of its own. A message names the calls to be made.
// All that anybody was told is searched for the planted values in the end.

const PROGRAM = new URL('./program.ts', import.meta.url).pathname;
const NODE = process.execPath;
let server: TestServer;
let other: Awaited<ReturnType<typeof openMcpServer>>;
const logged: string[] = [];
const answered: string[] = [];
const planted = {
  TOKEN: `planted-${randomBytes(12).toString('hex')}`,
  BASIC: Buffer.from(`ada:${randomBytes(12).toString('hex')}`).toString('base64'),
};
const description = 'As ever.';
const slow = { began: 0, canceled: 0 };

beforeAll(async () => {
  other = await openMcpServer({
    description: () => description,
    began: () => slow.began++,
    canceled: () => slow.canceled++,
  });
  const write = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    allow: other.allow,
    mcpCommands: [NODE],
    logger: { debug: write, info: write, warn: write, error: write },
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role !== 'user') return { text: `seen ${JSON.stringify(messages.slice(-2))}` };
      return { calls: JSON.parse(last.text) };
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
async function imported(from: McpServer, tool: string): Promise<Tool> {
  const { created, refused: not } = await take(from, [tool]);
  expect(not).toEqual([]);
  return done<Tool>('GET', `/v1/tools/${created[0]!.toolId}`);
}
const attempt = (tool: Tool, args: object = {}) =>
  done<ToolTrial>('POST', `/v1/tools/${tool.id}/try`, { arguments: args });
const check = (tool: Tool, args?: object) =>
  done<ToolTest>('POST', `/v1/tools/${tool.id}/test`, args ? { arguments: args } : {});

test('smoke', async () => {
  const http = await add();
  console.log(JSON.stringify(await look(http), null, 1).slice(0, 1500));
  const tool = await imported(http, 'add');
  console.log(tool, await attempt(tool, { a: 1, b: 2 }));
  console.log(await check(tool), await check(tool, { a: 2, b: 3 }));
  console.log(await attempt(await imported(http, 'known')));
  const modern = await add({ url: `${other.origin}/modern` });
  console.log(await look(modern).then(({ tools: _, ...rest }) => rest));
  console.log(await attempt(await imported(modern, 'given'), { q: 'x' }));
  const program = await addProgram();
  console.log(await look(program).then(({ tools: _, ...rest }) => rest));
  console.log(await attempt(await imported(program, 'known')));
});
