import type { Agent, Capability, Event, Message, Run, Session } from '@troupe/protocol';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let server: TestServer;
beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role !== 'user') return { text: 'Done.' };
      if (last.text === 'fail')
        return { error: { code: 'model_broken', retryable: false, message: 'The model is broken.' } };
      return last.text.startsWith('[') ? { calls: JSON.parse(last.text) } : { text: 'The answer is 4.' };
    },
  });
  await done('POST', '/v1/tools', { name: 'search', kind: 'static', output: { matches: [1, 2] } });
  await done('POST', '/v1/tools', {
    name: 'strict',
    kind: 'echo',
    inputSchema: { type: 'object', required: ['query'] },
  });
});
afterAll(() => server.close());

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const id = expect.stringMatching(UUID_V7);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);

async function ask<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : null) as Body };
}
async function done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask<Body>(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
let agents = 0;
const newAgent = (more: object = {}) =>
  done<Agent>('POST', '/v1/agents', { name: `Agent ${++agents}`, tools: ['search', 'strict'], ...more });
const pathOf = ({ id, agentId }: Session) => `/v1/agents/${agentId}/sessions/${id}`;
async function talk(agent: Agent, text: string, ending: Session['status'] = 'pending') {
  const session = await done<Session>('POST', `/v1/agents/${agent.id}/sessions`, {});
  const { run } = await done<{ run: Run }>('POST', `${pathOf(session)}/messages`, { content: { text } });
  const path = pathOf(session);
  await until('the run has ended', async () =>
    ['completed', 'failed'].includes((await done<Run>('GET', `/v1/runs/${run.id}`)).status),
  );
  const after = await done<Session>('GET', path);
  expect(after.status).toBe(ending);
  const { data: messages } = await done<{ data: Message[] }>('GET', `${path}/messages`);
  const { data: events } = await done<{ data: Event[] }>('GET', `${path}/events?limit=1000`);
  return { session, after, messages, events };
}

test('003: an agent has the fields of the document', async () => {
  const agent = await newAgent({ name: 'Fields', systemPrompt: 'Be brief.', tags: ['a', 'b'] });
  expect(agent).toMatchObject({
    id,
    name: 'Fields',
    description: null,
    systemPrompt: 'Be brief.',
    defaultModelId: null,
    tags: ['a', 'b'],
    status: 'active',
    createdAt: time,
    updatedAt: time,
  });
  const path = `/v1/agents/${agent.id}`;
  const changed = await done<Agent>('PATCH', path, { description: 'Counts.', status: 'archived' });
  expect(changed).toMatchObject({ description: 'Counts.', status: 'archived', createdAt: agent.createdAt });
  expect(Date.parse(changed.updatedAt)).toBeGreaterThan(Date.parse(agent.updatedAt));
});

test('003: the default model of an agent is a model of the project', async () => {
  const provider = await done<{ id: string }>('POST', '/v1/providers', { name: 'p', kind: 'openai' });
  const model = await done<{ id: string }>('POST', `/v1/providers/${provider.id}/models`, { modelId: 'm' });
  const agent = await newAgent({ defaultModelId: model.id });
  expect(agent.defaultModelId).toBe(model.id);
  const session = await done<Session>('POST', `/v1/agents/${agent.id}/sessions`, { modelId: model.id });
  expect(session.modelId).toBe(model.id);
  const unknown = { name: 'Unknown', defaultModelId: agent.id };
  expect(await ask('POST', '/v1/agents', unknown)).toMatchObject({ status: 422 });
});

test('003: a session has the fields of the document, and an agent has many at once', async () => {
  const agent = await newAgent();
  const path = `/v1/agents/${agent.id}/sessions`;
  const session = await done<Session>('POST', path, { title: 'Sums', tags: ['t'] });
  expect(session).toMatchObject({
    id,
    agentId: agent.id,
    title: 'Sums',
    tags: ['t'],
    modelId: null,
    status: 'pending',
    createdAt: time,
    startedAt: null,
    finishedAt: null,
  });
  const talks = await Promise.all([1, 2, 3].map(() => talk(agent, 'How much is 2+2?')));
  for (const { after } of talks)
    expect(after).toMatchObject({ title: 'How much is 2+2?', startedAt: time, finishedAt: null });
  expect(new Set(talks.map(({ session: one }) => one.id)).size).toBe(3);
});

test('003: a session that failed says when, and takes no message until it is retried', async () => {
  const { session, after, events } = await talk(await newAgent(), 'fail', 'failed');
  expect(after).toMatchObject({ startedAt: time, finishedAt: time, error: { message: expect.any(String) } });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['step.error', 'session.failed']));
  const refused = await ask('POST', `${pathOf(session)}/messages`, { content: { text: 'Hello' } });
  expect(refused).toMatchObject({ status: 409 });
});

