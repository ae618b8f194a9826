import type { SyncSchema } from '@troupe/protocol';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, calls, final, give, question, results, TaskFixture } from '../tasks/fixture.ts';

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl') });
  await fixture.made('/v1/tools', { name: 'lookup', kind: 'echo', params: [{ name: 'q', required: true }] });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('finder', { tools: ['lookup'] });
});
afterAll(async () => {
  await fixture.joined();
  await fixture.server.close();
});

type Document = Record<string, unknown> & { id: string; status: string };
const schemaOf = async (collection: string) =>
  (await fixture.get<{ collections: Record<string, SyncSchema> }>('/v1/sync/schema')).collections[
    collection
  ]!;
/** Open transactions of other tests delay a pull, so it is repeated. */
const pulled = (collection: string, chat: string, isThere: (documents: Document[]) => boolean) =>
  until(`${collection} are there`, async () => {
    const { documents } = await fixture.get<{ documents: Document[] }>(
      `/v1/sync/${collection}/pull?chat=${chat}&limit=100`,
    );
    return isThere(documents) ? documents : null;
  });
const milliseconds = (value: unknown) =>
  Number.isInteger(value) && Math.abs(Number(value) - Date.now()) < 3_600_000;

async function delegated() {
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent !== 'finder')
      return results(request)[0] ? { text: 'Done.' } : calls(give('finder', `Find it. ${chat.word}`));
    return results(request)[0] ? final('the price is 7') : calls(call('lookup', { q: 'price' }));
  });
  const { id: message } = await chat.post('What is the price?');
  const tasks = await pulled('tasks', chat.id, ([task]) => task?.status === 'success');
  return { chat, message, task: tasks[0]! };
}

test('004: a task document has the fields of the document', async () => {
  const { chat, message, task } = await delegated();
  expect(task).toMatchObject({
    userId: expect.any(String),
    chatId: chat.id,
    type: 'agent',
    name: 'agent:finder',
    instruction: expect.stringContaining('Find it.'),
    subAgentId: expect.any(String),
    triggerMessageId: message,
    result: 'the price is 7',
  });
  expect(task.error).toBeUndefined();
  expect([task.createdAt, task.updatedAt].every(milliseconds)).toBe(true);
});

test('004: a sub-agent document has the fields of the document', async () => {
  const { chat, task } = await delegated();
  const [subAgent] = await pulled('sub_agents', chat.id, ([one]) => one?.status === 'completed');
  expect(subAgent).toMatchObject({
    id: task.subAgentId,
    userId: task.userId,
    chatId: chat.id,
    taskId: task.id,
    role: 'finder',
    iterationCount: 2,
  });
  expect([subAgent!.createdAt, subAgent!.updatedAt].every(milliseconds)).toBe(true);
});

test('004: the messages of a sub-agent are documents in the shape of models', async () => {
  const { chat, task } = await delegated();
  const messages = await pulled('sub_agent_messages', chat.id, (all) => all.length >= 4);
  const inOrder = messages.toSorted((one, other) => Number(one.sequence) - Number(other.sequence));
  for (const one of inOrder) {
    expect(one).toMatchObject({
      userId: task.userId,
      subAgentId: task.subAgentId,
      content: expect.any(String),
    });
    expect(milliseconds(one.createdAt)).toBe(true);
  }
  const [asked, called, answered] = inOrder;
  expect(asked).toMatchObject({ role: 'user' });
  const [toolCall] = called!.toolCalls as [{ id: string }];
  expect(called).toMatchObject({
    role: 'assistant',
    toolCalls: [
      { id: expect.any(String), type: 'function', function: { name: 'lookup', arguments: '{"q": "price"}' } },
    ],
  });
  expect(answered).toMatchObject({ role: 'tool', toolCallId: toolCall.id, name: 'lookup' });
});

test('004: the tool calls of a sub-agent are documents under the ids that its messages name', async () => {
  const { chat, task } = await delegated();
  const found = await pulled('sub_agent_tool_calls', chat.id, (all) =>
    all.some(({ status }) => status === 'success'),
  );
  const lookup = found.find(({ toolName }) => toolName === 'lookup')!;
  expect(lookup).toMatchObject({
    userId: task.userId,
    subAgentId: task.subAgentId,
    args: { q: 'price' },
    status: 'success',
    result: expect.stringContaining('price'),
  });
  expect(milliseconds(lookup.createdAt)).toBe(true);
  const messages = await pulled('sub_agent_messages', chat.id, (all) =>
    all.some(({ role }) => role === 'tool'),
  );
  expect(messages.find(({ role }) => role === 'tool')!.toolCallId).toBe(lookup.id);
});

