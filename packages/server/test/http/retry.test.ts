import type { Agent, Model, Run, RunStep, Session } from '@troupe/protocol';
import { createProviders } from '@troupe/server/parts';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { loadProvider } from '../../src/definitions/models/index.ts';
import { chat } from '../models/wire/formats.ts';
import { refuse, stream, WireServer } from '../models/wire/server.ts';

// A session that failed because of its model, and how it is mended.

let wire: WireServer;
let server: TestServer;
let bad: Model;
let good: Model;
let agent: Agent;

beforeAll(async () => {
  wire = await WireServer.open();
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    models: (db) => createProviders({ load: (id) => loadProvider(db, null, id) }),
  });
  const baseUrl = wire.url;
  const provider = await done('POST', '/v1/providers', { kind: 'openai_compatible', name: 'Wire', baseUrl });
  const prices = { inputPrice: 2, outputPrice: 10 };
  const add = (modelId: string) =>
    done<Model>('POST', `/v1/providers/${provider.id}/models`, { modelId, ...prices });
  [bad, good] = [await add('bad'), await add('good')];
  const capabilities = [{ id: 'current_time' }];
  agent = await done('POST', '/v1/agents', { name: 'Ada', defaultModelId: bad.id, capabilities });
});
afterEach(() => {
  expect(wire.left).toBe(0);
  wire.heard.length = 0;
});
afterAll(async () => {
  await server.close();
  await wire.close();
});

async function send(method: string, path: string, body?: object) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  // biome-ignore lint/suspicious/noExplicitAny: most callers need one field of what they made.
  const answer: any = await response.json();
  return { status: response.status, body: answer };
}

// biome-ignore lint/suspicious/noExplicitAny: most callers need one field of what they made.
async function done<Body = any>(method: string, path: string, body?: object): Promise<Body> {
  const answer = await send(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}

const NO_KEY = refuse(401, chat.refusal({ type: 'auth', message: 'No such key.' }));
const asked = () => wire.heard.map(({ body }) => body.model);

/** A session whose run looked at the clock, and failed in its second step. */
async function failed(message: object = {}, session: object = {}) {
  wire.replies(
    stream(
      chat.events({
        calls: [{ id: 'call_1', name: 'current_time', pieces: ['{}'] }],
        usage: { input: 5, output: 1 },
      }),
    ),
    NO_KEY,
  );
  const { id } = await done('POST', `/v1/agents/${agent.id}/sessions`, session);
  const path = `/v1/agents/${agent.id}/sessions/${id}`;
  const { run } = await done('POST', `${path}/messages`, { content: { text: 'Hello' }, ...message });
  await becomes(path, 'failed');
  return { path, run: `/v1/runs/${run.id}` };
}

const becomes = (path: string, status: string) =>
  until(`it is ${status}`, async () => (await done<Session>('GET', path)).status === status);

const answers = () => wire.replies(stream(chat.events({ text: ['Now.'], usage: { input: 10, output: 2 } })));

test('after another model was chosen for the agent, retry calls that one, and no step is taken twice', async () => {
  const { path, run } = await failed();
  await done('PATCH', `/v1/agents/${agent.id}`, { defaultModelId: good.id });
  answers();
  await done('POST', `${path}/retry`);
  await becomes(path, 'pending');
  expect(asked()).toEqual(['bad', 'bad', 'good']);
  const told = await done<Run & { steps: RunStep[]; calls: object[] }>('GET', run);
  expect(told.steps.map(({ step, model }) => [step, model])).toEqual([
    [1, 'bad'],
    [2, 'good'],
  ]);
  expect(told.calls).toHaveLength(1);
  // In units of the currency, as prices are: 5 tokens at 2 a million and 1 at 10, then 10 and 2.
  expect(told.steps.map(({ cost }) => cost)).toEqual([0.00002, 0.00004]);
  expect(told.cost).toBe(0.00006);
  const listed = await done<{ data: Run[] }>('GET', '/v1/runs');
  expect(listed.data.find(({ id }) => id === told.id)?.cost).toBe(0.00006);
});

// The agent has the good one from here on.
test('after another model was chosen for the session, or in the retry itself', async () => {
  const ofSession = await failed({}, { modelId: bad.id });
  await done('PATCH', ofSession.path, { modelId: good.id });
  answers();
  await done('POST', `${ofSession.run}/retry`, {});
  await becomes(ofSession.path, 'pending');
  expect(asked().at(-1)).toBe('good');

  const named = await failed({ modelId: bad.id });
  const missing = await send('POST', `${named.path}/retry`, { modelId: agent.id });
  expect([missing.status, missing.body.code]).toEqual([422, 'model_not_found']);
  // What the message named stays the first choice.
  wire.replies(NO_KEY);
  await done('POST', `${named.path}/retry`);
  await until('it failed again', () => wire.left === 0);
  await becomes(named.path, 'failed');
  expect(asked().at(-1)).toBe('bad');
  // Chosen once, and kept.
  wire.replies(NO_KEY);
  await done('POST', `${named.path}/retry`, { modelId: good.id });
  await until('it failed again', () => wire.left === 0);
  await becomes(named.path, 'failed');
  answers();
  await done('POST', `${named.run}/retry`);
  await becomes(named.path, 'pending');
  expect(asked().slice(-2)).toEqual(['good', 'good']);
  const again = await send('POST', `${named.run}/retry`);
  expect([again.status, again.body.code]).toEqual([409, 'not_failed']);
});

test('what the message named is passed over once it is disabled', async () => {
  const { path } = await failed({ modelId: bad.id });
  await done('PATCH', `/v1/models/${bad.id}`, { status: 'disabled' });
  answers();
  await done('POST', `${path}/retry`);
  await becomes(path, 'pending');
  expect(asked().at(-1)).toBe('good');
});