test('003: a message has the fields of the document, and its content follows from its role', async () => {
  const calls = [
    { id: 'call_1', name: 'search', arguments: { query: 'test' } },
    { id: 'call_2', name: 'strict', arguments: {} },
  ];
  const { session, messages } = await talk(await newAgent(), JSON.stringify(calls));
  for (const message of messages)
    expect(message).toMatchObject({ id, sessionId: session.id, createdAt: time });
  expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_, index) => index + 1));
  const [user, first, second, ...rest] = messages;
  expect(user).toMatchObject({ role: 'user', content: { text: JSON.stringify(calls) }, toolCallId: null });
  expect([first, second]).toMatchObject(
    calls.map((call) => ({ role: 'tool_call', content: call, toolCallId: call.id })),
  );
  const results = Object.fromEntries(rest.slice(0, 2).map((one) => [one.toolCallId, one]));
  expect(results).toMatchObject({
    call_1: { role: 'tool_result', content: { result: { matches: [1, 2] }, error: null } },
    call_2: { role: 'tool_result', content: { result: null, error: { message: expect.any(String) } } },
  });
  expect(rest.at(-1)).toMatchObject({ role: 'assistant', content: { text: 'Done.' } });
});

test('003: an event has the fields of the document, and is numbered within its session', async () => {
  const { session, events } = await talk(await newAgent(), '[{"id":"c","name":"search","arguments":{}}]');
  for (const event of events)
    expect(event).toMatchObject({
      id: expect.any(String),
      sessionId: session.id,
      type: expect.any(String),
      data: expect.any(Object),
      createdAt: time,
    });
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const types = events.map(({ type }) => type);
  for (const type of ['step.started', 'step.generated', 'message.created', 'tool.started', 'tool.completed'])
    expect(types).toContain(type);
  expect(types.indexOf('tool.started')).toBeLessThan(types.indexOf('tool.completed'));
  expect(types.indexOf('session.started')).toBeLessThan(types.indexOf('session.completed'));
});

test('003: events announce messages, which stay complete without them', async () => {
  const { messages, events } = await talk(await newAgent(), 'How much is 2+2?');
  const announced = events.filter(({ type }) => type === 'message.created');
  expect(announced.map(({ data }) => data.messageId)).toEqual(messages.map(({ id: message }) => message));
  for (const { data } of announced) expect(data).not.toHaveProperty('content');
});

test('003: the built-in capabilities are listed with the fields of the document', async () => {
  const { data } = await done<{ data: Capability[] }>('GET', '/v1/capabilities');
  for (const capability of data) {
    expect(capability).toMatchObject({
      id: expect.stringMatching(/^[a-z_]+$/),
      name: expect.any(String),
      description: expect.any(String),
    });
    expect(['available', 'coming_soon', 'deprecated']).toContain(capability.status);
    expect(capability).toHaveProperty('icon');
    expect(capability).toHaveProperty('category');
  }
  const ids = data.map((capability) => capability.id);
  for (const one of ['noop', 'current_time', 'research', 'sandbox', 'file_system'])
    expect(ids).toContain(one);
});

test('003: an agent has each capability once, in the order of its list', async () => {
  const order = [{ id: 'sandbox' }, { id: 'current_time' }];
  const agent = await newAgent({ capabilities: order });
  expect(agent.capabilities.map(({ id: one }) => one)).toEqual(['sandbox', 'current_time']);
  const turned = await done<Agent>('PATCH', `/v1/agents/${agent.id}`, { capabilities: order.toReversed() });
  expect(turned.capabilities.map(({ id: one }) => one)).toEqual(['current_time', 'sandbox']);
  const twice = { name: 'Twice', capabilities: [{ id: 'noop' }, { id: 'noop' }] };
  expect(await ask('POST', '/v1/agents', twice)).toMatchObject({ status: 422 });
});
