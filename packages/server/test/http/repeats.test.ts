import { allEndpoints } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type TestServer } from '@troupe/testing';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Endpoints } from '../../src/http/endpoint.ts';
import { type PostName, repeatOf, repeats } from '../../src/http/repeats.ts';
import { routes } from '../../src/http/routes/index.ts';
import { loseAnswers } from '../lost-answers.ts';
import { type Ask, endpointOf, openWorld, POSTS, type World } from '../posts.ts';

let server: TestServer;
let world: World;

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl'), works: false });
  world = await openWorld(ask);
  await loseAnswers(server.db.pool);
});
afterAll(() => server.close());

const ask: Ask = async (name, input) => {
  const { status, body } = await send(name, input);
  expect([name, status, body]).toEqual([name, endpointOf(name).status, body]);
  return body;
};

async function send(name: string, { params = {}, query = {}, body }: Parameters<Ask>[1], key?: string) {
  const { method, path } = endpointOf(name);
  const at = path.replaceAll(/\{(\w+)\}/g, (_, one: string) => (params as Record<string, string>)[one]!);
  const search = new URLSearchParams(query as Record<string, string>);
  const response = await fetch(`${server.url}${at}?${search}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const replayed = response.headers.get('idempotency-replayed');
  return { status: response.status, replayed, body: text === '' ? null : JSON.parse(text) };
}

/** Sends the request twice; the answer to the first is not kept. */
async function sendTwice(
  name: string,
  input: Parameters<Ask>[1],
  between: () => Promise<unknown> = async () => {},
) {
  const key = `lost ${name}`;
  await server.db.pool.query('insert into public.lost_answers values ($1)', [key]);
  const first = await send(name, input, key);
  await server.db.pool.query('delete from public.lost_answers');
  await between();
  const again = await send(name, input, key);
  expect([name, first.status, first.body]).toEqual([name, endpointOf(name).status, first.body]);
  expect([again.status, again.replayed, again.body?.code]).toEqual([first.status, null, first.body?.code]);
  const kept = await send(name, input, key);
  // What is shown once is not kept.
  if (endpointOf(name).shownOnce) expect(kept.body.code).toBe('answer_not_kept');
  else expect(kept).toEqual({ ...again, replayed: 'true' });
  return [first.body, again.body];
}

test('every POST that is served has a class', () => {
  const served = new Endpoints(new Hono(), () => null as never);
  for (const add of routes) add(served);
  for (const endpoint of [...served.served, ...allEndpoints()])
    expect([endpoint.method, endpoint.path, repeatOf(endpoint) !== undefined]).toEqual([
      endpoint.method,
      endpoint.path,
      endpoint.method === 'POST',
    ]);
});

test.each(POSTS)('$name: sent again after its answer was lost, it has its effect once', async (post) => {
  const marker = `m_${post.name.replace('.', '_')}`;
  const prepared = (await post.prepare?.(ask, world, marker)) ?? {};
  const [first, again] = await sendTwice(post.name, post.input(world, marker, prepared));
  const { rows } = await server.db.pool.query(post.effects);
  expect(rows.filter((row) => row.marker === (prepared.marker ?? marker))).toHaveLength(1);
  expect(Object.keys(again).toSorted()).toEqual(Object.keys(first).toSorted());
  for (const field of ['id', 'runId', 'name', 'version', 'count', 'createdAt', 'sequence'])
    expect([field, again[field]]).toEqual([field, first[field]]);
});

interface Change {
  name: PostName;
  /** What it is done to, and with. */
  prepare(): Promise<{ target: string; input: Parameters<Ask>[1] }>;
  /** Undoes it: a repeat that is carried out would have its effect again. */
  undo(target: string): Promise<unknown>;
  /** One row for each effect on `$1`. */
  effects: string;
}

const audited = (action: string) =>
  `select from troupe.audit_log where action = '${action}' and target = $1::text`;
const named = (name: string) => ({
  name,
  agents: [{ key: 'front', prompt: 'Answer.', allowRespond: true, isDefault: true }],
});
const fail = (run: string) =>
  server.db.pool.query(
    `with failed as (update troupe.runs set status = 'failed', completed_at = now(), error = '{"code": "x"}' where id = $1 returning id, thread_id)
      update troupe.threads t set active_run_id = null, failed_run_id = failed.id from failed where t.id = failed.thread_id`,
    [run],
  );
async function deadDelivery(): Promise<string> {
  const { pool } = server.db;
  const { rows } = await pool.query('select project_id from troupe.agents where id = $1', [world.agent]);
  const [id, trigger] = [newId(), newId()];
  await pool.query(
    `insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled)
      values ($1, $2, $3, '{"action": {}}', '{}', 'x', '{}', false)`,
    [trigger, rows[0].project_id, `d-${id}`],
  );
  await pool.query(
    `insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, depth, own, changed_at, status, ended_at)
      values ($1, $2, $3, 1, 1, 1, 'create', 'x/x', 'x', 0, false, now(), 'dead', now())`,
    [id, rows[0].project_id, trigger],
  );
  return id;
}
const dead = (delivery: string) =>
  server.db.pool.query(
    `update troupe.trigger_deliveries set status = 'dead', ended_at = now(), next_attempt_at = null where id = $1`,
    [delivery],
  );

const CHANGES: Change[] = [
  {
    name: 'networks.archive',
    prepare: async () => {
      const { id: network } = await ask('networks.create', { body: named('archived') });
      return { target: network!, input: { params: { network }, body: { archived: true } } };
    },
    undo: (network) => ask('networks.archive', { params: { network }, body: { archived: false } }),
    effects: audited('network.archived'),
  },
  {
    name: 'networks.rollback',
    prepare: async () => {
      const { id: network } = await ask('networks.create', { body: named('rolled back') });
      await ask('networks.publish', { params: { network }, body: {} });
      await ask('networks.update', { params: { network }, body: { policy: { maxSteps: 7 } } });
      await ask('networks.publish', { params: { network }, body: {} });
      return { target: network!, input: { params: { network }, body: { version: 1 } } };
    },
    undo: (network) => ask('networks.rollback', { params: { network }, body: { version: 2 } }),
    effects: `${audited('network.rolled_back')} and data->>'version' = '1'`,
  },
  {
    name: 'networks.import',
    prepare: async () => {
      const { id: network } = await ask('networks.create', { body: named('imported from') });
      await ask('networks.publish', { params: { network }, body: {} });
      const file = await ask('networks.export', { params: { network, version: '1' } });
      return { target: 'imported', input: { body: { ...file, name: 'imported' } } };
    },
    undo: async () => {},
    effects: 'select from troupe.networks where name = $1',
  },
  {
    name: 'plans.cancel',
    prepare: async () => {
      const params = { agentId: world.agent };
      const { id: planId } = await ask('plans.create', { params, body: { name: 'c', runAfter: '1 day' } });
      return { target: planId!, input: { params: { ...params, planId } } };
    },
    undo: (planId) =>
      ask('plans.update', { params: { agentId: world.agent, planId }, body: { runAfter: '2 days' } }),
    effects: audited('plan.canceled'),
  },
  {
    name: 'triggers.enable',
    prepare: async () => {
      const action = { type: 'webhook', url: 'http://127.0.0.1:9/' };
      const body = { name: 'enabled', collection: 'spaces', events: ['create'], enabled: false, action };
      const { id: trigger } = await ask('triggers.create', { body });
      return { target: trigger!, input: { params: { trigger } } };
    },
    undo: (trigger) => ask('triggers.update', { params: { trigger }, body: { enabled: false } }),
    effects: audited('trigger.enabled'),
  },
  {
    name: 'triggers.redeliver',
    prepare: async () => {
      const deliveryId = await deadDelivery();
      return { target: deliveryId, input: { params: { deliveryId } } };
    },
    undo: dead,
    effects: audited('delivery.redelivered'),
  },
  {
    name: 'triggers.redeliverMany',
    prepare: async () => {
      const deliveryId = await deadDelivery();
      const { rows } = await server.db.pool.query(
        'select trigger_id as id from troupe.trigger_deliveries where id = $1',
        [deliveryId],
      );
      return { target: rows[0].id, input: { body: { trigger: rows[0].id } } };
    },
    undo: async (trigger) => {
      const { rows } = await server.db.pool.query(
        'select id from troupe.trigger_deliveries where trigger_id = $1',
        [trigger],
      );
      await dead(rows[0].id);
    },
    effects: audited('delivery.redelivered'),
  },
  {
    name: 'batches.resume',
    prepare: async () => {
      const { network } = world;
      const { id: batchId } = await ask('batches.create', {
        params: { network },
        body: { rows: [{ input: 'x' }] },
      });
      await ask('batches.cancel', { params: { batchId } });
      return { target: batchId!, input: { params: { batchId }, body: {} } };
    },
    undo: (batchId) => ask('batches.cancel', { params: { batchId } }),
    effects: `select from troupe.network_batch_items where batch_id = $1 and status = 'canceled'`,
  },
  {
    name: 'sessions.retry',
    prepare: async () => {
      const params = { agentId: world.agent };
      const { id: sessionId } = await ask('sessions.create', { params, body: {} });
      const posted = await ask('sessions.postMessage', {
        params: { ...params, sessionId },
        body: { content: { text: 'fails' } },
      });
      const { id: run } = posted.run as unknown as { id: string };
      await fail(run);
      return { target: run, input: { params: { ...params, sessionId }, body: {} } };
    },
    undo: fail,
    effects: `select from troupe.runs where id = $1 and status = 'failed'`,
  },
];

test.each(CHANGES)('$name: sent again after its answer was lost, it changes nothing more', async (change) => {
  const { target, input } = await change.prepare();
  const [first, again] = await sendTwice(change.name, input, () => change.undo(target));
  const { rows } = await server.db.pool.query(change.effects, [target]);
  expect(rows).toHaveLength(1);
  expect(Object.keys(again).toSorted()).toEqual(Object.keys(first).toSorted());
  expect([again.id, again.redelivered]).toEqual([first.id, first.redelivered]);
});

test('every POST that creates or changes something once is tried', () => {
  const tried = new Set<string>([...POSTS.map(({ name }) => name), ...CHANGES.map(({ name }) => name)]);
  const missing = Object.entries(repeats).filter(
    ([name, repeat]) => (repeat === 'derived' || repeat === 'recorded') && !tried.has(name),
  );
  expect(missing).toEqual([]);
});
