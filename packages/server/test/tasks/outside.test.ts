import { readFileSync } from 'node:fs';
import type { Delivery, JsonObject, Membership, Message, Problem, Space, Task } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createOutsideTask } from '../../src/doors/tasks/create.ts';
import { invalidDocuments } from '../sync/valid.ts';
import {
  type Chat,
  calls,
  final,
  lastSaid,
  question,
  reply,
  results,
  type Say,
  TaskFixture,
  tasksTold,
} from './fixture.ts';

// Tasks that are created by POST /v1/tasks and by sync pushes.

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl'), triggers: true });
  await fixture.made('/v1/tools', { name: 'lookup', kind: 'echo', params: [{ name: 'q', required: true }] });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('finder');
});
afterAll(async () => {
  await fixture.joined();
  expect((await invalidDocuments(fixture.server.db.pool)).invalid).toEqual([]);
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

/** The agent of the session repeats its notices about tasks. */
const say: Say = (request, who) => {
  if (who === 'boss') return { text: `heard: ${lastSaid(request).split('\n').at(-1)}` };
  const [got] = results(request);
  if (!lastSaid(request).startsWith('ask')) return final('found');
  return got ? final(`took ${got.answer}`) : question('Which colour?');
};

const create = (body: object) => fixture.ask<Task>('POST', '/v1/tasks', body);
const refused = async (body: object) => {
  const { status, body: problem } = await fixture.ask<Problem>('POST', '/v1/tasks', body);
  return [status, problem.code];
};
const taskOf = (id: string) => fixture.get<Task>(`/v1/tasks/${id}`);
const ends = async (id: string): Promise<Task> => {
  await until('it ends', async () => ['success', 'failed'].includes((await taskOf(id)).status));
  return taskOf(id);
};
const textsOf = (messages: Message[], role: string) =>
  messages.flatMap((one) => (one.role === role ? [(one.content as { text: string }).text] : []));
const find = (chat: Chat, more: JsonObject = {}): JsonObject & { id?: string } => ({
  chat: chat.id,
  type: 'agent',
  name: 'agent:finder',
  instruction: `find it ${chat.word}`,
  ...more,
});

describe('POST /v1/tasks', () => {
  test('creates a task for an agent in a session, under the id that it is given, once', async () => {
    const chat = await fixture.session('boss', say);
    const { id: message } = await chat.post('hello');
    await chat.rests();
    const body = find(chat, { id: newId(), triggerMessageId: message });
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const task = answers[0]!.body;
    expect(task).toMatchObject({
      id: body.id,
      chatId: chat.id,
      type: 'agent',
      name: 'agent:finder',
      depth: 1,
      background: true,
      parentRunId: null,
      triggerMessageId: message,
    });
    expect(await ends(task.id)).toMatchObject({ status: 'success', result: 'found' });
    await chat.rests();
    expect(await chat.tasks()).toHaveLength(1);
    // Ids are derived from the task; no agent is notified.
    expect((await create(body)).body).toMatchObject({ id: task.id, runId: task.runId, status: 'success' });
    expect(textsOf(await chat.messages(), 'system')).toEqual([]);
    const events = (await chat.events()).filter(({ type }) => type.startsWith('task.'));
    expect(events.map(({ type, data }) => [type, data.status])).toEqual([
      ['task.created', 'pending'],
      ['task.updated', 'running'],
      ['task.updated', 'success'],
    ]);
    expect(await refused({ ...body, instruction: 'something else' })).toEqual([409, 'task_id_taken']);
    const other = await fixture.session('boss', say);
    expect(await refused({ ...body, chat: other.id })).toEqual([409, 'task_id_taken']);
    expect((await fixture.ask('DELETE', chat.path)).status).toBe(204);
    expect((await fixture.ask('GET', `/v1/tasks/${task.id}`)).status).toBe(404);
  });

  test('creates a task for a tool, which is one call in the ledger', async () => {
    const chat = await fixture.session('boss', say);
    const body = { chat: chat.id, type: 'tool', name: 'tool:lookup', args: { q: 'price' } };
    const { body: task } = await create(body);
    const { result } = await ends(task.id);
    expect(JSON.parse(result!)).toMatchObject({ echo: { q: 'price' } });
    expect(task).toMatchObject({ type: 'tool', name: 'tool:lookup', subAgentId: null });
    expect(await refused({ ...body, args: {} })).toEqual([422, 'arguments_invalid']);
    expect(await refused({ ...body, name: 'nothing' })).toEqual([422, 'tool_not_found']);
    expect(await refused({ ...body, instruction: 'x' })).toEqual([422, 'invalid_request']);
  });

  test('refuses unknown resources and resources of others', async () => {
    const chat = await fixture.session('boss', say);
    expect(await refused(find(chat, { chat: newId() }))).toEqual([404, 'chat_not_found']);
    expect(await refused(find(chat, { name: 'nobody' }))).toEqual([422, 'agent_not_found']);
    expect(await refused(find(chat, { args: {} }))).toEqual([422, 'invalid_request']);
    expect(await refused(find(chat, { triggerMessageId: newId() }))).toEqual([404, 'message_not_found']);
    const { db, kernel } = fixture.server;
    const [{ project_id: project, entity_id: owner }] = (await fixture.rows(
      'select project_id, entity_id from troupe.sessions where id = $1',
      chat.id,
    )) as [{ project_id: string; entity_id: string }];
    const as = (entityId: string, more: JsonObject = {}) =>
      createOutsideTask({ db, kernel }, { project, entityId }, find(chat, more) as never);
    await expect(as(newId())).rejects.toMatchObject({ code: 'chat_not_found' });
    await expect(as(owner, { userId: newId() })).rejects.toMatchObject({ code: 'forbidden' });
    const tool = { type: 'tool', name: 'lookup', args: { q: 'x' } };
    await expect(as(owner, { ...tool, instruction: undefined as never })).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect((await ends(await as(owner))).userId).toBe(owner);
  });

  test('creates a task in a space of people, for one of its members', async () => {
    const word = fixture.script(say);
    const space = await fixture.made<Space>('/v1/spaces', {
      name: 'Hall',
      members: [{ user: `u-${newId()}` }],
    });
    const { data } = await fixture.get<{ data: Membership[] }>(`/v1/spaces/${space.id}/members`);
    const body = { chat: space.id, type: 'agent', name: 'finder', instruction: `find it ${word}` };
    const userId = data[0]!.entityId;
    expect(await ends((await create({ ...body, userId })).body.id)).toMatchObject({
      userId,
      status: 'success',
    });
    expect(await ends((await create(body)).body.id)).toMatchObject({ userId: null, status: 'success' });
    expect(await refused({ ...body, userId: newId() })).toEqual([409, 'not_a_member']);
    expect((await fixture.ask('DELETE', `/v1/spaces/${space.id}`)).status).toBe(204);
    await until('its tasks are gone', async () => (await fixture.tasks(space.id)).length === 0);
  });

  test('lists the question of such a task in the inbox, and the agent of the session can answer it', async () => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who !== 'boss') return say(request, who);
      const waiting = tasksTold(request).find(({ status }) => status === 'waiting');
      if (waiting && results(request).length === 0) return calls(reply(String(waiting.subAgentId), 'red'));
      return { text: 'ok' };
    });
    const { body: first } = await create(find(chat, { instruction: `ask ${chat.word}` }));
    await until('it asks', async () => (await taskOf(first.id)).status === 'waiting');
    const { data } = await fixture.get<{ data: { taskId: string }[] }>(`/v1/inbox?sessionId=${chat.id}`);
    expect(data).toMatchObject([{ taskId: first.id, waitsFor: 'answer' }]);
    await fixture.made(`/v1/tasks/${first.id}/answer`, { answer: 'blue' });
    expect((await ends(first.id)).result).toBe('took blue');
    const { body: second } = await create(find(chat, { instruction: `ask ${chat.word}` }));
    await until('it asks', async () => (await taskOf(second.id)).status === 'waiting');
    await chat.say('answer it');
    expect((await ends(second.id)).result).toBe('took red');
    await chat.rests();
  });
});

