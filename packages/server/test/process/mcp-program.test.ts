import { randomBytes } from 'node:crypto';
import type { McpImport, McpServer, ToolTrial } from '@troupe/protocol';
import { createDatabase } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { after, freePort, isRunning, Troupe } from './fixture.ts';

const PROGRAM = new URL('../mcp/program.ts', import.meta.url).pathname;

test('a process that stops leaves none of the programs that it started, nor what these started', async () => {
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const key = `tsk_${randomBytes(32).toString('base64url')}`;
  const serve = new Troupe('serve', {
    DATABASE_URL,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
    TROUPE_BOOTSTRAP_KEY: key,
    TROUPE_MCP_COMMANDS: `/nowhere/else, ${process.execPath}`,
    PORT: String(await freePort()),
  });
  await serve.ready();
  const send = async <Body>(path: string, body: object): Promise<Body> => {
    const response = await fetch(`http://127.0.0.1:${serve.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
    return answer as Body;
  };
  const program = { name: 'p', transport: 'stdio', command: process.execPath, args: [PROGRAM, 'helper'] };
  const { id } = await send<McpServer>('/v1/mcp-servers', program);
  const { created } = await send<McpImport>(`/v1/mcp-servers/${id}/import`, { tools: ['known'] });
  const { output } = await send<ToolTrial>(`/v1/tools/${created[0]!.toolId}/try`, {});
  const { pids, env } = JSON.parse((output as { text: string }).text);
  expect(Object.keys(env).filter((name) => name.startsWith('TROUPE_') || name === 'DATABASE_URL')).toEqual(
    [],
  );
  expect(pids.map(isRunning)).toEqual([true, true]);
  expect(await serve.stop('SIGTERM')).toBe(0);
  expect(pids.map(isRunning)).toEqual([false, false]);
});
