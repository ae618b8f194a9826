import { randomBytes } from 'node:crypto';
import type { Agent, Invoked, Run, Session } from '@troupe/protocol';
import { silentLogger } from '@troupe/server';
import { tool } from '@troupe/server/parts';
import { openServer, stopwatch, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { RetryableError } from '../../src/base/errors.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { endedRuns } from '../../src/store/queries/spans.ts';
import { traceId } from '../../src/telemetry/ids.ts';
import { Spans } from '../../src/telemetry/index.ts';
import { samplerOf } from '../../src/telemetry/sampler.ts';
import { compiled, publish } from '../networks/published-network.ts';
import { openCollector, outside, type Received, wrongWith } from './collector.ts';

// One server that sends its spans to a collector of ours. All that the collector gets is searched for planted values in the end.

const planted = {
  tenant: `tenant-${randomBytes(8).toString('hex')}`,
  secret: `secret-${randomBytes(8).toString('hex')}`,
  said: `said-${randomBytes(8).toString('hex')}`,
};
const OPTIONS = {
  serviceName: 'troupe',
  version: '0',
  sampler: 'always_on',
  ratio: 1,
  delayMs: 50,
  logger: silentLogger,
};
let collector: Awaited<ReturnType<typeof openCollector>>;
let server: TestServer;
let spans: Spans;
let project: string;
const { OTEL_EXPORTER_OTLP_ENDPOINT } = process.env;

const turns: Turn[] = [
  { calls: [{ id: 'c1', name: 'pay', arguments: { note: planted.said } }] },
  {
    calls: [
      { id: 'c2', name: 'lookup', arguments: { q: planted.said } },
      { id: 'c3', name: 'breaks', arguments: {} },
    ],
  },
  { calls: [{ id: 'c4', name: 'route_to_agent', arguments: { agent: 'writer', context: planted.said } }] },
  { calls: [{ id: 'c5', name: 'respond', arguments: { payload: { answer: planted.said } } }] },
];

beforeAll(async () => {
  collector = await openCollector();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    telemetry: (db) => {
      spans = new Spans({ ...OPTIONS, read: (runs) => endedRuns(db, runs) });
      return spans;
    },
    code: [
      tool({
        name: 'breaks',
        execute: async (_, { secret }) => Promise.reject(new Error(`${await secret('KEY')} ${planted.said}`)),
      }),
    ],
    script: async ({ messages, step, system, tools }) => {
      const text = messages.find(({ role }) => role === 'user');
      const said = text?.role === 'user' ? text.text : '';
      if (system.includes('I am boss') && step === 1)
        return {
          calls: ['worker', 'nobody'].map((agent, n) => ({
            id: `d${n}`,
            name: 'delegate_to_agent',
            arguments: { agent, assignment: planted.said },
          })),
        };
      if (/I am (boss|worker)/.test(system)) return turns[3]!;
      if (tools.some(({ name }) => name === 'route_to_agent' || name === 'respond')) return turns[step - 1]!;
      if (said.includes('fail')) throw new RetryableError('overloaded', planted.said);
      if (said.includes('hang')) return new Promise<Turn>(() => {});
      return { text: planted.said };
    },
  });
  project = (await ask<{ id: string }>('GET', '/v1/project')).id;
  await ask('PUT', '/v1/secrets/KEY', { value: planted.secret });
});
afterAll(async () => {
  await server.close();
  await spans.close(1_000);
  await collector.close();
  if (OTEL_EXPORTER_OTLP_ENDPOINT === undefined) delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  expect(collector.bodies.length).toBeGreaterThan(0);
  for (const value of Object.values(planted)) expect(collector.bodies.join('\n')).not.toContain(value);
});

async function ask<Body>(method: string, path: string, body?: unknown, headers = {}): Promise<Body> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return (text ? JSON.parse(text) : null) as Body;
}
const of = (run: string) => collector.spans.filter(({ attributes }) => attributes['troupe.run.id'] === run);
const whole = (run: string, most = 10_000) =>
  until(
    'the span of the run is there',
    () => {
      const found = of(run);
      return found.some(({ name }) => name.startsWith('invoke_')) ? found : null;
    },
    most,
  );
