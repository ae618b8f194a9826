import type { Membership, Problem, Space, Task, WaitingCall } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { answerTask } from '../../src/doors/tasks/answer.ts';
import { answerTask as storeAnswer } from '../../src/store/queries/tasks.ts';
import {
  type Chat,
  calls,
  final,
  give,
  lastSaid,
  question,
  reply,
  results,
  type Say,
  type TaskDoc,
  TaskFixture,
  tasksTold,
} from './fixture.ts';

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl') });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('lead', { delegates: {} });
  await fixture.agent('finder');
});
afterAll(async () => {
  await fixture.joined();
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const finder: Say = (request) => {
  const [got] = results(request);
  return got ? final(`took ${got.answer ?? got.code}`) : question('Which colour?');
};

/** A session whose agent does not pass on the question of its sub-agent. */
async function stranded({ background = false } = {}): Promise<Chat> {
  const chat: Chat = await fixture.session('boss', (request, who) => {
    if (who === 'finder') return finder(request, who);
    if (results(request).length > 0) return { text: 'Done.' };
    if (lastSaid(request).startsWith('Task '))
      return { text: `heard: ${lastSaid(request).split('\n').at(-1)}` };
    return calls(give('finder', `Do it. ${chat.word}`, { background }));
  });
  await chat.say();
  await chat.becomes('waiting');
  await chat.rests();
  return chat;
}

const answer = (task: string, body: object) => fixture.ask<Problem>('POST', `/v1/tasks/${task}/answer`, body);
const inbox = async (query = '') =>
  (await fixture.get<{ data: WaitingCall[] }>(`/v1/inbox?limit=200${query}`)).data;
const news = async (chat: Chat) =>
  (await chat.messages()).flatMap(({ role, content }) =>
    role === 'system' ? [(content as { text: string }).text.replace(/^Task.*?\) /, '')] : [],
  );

describe('a question that the agent does not pass on', () => {
  test.each([{ background: false }, { background: true }])(
    'stands in the inbox and on the task, and a person answers it (background: $background)',
    async (how) => {
      const chat = await stranded(how);
      const { id } = await chat.task();
      const [waiting] = await inbox(`&sessionId=${chat.id}`);
      expect(waiting).toMatchObject({
        taskId: id,
        waitsFor: 'answer',
        tool: 'ask_user',
        arguments: { question: 'Which colour?' },
        agentName: 'finder',
      });
      expect(await inbox(`&sessionId=${chat.id}&waitsFor=answer`)).toEqual([waiting]);
      expect(await inbox(`&sessionId=${chat.id}&waitsFor=approval`)).toEqual([]);
      expect(await fixture.get<Task>(`/v1/tasks/${id}`)).toMatchObject({
        status: 'waiting',
        question: 'Which colour?',
        questionId: waiting!.callId,
      });
      const answered = await answer(id, { answer: 'blue', questionId: waiting!.callId });
      expect(answered).toMatchObject({ status: 200, body: { id, question: null, questionId: null } });
      await chat.becomes('success');
      await chat.rests();
      expect(await chat.task()).toMatchObject({ result: 'took blue' });
      expect(await inbox(`&sessionId=${chat.id}`)).toEqual([]);
      expect(await news(chat)).toEqual([
        ...(how.background ? ['waits for an answer. The sub-agent asks:\n\nWhich colour?'] : []),
        'goes on: a person answered the sub-agent. It asked:\n\nWhich colour?\n\nThe answer:\n\nblue',
        'is done. Its result:\n\ntook blue',
      ]);
      const said = (await chat.messages()).filter(({ role }) => role === 'assistant');
      expect(said.at(-1)!.content).toMatchObject({ text: 'heard: took blue' });
    },
  );

  test('takes one answer: a repetition changes nothing, another answer and another question are refused', async () => {
    const chat = await stranded();
    const { id } = await chat.task();
    expect(await answer(id, { answer: 'blue', questionId: 'call_other' })).toMatchObject({
      status: 409,
      body: { code: 'not_asked' },
    });
    expect((await answer(id, { answer: ' ' })).status).toBe(422);
    expect((await answer(id, { answer: 'blue' })).status).toBe(200);
    expect((await answer(id, { answer: 'blue' })).status).toBe(200);
    const other = await answer(id, { answer: 'red' });
    expect(other).toMatchObject({ status: 409, body: { code: 'not_asked' } });
    expect(other.body.detail).toContain('The question was answered by');
    await chat.becomes('success');
    expect((await answer(id, { answer: 'blue' })).status).toBe(200);
    await chat.rests();
    expect(await news(chat)).toHaveLength(2);
    expect((await answer(newId(), { answer: 'blue' })).status).toBe(404);
  });

  test('of a canceled task takes no answer', async () => {
    const chat = await stranded();
    const { id } = await chat.task();
    await fixture.made(`/v1/tasks/${id}/cancel`, {});
    const late = await answer(id, { answer: 'blue' });
    expect(late).toMatchObject({ status: 409, body: { code: 'not_asked' } });
    expect(late.body.detail).toContain('The task was canceled.');
    expect(await inbox(`&sessionId=${chat.id}`)).toEqual([]);
  });

  test('is refused as a tool result and as a decision, naming the endpoint that answers it', async () => {
    const chat = await stranded();
    const { id, run_id: run } = await chat.task();
    const [{ callId }] = (await inbox(`&runId=${run}`)) as [WaitingCall];
    for (const [path, body] of [
      [`calls/${callId}/decision`, { decision: 'complete', output: 'blue' }],
      ['tool-results', { callId, result: 'blue' }],
    ] as const) {
      const refused = await fixture.ask<Problem>('POST', `/v1/runs/${run}/${path}`, body);
      expect(refused).toMatchObject({ status: 409, body: { code: 'wrong_settlement' } });
      expect(refused.body.detail).toContain('POST /v1/tasks/{taskId}/answer');
    }
    expect((await answer(id, { answer: 'blue' })).status).toBe(200);
    await chat.becomes('success');
  });

  test('is counted by the overview', async () => {
    const before = await fixture.get<{ inbox: number }>('/v1/overview');
    const chat = await stranded();
    expect((await fixture.get<{ inbox: number }>('/v1/overview')).inbox).toBe(before.inbox + 1);
    expect((await answer((await chat.task()).id, { answer: 'blue' })).status).toBe(200);
    await chat.becomes('success');
    await chat.rests();
  });

  test('answered by a process that dies right after its commit: the sub-agent continues, and the agent is notified', async () => {
    const chat = await stranded();
    const { id } = await chat.task();
    // Only the transaction: no process is notified of the queued run.
    await storeAnswer(fixture.server.db, id, { answer: 'blue', by: 'none' });
    await chat.becomes('success');
    await chat.rests();
    expect(await news(chat)).toHaveLength(2);
  });
});

test('the agent and a person answer at once: one answer counts, and the task ends once', async () => {
  for (let round = 0; round < 8; round++) {
    let start: () => void = () => {};
    const started = new Promise<void>((resolve) => (start = resolve));
    const chat: Chat = await fixture.session('boss', async (request, who) => {
      if (who === 'finder') return finder(request, who);
      const got = results(request).at(-1);
      if (got?.status === 'waiting') {
        await started;
        return calls(reply(String(got.subAgentId), 'red'));
      }
      if (lastSaid(request).startsWith('Task ')) return { text: 'heard' };
      return got ? { text: String(got.result ?? got.code) } : calls(give('finder', `Do it. ${chat.word}`));
    });
    const { run } = await chat.post();
    const { id } = await chat.becomes('waiting');
    start();
    const { status } = await answer(id, { answer: 'blue' });
    await chat.becomes('success');
    await chat.rests();
    const told = await chat.answered(run!.id);
    expect((await chat.task()).result).toBe(status === 200 ? 'took blue' : 'took red');
    // Before the question was handed up, the call of the agent keeps waiting and gets the result.
    if (status === 409) expect(told).toBe('took red');
    else expect(['not_asked', 'took blue']).toContain(told);
  }
});

test('a person answers the sub-agent of a sub-agent, which reads it in its list of tasks', async () => {
  let seen: unknown;
  const chat: Chat = await fixture.session('boss', (request, who) => {
    if (who === 'finder') return finder(request, who);
    const [got, answered] = results(request);
    if (who === 'lead') {
      if (!got) return calls(give('finder', `Find it. ${chat.word}`));
      if (!answered) return question('Shall I go on?');
      seen = tasksTold(request)[0]?.summary;
      return final('led');
    }
    return got ? { text: 'Done.' } : calls(give('lead', `Lead. ${chat.word}`));
  });
  await chat.say();
  await until(
    'both ask',
    async () => (await chat.tasks()).filter((t) => t.status === 'waiting').length === 2,
  );
  await chat.rests();
  const [lead, below] = (await chat.tasks()) as [TaskDoc, TaskDoc];
  expect((await inbox(`&sessionId=${chat.id}`)).map(({ taskId }) => taskId).toSorted()).toEqual(
    [lead.id, below.id].toSorted(),
  );
  expect((await answer(below.id, { answer: 'blue' })).status).toBe(200);
  await until('it is done', async () => (await chat.tasks())[1]!.status === 'success');
  expect((await answer(lead.id, { answer: 'yes' })).status).toBe(200);
  await until('all is done', async () => (await chat.tasks())[0]!.status === 'success');
  expect(seen).toBe('took blue');
  await chat.rests();
});

test('in a space the person answers for whom the task was created, as long as they are a member', async () => {
  let answered: unknown;
  const word = fixture.script((request, who) => {
    if (who === 'finder') return finder(request, who);
    answered ??= tasksTold(request)[0]?.answeredByPerson;
    if (results(request).length > 0 || /Task/.test(request.system)) return { text: '' };
    return calls(give('finder', `Do it. ${word}`));
  });
  const space = await fixture.made<Space>('/v1/spaces', {
    name: 'Office',
    members: [
      { user: `ada-${newId()}` },
      { user: `bea-${newId()}` },
      { agentId: fixture.agents.get('boss') },
    ],
  });
  const { data } = await fixture.get<{ data: Membership[] }>(`/v1/spaces/${space.id}/members`);
  const [ada, bea] = data.flatMap(({ type, entityId }) => (type === 'human' ? [entityId] : []));
  const say = (text: string) =>
    fixture.made(`/v1/spaces/${space.id}/messages`, { content: { text: `${text} ${word}` }, senderId: ada });
  await say('Go.');
  await until('it asks', async () => (await fixture.tasks(space.id))[0]?.status === 'waiting');
  await fixture.joined();
  const [{ id: task, project_id: project }] = (await fixture.rows(
    'select id, project_id from troupe.tasks where chat_id = $1',
    space.id,
  )) as [{ id: string; project_id: string }];
  const { db, kernel } = fixture.server;
  const as = (entityId: string) =>
    answerTask({ db, kernel }, { project, entityId }, { task, answer: 'blue', by: `user:${entityId}` });
  await expect(as(bea!)).rejects.toMatchObject({ code: 'not_found' });
  const membership = `/v1/spaces/${space.id}/members/${ada}`;
  await fixture.ask('DELETE', membership);
  await expect(as(ada!)).rejects.toMatchObject({ code: 'not_found' });
  await fixture.made(`/v1/spaces/${space.id}/members`, { entityId: ada });
  await as(ada!);
  await until('it is done', async () => (await fixture.tasks(space.id))[0]?.status === 'success');
  await until('the agent reads it', () => answered !== undefined);
  expect(answered).toEqual({ question: 'Which colour?', answer: 'blue' });
});
