import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start, type Told } from './command.ts';

const PROGRAM = new URL('../../server/test/mcp/program.ts', import.meta.url).pathname;
let server: TestServer;

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), mcpCommands: [process.execPath] });
});
afterAll(() => server.close());

async function told(...words: string[]): Promise<Told> {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
}
async function parsed(...words: string[]) {
  const { code, out, err } = await told('--json', ...words);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}

it('adds MCP servers, tests them, imports their tools and tests these', async () => {
  expect(await told('mcp')).toMatchObject({ code: 0, out: 'none\n' });
  const away = await parsed('mcp', 'add', 'away', 'http://10.1.2.3/mcp', '--header', 'x: {{secrets.X}}: y');
  expect(away).toMatchObject({ transport: 'http', headers: { x: '{{secrets.X}}: y' } });
  const words = ['mcp', 'add', 'local', '--env', 'A=b=c', '--allow', 'add,given', '--'];
  const local = await parsed(...words, process.execPath, PROGRAM, '--well');
  expect(local).toMatchObject({
    transport: 'stdio',
    command: process.execPath,
    args: [PROGRAM, '--well'],
    env: { A: 'b=c' },
    allow: ['add', 'given'],
  });
  for (const name of ['LOCAL', local.id]) expect(await parsed('mcp', 'get', name)).toEqual(local);
  expect((await told('mcp', 'list')).out).toMatch(/away +http +http:\/\/10\.1\.2\.3\/mcp/);
  const failed = await told('mcp', 'test', 'away', '--json');
  expect([failed.code, JSON.parse(failed.out).error.code]).toEqual([1, 'secret_missing']);
  const { code, out } = await told('mcp', 'test', 'local');
  expect(code).toBe(0);
  expect(out).toMatch(/protocolVersion +2025-11-25/);
  expect(out).toMatch(/add +true +[0-9a-f]{12} +Adds\./);
  const imported = await told('mcp', 'import', 'local', '--tools', 'add,slow');
  expect(imported.code).toBe(1);
  expect(imported.out).toMatch(/add +local_add +created/);
  expect(imported.out).toMatch(/slow .*refused/);
  expect(await parsed('tools', 'test', 'local_add')).toMatchObject({ ok: true });
  expect(await parsed('tools', 'test', 'local_add', '{"a": 1, "b": 2}')).toMatchObject({
    trial: { output: { sum: 3 } },
  });
  expect(await told('mcp', 'delete', 'local')).toMatchObject({
    code: 1,
    err: expect.stringContaining('the tool "local_add"'),
  });
  expect(await told('mcp', 'delete', 'away')).toMatchObject({ code: 0, out: 'away is deleted\n' });
  expect(await told('mcp', 'get', 'away')).toMatchObject({ code: 1 });
  expect(await told('mcp', 'add', 'x', 'http://x.example/', '--header', 'nothing')).toMatchObject({
    code: 2,
  });
  expect(await told('mcp', 'add', 'x', 'http://x.example/', '--env', 'A=b')).toMatchObject({ code: 2 });
});