const named = (found: Received[], name: string) => found.filter((span) => span.name === name);

test('a run of a network is a tree: steps, model calls and tools, with what was refused', async () => {
  const param = (name: string, source: 'agent' | 'system') => ({ name, source, required: true, schema: {} });
  const network = await publish(
    server.db,
    project,
    compiled(
      {
        name: 'Desk',
        policy: { maxSteps: 8, retries: 2 },
        tools: [{ key: 'lookup' }, { key: 'pay' }, { key: 'breaks' }],
        agents: [
          {
            key: 'front',
            isDefault: true,
            prompt: 'I am front.',
            tools: ['lookup', 'breaks'],
            routes: ['writer'],
          },
          { key: 'writer', prompt: 'I am writer.', allowRespond: true },
        ],
      },
      {
        lookup: { params: [param('q', 'agent'), param('tenant', 'system')] },
        pay: {},
        breaks: { kind: 'code', config: { function: 'breaks' } },
      },
    ),
  );
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const run = await ask<Invoked>(
    'POST',
    `/v1/networks/${network.name}/invoke`,
    { input: 'network', mode: 'wait', systemParams: { tenant: planted.tenant } },
    { traceparent: `00-${trace}-b7ad6b7169203331-01` },
  );
  expect(run, JSON.stringify(run)).toMatchObject({ status: 'completed' });
  await whole(run.id);
  await until('all are there', () => of(run.id).length === 11);
  const all = of(run.id);
  expect(wrongWith(all)).toEqual([]);
  expect(outside(all)).toEqual([]);
  const [root] = named(all, 'invoke_workflow Desk');
  expect(root).toMatchObject({
    status: 0,
    service: 'troupe',
    links: [{ traceId: trace, spanId: 'b7ad6b7169203331' }],
    attributes: {
      'gen_ai.operation.name': 'invoke_workflow',
      'troupe.project.id': project,
      'troupe.door': 'network',
      'troupe.network.name': 'Desk',
      'troupe.network.version': 1,
      'troupe.run.status': 'completed',
    },
  });
  const steps = all.filter(({ name }) => name.startsWith('step ')).sort((a, b) => a.start - b.start);
  expect(steps.map(({ attributes }) => attributes['troupe.agent.key'])).toEqual([
    'front',
    'front',
    'front',
    'writer',
  ]);
  expect(steps[0]!.events).toMatchObject([
    { name: 'troupe.decision.refused', attributes: { 'error.type': expect.any(String) } },
  ]);
  expect(steps[1]!.events).toEqual([]);
  const chats = named(all, 'chat script');
  expect(chats).toHaveLength(4);
  expect(chats[0]!.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': expect.any(String),
    'gen_ai.request.model': 'script',
    'gen_ai.response.finish_reasons': ['tool_calls'],
    'gen_ai.usage.input_tokens': expect.any(Number),
  });
  const [lookup] = named(all, 'execute_tool lookup');
  const [breaks] = named(all, 'execute_tool breaks');
  expect(lookup).toMatchObject({
    status: 0,
    parentSpanId: steps[1]!.spanId,
    attributes: { 'gen_ai.tool.call.id': 'c2' },
  });
  expect(breaks).toMatchObject({ status: 2, attributes: { 'error.type': 'tool_error' } });
});

