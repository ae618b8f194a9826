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
      // In a space, what a run is about stands in its prompt.
      const about = /: this run, begun by .* saying (".*")/.exec(request.system)?.[1];
      const asked = about ?? JSON.stringify(request.messages.at(-1));
      const isAsked = request.step === 1 && /What is|Please/.test(asked);
      if (isSubAgent(request)) {
        if (asked.includes('stay'))
          return { calls: [{ name: 'ask_user', arguments: { question: 'How long?' } }] };
        return request.step === 1
          ? { text: 'I look.', calls: [{ name: 'current_time', arguments: {} }] }
          : { calls: [{ name: 'final_answer', arguments: { result: 'It is late.' } }] };
      }
      if (!isAsked) return { text: 'So it is.' };
      const instruction = asked.includes('stay') ? 'stay' : 'look';
      return { calls: [{ name: 'create_agent', arguments: { type: 'general', instruction } }] };
    },
  });
  troupe = new Troupe({ baseUrl: server.url });
  const body = { name: 'Olga', capabilities: [{ id: 'delegation' }] };
  agentId = (await troupe.agents.create({ body })).id;
});

afterAll(() => server.close());

it('a question of a sub-agent is answered from the inbox', async () => {
  const session = await troupe.open(agentId);
  await session.sendAndWait('Please stay.');
  const [call] = (await troupe.inbox.list({ query: { sessionId: session.id } })).data;
  expect(call).toMatchObject({ waitsFor: 'answer', arguments: { question: 'How long?' } });
  const task = await troupe.inbox.answer(call!, 'A day.');
  expect(task).toMatchObject({ id: call!.taskId, question: null });
  await expect(troupe.inbox.answer(call!, 'A week.')).rejects.toMatchObject({ code: 'not_asked' });
  await troupe.tasks.cancelAll({ body: { chat: session.id } });
});

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

it('a followed space has its tasks', async () => {
  const { id } = await troupe.spaces.create({ body: { members: [{ agentId }, { user: 'ann' }] } });
  const space = troupe.space(id);
  const followed = space.follow();
  await followed.ready;
  expect(followed.state.tasks).toEqual([]);
  await space.post({ content: { text: 'What is the time?' }, user: 'ann' });
  await until('it is done', () => followed.state.tasks[0]?.status === 'success');
  expect(followed.state.tasks).toMatchObject([{ chatId: id, result: 'It is late.' }]);
  expect((await space.tasks()).data).toEqual(followed.state.tasks);
  followed.close();

  await space.post({ content: { text: 'Please stay.' }, user: 'ann' });
  const waiting = await until('it asks', async () => (await space.tasks({ status: 'waiting' })).data[0]);
  const later = space.follow();
  await later.ready;
  expect(later.state.tasks).toEqual([waiting]);
  expect(await space.cancelTasks()).toEqual({ canceled: [waiting.id] });
  await until('it is canceled', () => later.state.tasks[0]?.status === 'canceled');
  later.close();
});
