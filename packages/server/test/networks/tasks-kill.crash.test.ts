import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Invoked } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { compiled, publish } from './published-network.ts';

const key = randomBytes(32);
const living = new Set<ChildProcess>();
const held = new Set<string>();
let server: TestServer;
beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), works: false, encryptionKey: key });
  await ask('GET', '/v1/agents');
  const project = (await server.db.pool.query('select id from troupe.projects')).rows[0].id;
  const tenant = { name: 'tenant', source: 'system' as const, required: true, schema: {} };
  const q = { name: 'q', source: 'agent' as const, required: true, schema: {} };
  const network = compiled(
    {
      name: 'desk',
      tools: [{ key: 'lookup' }],
      agents: [
        {
          key: 'boss',
          isDefault: true,
          prompt: 'I am boss.',
          allowRespond: true,
          allowTaskGroup: true,
          routes: ['worker'],
        },
        { key: 'worker', prompt: 'I am worker.', tools: ['lookup'], routes: ['boss'] },
      ],
    },
    { lookup: { params: [q, tenant] } },
  );
  await publish(server.db, project, network);
});
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  await server.close();
});

async function worker(...more: string[]): Promise<ChildProcess> {
  const args = [server.databaseUrl, key.toString('base64'), ...more];
  const child = fork(join(import.meta.dirname, 'tasks-worker.ts'), args, { execArgv: [] });
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

async function ask<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return (await response.json()) as Body;
}
const invoke = (input: string) =>
  ask<Invoked>('POST', '/v1/networks/desk/invoke', { input, systemParams: { tenant: 'the tenant' } });
const one = async (text: string, ...values: unknown[]) => (await server.db.pool.query(text, values)).rows[0];

/** The parent went on once, with what every child said, and every child began once. */
async function expectDone(run: string, kind: string, many: number): Promise<void> {
  const ended = await server.kernel.ended(run);
  const said = Array.from({ length: many }, (_, n) => `${kind} ${n}`);
  expect(ended).toMatchObject({ status: 'completed', outcome: { response: { got: said } } });
  const { step } = await one('select step from troupe.runs where id = $1', run);
  expect(step).toBe(2);
  const { begun } = await one('select count(*)::int as begun from troupe.runs where parent_run_id = $1', run);
  expect(begun).toBe(many);
}

test('killed right between the end of a task and the join, and while tasks run: the parent goes on once', async () => {
  const dead = await worker('dies');
  const dying = await invoke('give 1 dying');
  await new Promise((resolve) => dead.once('exit', resolve));
  // Nobody works now: the end of the child is on disk, and so is what is to be joined.
  const { joins, status, waits } = await one(
    `select c.status, (select waits_for from troupe.tool_calls where run_id = $1) as waits,
      (select count(*)::int from troupe.joins where run_id = $1) as joins from troupe.runs c where c.parent_run_id = $1`,
    dying.id,
  );
  expect([joins, status, waits]).toEqual([1, 'completed', 'task']);
  expect(await violations(server.db.pool)).toEqual([]);
  // Nothing else ends here that would have somebody look.
  const next = await worker('holds');
  await expectDone(dying.id, 'dying', 1);
  const running = await invoke('give 4 held');
  await until('all are held', async () => held.size === 4);
  next.kill('SIGKILL');
  await worker();
  await expectDone(running.id, 'held', 4);
  expect(await violations(server.db.pool)).toEqual([]);
});

test('three processes end twenty tasks at once, again and again: each parent goes on once', async () => {
  await Promise.all([worker(), worker()]);
  const runs = await Promise.all(Array.from({ length: 3 }, () => invoke('give 20 quick')));
  for (const { id } of runs) await expectDone(id, 'quick', 20);
  const workers = await one(
    `select count(distinct s.worker_id)::int as many from troupe.run_steps s join troupe.runs r on r.id = s.run_id where r.parent_run_id = any($1)`,
    runs.map(({ id }) => id),
  );
  expect(workers.many).toBeGreaterThan(1);
  expect(await violations(server.db.pool)).toEqual([]);
});