test('tasks are in the trace of the run that gave them, and only those that were refused are told as refused', async () => {
  const boss = { key: 'boss', isDefault: true, allowTaskGroup: true, allowRespond: true, routes: ['worker'] };
  const network = await publish(
    server.db,
    project,
    compiled({
      name: 'Bosses',
      agents: [
        { ...boss, prompt: 'I am boss.' },
        { key: 'worker', prompt: 'I am worker.', routes: ['boss'] },
      ],
    }),
  );
  const run = await ask<Invoked>('POST', `/v1/networks/${network.name}/invoke`, { input: 'x', mode: 'wait' });
  expect(run, JSON.stringify(run)).toMatchObject({ status: 'completed' });
  const found = await whole(run.id);
  const steps = found.filter(({ name }) => name.startsWith('step ')).sort((a, b) => a.start - b.start);
  expect(steps.map(({ events }) => events)).toMatchObject([
    [{ name: 'troupe.decision.refused', attributes: { 'error.type': 'unknown_agent' } }],
    [],
  ]);
  const { data: tasks } = await ask<{ data: Run[] }>('GET', `/v1/runs?parentRunId=${run.id}`);
  expect(tasks).toHaveLength(1);
  const [task] = named(await whole(tasks[0]!.id), 'invoke_workflow Bosses');
  const [root] = named(found, 'invoke_workflow Bosses');
  expect(task).toMatchObject({ traceId: root!.traceId, parentSpanId: root!.spanId });
});

test('a run that failed is told of once more when it is taken up again; one that is canceled by HTTP is told of too', async () => {
  const agent = await ask<Agent>('POST', '/v1/agents', {
    name: 'Ada',
    limits: { modelTries: 2, retryBackoffMs: 1 },
  });
  const say = async (text: string) => {
    const { id } = await ask<Session>('POST', `/v1/agents/${agent.id}/sessions`, {});
    const path = `/v1/agents/${agent.id}/sessions/${id}/messages`;
    return (await ask<{ run: Run }>('POST', path, { content: { text } })).run.id;
  };
  const failing = await say('fail');
  const first = await whole(failing);
  expect(wrongWith(first)).toEqual([]);
  expect(named(first, 'invoke_agent Ada')[0]).toMatchObject({
    status: 2,
    attributes: { 'error.type': 'overloaded', 'troupe.run.status': 'failed' },
  });
  expect(first.filter(({ name }) => name.startsWith('chat ')).map(({ status }) => status)).toEqual([2, 2]);
  await ask('POST', `/v1/runs/${failing}/retry`);
  await until('it is told of again', () => named(of(failing), 'invoke_agent Ada').length === 2);
  const both = of(failing);
  expect(new Set(both.map(({ spanId }) => spanId)).size).toBe(both.length);

  // As it would lie there from before this process told of anything.
  const { pool } = server.db;
  await pool.query(
    `insert into troupe.ended_runs (run_id, lives, ended_at) values ($1, 2, now() - interval '5 minutes')`,
    [failing],
  );
  const hanging = await say('hang');
  await until(
    'it is at work',
    async () => (await ask<Run>('GET', `/v1/runs/${hanging}`)).status === 'running',
  );
  await ask('POST', `/v1/runs/${hanging}/cancel`);
  const canceled = await whole(hanging);
  expect(named(canceled, 'invoke_agent Ada')[0]).toMatchObject({
    status: 2,
    attributes: { 'error.type': 'user' },
  });
  // The older one would have been told of first.
  expect(named(of(failing), 'invoke_agent Ada')).toHaveLength(2);
  const { rows } = await pool.query('select run_id from troupe.ended_runs');
  expect(rows).toEqual([{ run_id: failing }]);
});

test('a share of traces is sent, by their ids alone', () => {
  const traces = Array.from({ length: 1_000 }, (_, n) => traceId(`run ${n}`));
  const share = (sampler: string) => traces.filter(samplerOf(sampler, 0.25)).length;
  expect(share('parentbased_traceidratio')).toBeGreaterThan(150);
  expect(share('traceidratio')).toBeLessThan(350);
  expect([share('always_on'), share('parentbased_always_off')]).toEqual([1_000, 0]);
});

test('without a collector nothing waits, and no more is kept than fits', async () => {
  const got: string[] = [];
  const read = async (runs: readonly string[]) => {
    got.push(...runs);
    return [];
  };
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:9';
  const away = new Spans({ ...OPTIONS, read });
  for (let n = 0; n < 20_000; n++) away.ended([`run ${n}`]);
  const elapsed = stopwatch();
  await away.close(500);
  expect(elapsed()).toBeLessThan(2_000);
  expect(got).toHaveLength(5_000);
});