describe('a sync push', () => {
  const push = async (document: JsonObject) =>
    await fixture.made<{ conflicts: JsonObject[]; refused: JsonObject[] }>('/v1/sync/tasks/push', {
      rows: [{ newDocumentState: { _deleted: false, ...document } }],
    });

  test('creates a task under the id of its document; the server alone changes it', async () => {
    const chat = await fixture.session('boss', say);
    const id = newId();
    const { chat: _, ...task } = find(chat);
    const chatId = chat.id;
    const document = {
      ...task,
      id,
      chatId,
      userId: '',
      triggerMessageId: '',
      status: 'pending',
      createdAt: 1,
      updatedAt: 1,
    };
    const first = await push(document);
    expect(first.refused).toEqual([]);
    expect(first.conflicts).toMatchObject([{ id, chatId, name: 'agent:finder', _deleted: false }]);
    await ends(id);
    const again = await push(document);
    expect(again).toMatchObject({ refused: [], conflicts: [{ id, status: 'success' }] });
    const deleted = await push({ ...document, _deleted: true });
    expect(deleted).toMatchObject({ refused: [], conflicts: [{ id, status: 'success' }] });
    expect(await chat.tasks()).toHaveLength(1);
    const lost = await push({ ...document, id: newId(), chatId: newId() });
    expect(lost.refused).toMatchObject([{ code: 'chat_not_found' }]);
  });
});

