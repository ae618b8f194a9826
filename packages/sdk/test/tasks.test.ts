import type { Task } from '@troupe/protocol';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Troupe } from '../src/index.ts';

// One server. Whoever is asked to hand it on does so, and whoever is handed something looks at the time, asks or waits.

let server: TestServer;
let troupe: Troupe;
let agentId: string;

const isSubAgent = ({ tools }: { tools: readonly { name: string }[] }) =>
  tools.some(({ name }) => name === 'final_answer');

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: (request) => {
      const asked = JSON.stringify(request.messages.filter(({ role }) => role === 'user').at(-1));
      if (isSubAgent(request)) {
        if (asked.includes('stay'))
          return { calls: [{ name: 'ask_user', arguments: { question: 'How long?' } }] };
        return request.step === 1
          ? { text: 'I look.', calls: [{ name: 'current_time', arguments: {} }] }
          : { calls: [{ name: 'final_answer', arguments: { result: 'It is late.' } }] };
      }
      if (request.step > 1) return { text: 'So it is.' };
      const instruction = asked.includes('stay') ? 'stay' : 'look';
      return { calls: [{ name: 'create_agent', arguments: { type: 'general', instruction } }] };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  const body = { name: 'Olga', capabilities: [{ id: 'delegation' }] };
  agentId = (await troupe.agents.create({ body })).id;
});

afterAll(() => server.close());

it('tasks of a session are watched as they go, and what was done within is read', async () => {
  const session = await troupe.open(agentId);
  const stop = new AbortController();
  const seen: Task[] = [];
  const watching = (async () => {
    for await (const task of session.watchTasks({ signal: stop.signal })) {
      seen.push(task);
      if (task.status === 'success') break;
    }
  })();
  const turn = await session.sendAndWait('What is the time?');
  expect(turn.text).toBe('So it is.');
  await watching;
  const { data } = await session.tasks();
  expect(data).toMatchObject([{ name: 'agent:general', status: 'success', result: 'It is late.' }]);
  expect(seen.at(-1)).toEqual(data[0]);

  const { subAgentId } = data[0]!;
  const params = { subAgentId: subAgentId! };
  expect(await troupe.subAgents.get({ params })).toMatchObject({ role: 'general', iterationCount: 2 });
  const messages = (await troupe.subAgents.messages({ params })).data;
  expect(messages.slice(0, 3)).toMatchObject([
    { role: 'user', content: expect.stringContaining('look') },
    { role: 'assistant', content: 'I look.', toolCalls: [{ function: { name: 'current_time' } }] },
    { role: 'tool', name: 'current_time' },
  ]);
  const calls = (await troupe.subAgents.toolCalls({ params })).data;
  expect(calls[0]).toMatchObject({ toolName: 'current_time', status: 'success' });
  expect(messages[2]!.toolCallId).toBe(calls[0]!.id);
});

it('tasks that ask are canceled, one or all of a chat', async () => {
  const session = await troupe.open(agentId);
  await session.sendAndWait('Please stay.');
  const waiting = await until('it asks', async () => (await session.tasks({ status: 'waiting' })).data[0]);
  expect(waiting).toMatchObject({ question: 'How long?' });
  const params = { taskId: waiting.id };
  expect(await troupe.tasks.cancel({ params })).toMatchObject({ status: 'canceled' });
  expect(await troupe.tasks.cancel({ params })).toMatchObject({ status: 'canceled' });
  await session.sendAndWait('Please stay.');
  const again = await until('it asks', async () => (await session.tasks({ status: 'waiting' })).data[0]);
  expect(await session.cancelTasks()).toEqual({ canceled: [again.id] });
  expect(await session.cancelTasks()).toEqual({ canceled: [] });
  expect((await session.tasks()).data.map(({ status }) => status)).toEqual(['canceled', 'canceled']);
});
