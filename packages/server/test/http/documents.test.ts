import type { Agent, CarriedCapability, Event, Message, Session } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Client } from '../stream/client.ts';

// Sentences of the third source document that no other test is named after.

let server: TestServer;
let agent: Agent;
beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages, step }) => {
      const last = messages.at(-1)!;
      if (last.role === 'user' && last.text === 'Call.')
        return {
          text: 'I look.',
          calls: [
            { name: 'current_time', arguments: {} },
            { name: 'current_time', arguments: { nonsense: 1 } },
            { name: 'pick', arguments: {} },
          ],
        };
      // One piece, then a pause: the text stays live until the test has read it.
      if (last.role === 'user' && last.text === 'Begin.')
        return { chunks: ['The beginning'], stallForever: true, failAfterChunks: 1 };
      return { chunks: ['The answer ', `of step ${step}.`] };
    },
  });
  await ask('POST', '/tools', { name: 'pick', kind: 'client' });
  const capabilities = [{ id: 'current_time' }, { id: 'noop' }];
  agent = await ask<Agent>('POST', '/agents', { name: 'Ada', capabilities, tools: ['pick'] });
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

async function ask<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = await response.json();
  expect([path, response.status < 300, answer]).toEqual([path, true, answer]);
  return answer as Body;
}

async function open(): Promise<string> {
  const { id } = await ask<Session>('POST', `/agents/${agent.id}/sessions`, {});
  return `/agents/${agent.id}/sessions/${id}`;
}
const say = (path: string, text: string) =>
  ask<{ run: { id: string } }>('POST', `${path}/messages`, { content: { text } });
const becomes = (path: string, status: string) =>
  until(`it is ${status}`, async () => (await ask<Session>('GET', path)).status === status);
const eventsOf = async (path: string) =>
  (await ask<{ data: Event[] }>('GET', `${path}/events?limit=1000`)).data;
const messagesOf = async (path: string) => (await ask<{ data: Message[] }>('GET', `${path}/messages`)).data;

test('003: message.created - a new message of any role was created', async () => {
  const path = await open();
  const { run } = await say(path, 'Call.');
  await becomes(path, 'waiting');
  const { calls } = await ask<{ calls: { id: string; tool: string }[] }>('GET', `/runs/${run.id}`);
  const callId = calls.find(({ tool }) => tool === 'pick')!.id;
  await ask('POST', `/runs/${run.id}/tool-results`, { results: [{ callId, result: 'blue' }] });
  await becomes(path, 'pending');
  // A canceled run also closes its open calls with results.
  await say(path, 'Call.');
  await becomes(path, 'waiting');
  await ask('POST', `${path}/cancel`);
  const messages = await messagesOf(path);
  expect(messages.filter(({ role }) => role === 'tool_call')).toHaveLength(6);
  expect(messages.filter(({ role }) => role === 'tool_result')).toHaveLength(6);
  const created = (await eventsOf(path)).filter(({ type }) => type === 'message.created');
  expect(created.map(({ data }) => [data.messageId, data.sequence, data.role])).toEqual(
    messages.map(({ id, sequence, role }) => [id, sequence, role]),
  );
});

test('003: step.generating - generation in progress, for every generation that streams', async () => {
  const path = await open();
  const reader = new Client(`${server.url}/v1${path}`);
  try {
    await until('connected', () => reader.frames.length > 0);
    await say(path, 'Begin.');
    await until('a piece is read', () => reader.deltas.some(({ type }) => type === 'message.delta'));
    await ask('POST', `${path}/cancel`);
  } finally {
    reader.close();
  }
  const types = reader.frames.map(({ event }) => event);
  const generating = types.indexOf('step.generating');
  expect(generating).toBeGreaterThan(types.indexOf('step.started'));
  expect(generating).toBeLessThan(types.indexOf('message.delta'));
  const [first] = reader.deltas.filter(({ type }) => type === 'step.generating');
  expect(first).toMatchObject({ step: 1, offset: 0, text: '' });
});

test('003: the id of an event is a UUID v7, the same in every read', async () => {
  const path = await open();
  await say(path, 'Say something.');
  await becomes(path, 'pending');
  const events = await eventsOf(path);
  expect(events.length).toBeGreaterThan(5);
  for (const { id, createdAt } of events) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse(createdAt));
  }
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expect(await eventsOf(path)).toEqual(events);
  const reader = new Client(`${server.url}/v1${path}`, { query: '?after=0' });
  await reader.sees('run.completed').finally(() => reader.close());
  expect(reader.events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
});

test('003: an AgentCapability has an id, the agent, the capability, a position and a creation time', async () => {
  const { id: agentId } = await ask<Agent>('POST', '/agents', {
    name: 'Carrier',
    capabilities: [{ id: 'noop' }, { id: 'current_time' }],
  });
  const carried = async () =>
    (await ask<{ data: CarriedCapability[] }>('GET', `/agents/${agentId}/capabilities`)).data;
  const [noop, time] = (await carried()) as [CarriedCapability, CarriedCapability];
  expect(noop).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
    agentId,
    capabilityId: 'noop',
    position: 0,
    config: {},
    createdAt: expect.stringMatching(/Z$/),
  });
  expect(time).toMatchObject({ agentId, capabilityId: 'current_time', position: 1 });
  // A capability that stays keeps its row, also at another position.
  const capabilities = [{ id: 'current_time' }, { id: 'todo_list' }, { id: 'noop' }];
  await ask('PATCH', `/agents/${agentId}`, { capabilities });
  const [first, second, third] = await carried();
  expect(first).toEqual({ ...time, position: 0 });
  expect(second).toMatchObject({ capabilityId: 'todo_list', position: 1 });
  expect(third).toEqual({ ...noop, position: 2 });
  await ask('PATCH', `/agents/${agentId}`, { capabilities: [] });
  expect(await carried()).toEqual([]);
});