test('004: a task that fails has its error, and its sub-agent has failed', async () => {
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent === 'finder')
      return { error: { code: 'model_broken', retryable: false, message: 'The model is broken.' } };
    return results(request)[0] ? { text: 'Done.' } : calls(give('finder', `Find it. ${chat.word}`));
  });
  await chat.post();
  const [task] = await pulled('tasks', chat.id, ([one]) => one?.status === 'failed');
  expect(task).toMatchObject({ error: expect.any(String) });
  expect(task!.result).toBeUndefined();
  await pulled('sub_agents', chat.id, ([one]) => one?.status === 'failed');
});

test('004: a task that waits for the user shows it, and so does its sub-agent', async () => {
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent === 'finder')
      return results(request)[0] ? final('blue') : question(`Which colour? ${chat.word}`);
    return results(request)[0] ? { text: 'Which colour?' } : calls(give('finder', `Paint it. ${chat.word}`));
  });
  await chat.post();
  const [waiting] = await pulled('tasks', chat.id, ([one]) => one?.status === 'waiting');
  await pulled('sub_agents', chat.id, ([one]) => one?.status === 'waiting_for_user');
  await fixture.made(`/v1/tasks/${waiting!.id}/answer`, { answer: `blue ${chat.word}` });
  const [task] = await pulled('tasks', chat.id, ([one]) => one?.status === 'success');
  expect(task).toMatchObject({ id: waiting!.id, result: 'blue' });
});

test('004: the schemas of the four collections are flat, with a primary key, enums and indexes', async () => {
  const indexed = {
    tasks: ['chatId', 'userId', 'triggerMessageId'],
    sub_agents: ['userId', 'taskId'],
    sub_agent_messages: ['userId', 'subAgentId', 'createdAt'],
    sub_agent_tool_calls: ['userId', 'subAgentId'],
  };
  for (const [collection, fields] of Object.entries(indexed)) {
    const schema = await schemaOf(collection);
    expect(schema).toMatchObject({
      primaryKey: 'id',
      type: 'object',
      required: expect.arrayContaining(['id', 'userId']),
    });
    expect(schema.indexes).toEqual(expect.arrayContaining(fields));
    for (const field of ['chatId', 'taskId', 'subAgentId'])
      if (schema.properties[field]) expect(schema.properties[field]).toMatchObject({ type: 'string' });
  }
  const enumOf = async (collection: string, field: string) =>
    (await schemaOf(collection)).properties[field]!.enum;
  expect(await enumOf('tasks', 'type')).toEqual(['agent', 'tool']);
  expect(await enumOf('tasks', 'status')).toEqual(
    expect.arrayContaining(['pending', 'running', 'success', 'failed', 'waiting']),
  );
  expect(await enumOf('sub_agents', 'status')).toEqual(
    expect.arrayContaining(['active', 'completed', 'failed', 'waiting_for_user']),
  );
  expect(await enumOf('sub_agent_messages', 'role')).toEqual(['system', 'user', 'assistant', 'tool']);
  expect(await enumOf('sub_agent_tool_calls', 'status')).toEqual(['pending', 'success', 'failed']);
});

test('004: every project has the roles general and researcher', async () => {
  const { data } = await fixture.get<{ data: { name: string }[] }>('/v1/agents?limit=200');
  expect(data.map(({ name }) => name)).toEqual(expect.arrayContaining(['general', 'researcher']));
});

test('004: a task runs and its sub-agent is active while the sub-agent works', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const chat = await fixture.session('boss', async (request, agent) => {
    if (agent !== 'finder')
      return results(request)[0] ? { text: 'Done.' } : calls(give('finder', `Find it. ${chat.word}`));
    await held;
    return final('found');
  });
  await chat.post();
  await pulled('tasks', chat.id, ([one]) => one?.status === 'running');
  await pulled('sub_agents', chat.id, ([one]) => one?.status === 'active');
  release();
  await pulled('tasks', chat.id, ([one]) => one?.status === 'success');
});

test('004: a tool call of a sub-agent that fails has its error', async () => {
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent !== 'finder')
      return results(request)[0] ? { text: 'Done.' } : calls(give('finder', `Find it. ${chat.word}`));
    return request.step === 1 ? calls(call('lookup')) : final('nothing');
  });
  await chat.post();
  const failed = (all: Document[]) => all.find(({ status }) => status === 'failed');
  const found = await pulled('sub_agent_tool_calls', chat.id, (all) => failed(all) !== undefined);
  expect(failed(found)).toMatchObject({ toolName: 'lookup', error: expect.any(String) });
  expect(failed(found)!.result).toBeUndefined();
});
