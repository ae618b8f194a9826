import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Batch } from '@troupe/protocol';
import { openServer, until, violations } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { releaseJobsOfTheGone } from '../../src/store/queries/jobs.ts';
import { after } from '../after.ts';
import { compiled, publish } from '../networks/published-network.ts';
import { end } from './fixture.ts';

const script = fileURLToPath(new URL('batches-process.ts', import.meta.url));
const key = randomBytes(32);
const [ROWS, ITERATIONS, CONCURRENCY] = [200, 2, 5];

async function work(url: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, url, key.toString('base64')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => end(child, 'SIGKILL'));
  for await (const line of createInterface({ input: child.stdout! })) if (line === 'started') return child;
  throw new Error(`the process ended with ${child.exitCode}`);
}

test('kill -9 of one worker after another: every item has exactly one run and its result, never more at a time than asked for', async () => {
  const server = await openServer({
    postgresUrl: inject('postgresUrl'),
    works: false,
    encryptionKey: key,
  });
  after(() => server.close());
  const { pool } = server.db;
  await fetch(`${server.url}/v1/agents`);
  const project = (await pool.query('select id from troupe.projects')).rows[0].id;
  const agents = [{ key: 'only', isDefault: true, prompt: 'Answer.', allowRespond: true }];
  const tenant = { name: 'tenant', source: 'system' as const, required: false, schema: {} };
  const tools = [{ key: 'lookup' }];
  await publish(
    server.db,
    project,
    compiled({ name: 'desk', tools, agents }, { lookup: { params: [tenant] } }),
  );
  // Whoever changes a run counts how many of its lane are at work then.
  await pool.query(`create table seen (running int);
    create function count_running() returns trigger language plpgsql as $$ begin
      insert into seen select count(*) from troupe.runs where lane like 'batch:%' and status = 'running'; return null; end $$;
    create trigger runs_count after update on troupe.runs for each statement execute function count_running()`);

  const data = `input,system_params.tenant\n${Array.from({ length: ROWS }, (_, at) => `row ${at + 1},t${at}\n`).join('')}`;
  const body = { format: 'csv', data, iterations: ITERATIONS, concurrency: CONCURRENCY };
  const response = await fetch(`${server.url}/v1/networks/desk/batches`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { id } = (await response.json()) as Batch;
  const get = async () => (await (await fetch(`${server.url}/v1/batches/${id}`)).json()) as Batch;
  const ended = async () => (await get()).counts.completed;

  for (const many of [40, 240]) {
    const victim = await work(server.databaseUrl);
    await until(`${many} have ended`, async () => (await ended()) >= many);
    await end(victim, 'SIGKILL');
    expect((await get()).status).toBe('running');
    await until('its jobs are free', async () => {
      await releaseJobsOfTheGone(server.db, 0);
      return (
        (await pool.query('select from graphile_worker.jobs where locked_at is not null')).rows.length === 0
      );
    });
  }
  await work(server.databaseUrl);
  await until('all have ended', async () => (await get()).status === 'completed');

  expect((await get()).counts).toMatchObject({ total: 400, completed: 400, failed: 0, canceled: 0 });
  const { rows: runs } = await pool.query(
    `select trigger->'batch'->>'row' as row, trigger->'batch'->>'iteration' as iteration, outcome->'response'->>'echo' as echo, status
      from troupe.runs`,
  );
  expect(runs).toHaveLength(ROWS * ITERATIONS);
  expect(new Set(runs.map(({ row, iteration }) => `${row}.${iteration}`)).size).toBe(ROWS * ITERATIONS);
  for (const { row, echo, status } of runs) expect([echo, status]).toEqual([`row ${row}`, 'completed']);
  const text = await (await fetch(`${server.url}/v1/batches/${id}/results?format=csv`)).text();
  expect(text.trim().split('\r\n')).toHaveLength(ROWS * ITERATIONS + 1);
  expect((await pool.query('select max(running) as most from seen')).rows[0].most).toBe(CONCURRENCY);
  expect(await violations(pool)).toEqual([]);
});
