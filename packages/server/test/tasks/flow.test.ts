import { violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { invalidDocuments } from '../sync/valid.ts';
import {
  call,
  calls,
  final,
  give,
  lastSaid,
  question,
  reply,
  results,
  TaskFixture,
  tasksTold,
} from './fixture.ts';

// The whole flow, over HTTP: a person, an agent that gives tasks, a sub-agent with tools.

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl') });
  await fixture.made('/v1/tools', { name: 'lookup', kind: 'echo', params: [{ name: 'q', required: true }] });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('finder', { tools: ['lookup'] });
});
afterAll(async () => {
  await fixture.joined();
  expect((await invalidDocuments(fixture.server.db.pool)).invalid).toEqual([]);
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

test('a task is given in the foreground, a sub-agent does it, and the agent goes on with the result', async () => {
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent === 'finder') {
      expect(request.tools.map(({ name }) => name).sort()).toEqual(['ask_user', 'final_answer', 'lookup']);
      return final('the price is 7');
    }
    const [got] = results(request);
    return got ? { text: `It says: ${got.result}` } : calls(give('finder', `Find the price. ${chat.word}`));
  });
  expect(await chat.say('What is the price?')).toBe('It says: the price is 7');
  const task = await chat.task();
  expect(task).toMatchObject({
    type: 'agent',
    name: 'agent:finder',
    status: 'success',
    result: 'the price is 7',
    depth: 1,
    background: false,
    sub_status: 'completed',
    iteration_count: 1,
    summary: 'the price is 7',
  });
  await fixture.joined();
  const told = (await chat.events()).filter(({ type }) => type.startsWith('task.'));
  expect(told.map(({ type, data }) => `${type} ${data.status}`)).toEqual([
    'task.created pending',
    'task.updated running',
    'task.updated success',
  ]);
});

test('user → orchestrator → task → sub-agent → parallel tools → question → answer in the chat → final → said in the chat', async () => {
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent === 'finder') {
      const got = results(request);
      if (got.length === 0) return calls(...['a', 'b', 'c'].map((q) => call('lookup', { q })));
      if (got.length === 3) return question('Which currency?');
      return final(`42 ${got[3]!.answer}`);
    }
    const [got] = results(request);
    if (got?.status === 'waiting') return { text: `One thing: ${got.question}` };
    if (got) return { text: `Done: ${got.result}` };
    const waiting = tasksTold(request).find(({ status }) => status === 'waiting');
    if (waiting) return calls(reply(String(waiting.subAgentId), lastSaid(request).split(' ')[0]!));
    return calls(give('finder', `Find the price. ${chat.word}`));
  });
  expect(await chat.say('What does it cost?')).toBe('One thing: Which currency?');
  const waiting = await chat.task();
  expect(waiting).toMatchObject({
    status: 'waiting',
    question: 'Which currency?',
    sub_status: 'waiting_for_user',
  });
  expect(await chat.say('euros')).toBe('Done: 42 euros');
  const task = await chat.task();
  expect(task).toMatchObject({
    status: 'success',
    result: '42 euros',
    question: null,
    sub_status: 'completed',
    iteration_count: 3,
  });
  const said = (await chat.messages()).filter(({ role }) => role === 'user' || role === 'assistant');
  expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  await fixture.joined();
  const told = (await chat.events()).filter(({ type }) => type.startsWith('task.'));
  expect(told.map(({ data }) => data.status)).toEqual([
    'pending',
    'running',
    'waiting',
    'running',
    'success',
  ]);
});