describe('the endpoints under /webhook', () => {
  const delivered = async () => {
    await until(
      'all is delivered',
      async () =>
        (
          await fixture.rows(
            `select from troupe.changes union all select from troupe.trigger_deliveries where ended_at is null`,
          )
        ).length === 0,
    );
    return (await fixture.get<{ data: Delivery[] }>('/v1/deliveries?limit=200')).data;
  };
  beforeAll(async () => {
    const file = new URL('../../../../examples/triggers.json', import.meta.url);
    await fixture.made('/v1/triggers/apply', { triggers: JSON.parse(readFileSync(file, 'utf8')) });
  });

  test('notify the agent of the session once about the question and once about the end of a task from outside', async () => {
    const chat = await fixture.session('boss', say);
    const { body: task } = await create(find(chat, { instruction: `ask ${chat.word}` }));
    const heard = async () => textsOf(await chat.messages(), 'assistant').filter((text) => text !== '');
    await until(
      'the agent is notified of the question',
      async () => (await heard()).join() === 'heard: Which colour?',
    );
    await fixture.made(`/v1/tasks/${task.id}/answer`, { answer: 'blue' });
    await until(
      'the agent is notified of the end',
      async () => (await heard()).at(-1) === 'heard: took blue',
    );
    await chat.rests();
    const was = await chat.messages();
    for (const { status, error } of await delivered()) expect([status, error]).toEqual(['delivered', null]);
    await fixture.made('/v1/deliveries/redeliver', { status: 'delivered' });
    for (const { status } of await delivered()) expect(status).toBe('delivered');
    await chat.rests();
    expect(await chat.messages()).toEqual(was);
    expect(textsOf(was, 'system')).toHaveLength(3);
  });

  test('start the run of a message of a session that has none, once', async () => {
    const chat = await fixture.session('boss', say);
    const id = newId();
    // A message without a run, as another program writes it.
    await fixture.rows(
      `select troupe.append(s.thread_id, null, $2::jsonb, '[]') from troupe.sessions s where s.id = $1`,
      chat.id,
      JSON.stringify([{ id, role: 'user', content: { text: `hello ${chat.word}` } }]),
    );
    await until('it is answered', async () => textsOf(await chat.messages(), 'assistant').length === 1);
    await chat.rests();
    await delivered();
    await fixture.made('/v1/deliveries/redeliver', { status: 'delivered' });
    await delivered();
    await chat.rests();
    expect(textsOf(await chat.messages(), 'assistant')).toEqual([`heard: hello ${chat.word}`]);
    const runs = await fixture.rows('select id from troupe.runs where trigger_message_id = $1', id);
    expect(runs).toHaveLength(1);
  });
});
