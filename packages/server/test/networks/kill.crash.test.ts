import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Invoked } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { compiled, publish } from './published-network.ts';

const key = randomBytes(32);
const TENANT = 'the tenant';
const living = new Set<ChildProcess>();
const held = new Set<string>();
let server: TestServer;
beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), works: false, encryptionKey: key });
});
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  await server.close();
});

async function worker(...more: string[]): Promise<ChildProcess> {
  const args = [server.databaseUrl, key.toString('base64'), ...more];
  const child = fork(join(import.meta.dirname, 'worker-process.ts'), args, { execArgv: [] });
  living.add(child);
  child.once('exit', () => living.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message) => {
      if (message === 'working') resolve();
      else held.add((message as { held: string }).held);
    });
    child.once('exit', (code) => reject(new Error(`a worker ended with ${code} before it worked`)));
  });
  return child;
}

const snapshot = (version: number) =>
  compiled(
    {
      name: 'desk',
      tools: [{ key: 'lookup' }],
      agents: [
        {
          key: 'front',
          isDefault: true,
          prompt: `I am front of version ${version}.`,
          tools: ['lookup'],
          routes: ['writer'],
        },
        {
          key: 'writer',
          prompt: `I am writer of version ${version}.`,
          tools: ['lookup'],
          allowRespond: true,
        },
      ],
    },
    {
      lookup: {
        params: [
          { name: 'q', source: 'agent', required: true, schema: {} },
          { name: 'tenant', source: 'system', required: true, schema: {} },
        ],
      },
    },
  );

async function ask<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return (await response.json()) as Body;
}
const invoke = (input: string, more: object = {}) =>
  ask<Invoked>('POST', '/v1/networks/desk/invoke', { input, systemParams: { tenant: TENANT }, ...more });

test('killed at any step, a run goes on at its agent of its version, whatever was published since', async () => {
  await ask('GET', '/v1/agents');
  const project = (await server.db.pool.query('select id from troupe.projects')).rows[0].id;
  const { id } = await publish(server.db, project, snapshot(1));
  const victim = await worker('holds');
  const inputs = [1, 2, 3, 4].map((step) => `hold at ${step}, then go on`);
  const runs = await Promise.all([...inputs, 'hold in the tool'].map((input) => invoke(input)));
  await until('all are held', async () => runs.every((run) => held.has(run.id)));
  await publish(server.db, project, snapshot(2), id);
  victim.kill('SIGKILL');
  await worker();
  for (const { id: run } of runs) await server.kernel.ended(run);

  const { data } = await ask<{ data: Invoked[] }>('GET', '/v1/networks/desk/runs');
  expect(data).toHaveLength(runs.length);
  for (const run of data) {
    expect(run).toMatchObject({
      status: 'completed',
      network: { id, version: 1 },
      agent: 'writer',
      response: { version: '1', told: true },
      step: 4,
      takeovers: 1,
    });
    const { rows: steps } = await server.db.pool.query(
      'select agent_key from troupe.run_steps where run_id = $1 order by step',
      [run.id],
    );
    expect(steps.map(({ agent_key }) => agent_key)).toEqual(['front', 'front', 'writer', 'writer']);
    // What the system gives was there for whoever went on.
    const { rows: calls } = await server.db.pool.query(
      'select status, output from troupe.tool_calls where run_id = $1',
      [run.id],
    );
    expect(calls).toHaveLength(2);
    for (const { status, output } of calls)
      expect([status, output.echo.tenant]).toEqual(['completed', '[secret tenant]']);
  }
  expect(await invoke('now', { mode: 'wait' })).toMatchObject({
    status: 'completed',
    network: { version: 2 },
    response: { version: '2' },
  });
  expect(await violations(server.db.pool)).toEqual([]);
});
