import type { Event, Invoked, JsonObject, Membership, Space } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { listWaiting } from '../../src/store/queries/inbox.ts';
import { findRun } from '../../src/store/queries/runs.ts';
import { invalidDocuments } from '../sync/valid.ts';
import {
  type Chat,
  call,
  calls,
  final,
  give,
  question,
  reply,
  results,
  type Say,
  TaskFixture,
  tasksTold,
} from './fixture.ts';

// Tasks that are given elsewhere than in sessions, and who sees them.

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl') });
  await fixture.made('/v1/tools', { name: 'guarded', kind: 'echo', approval: true });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('finder', { tools: ['guarded'] });
});
afterAll(async () => {
  await fixture.joined();
  expect((await invalidDocuments(fixture.server.db.pool)).invalid).toEqual([]);
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

describe('in a space', () => {
  async function open(say: Say) {
    const word = fixture.script(say);
    const space = await fixture.made<Space>('/v1/spaces', {
      name: 'Office',
      members: [{ user: `ada-${newId()}` }, { agentId: fixture.agents.get('boss') }],
    });
    const { data } = await fixture.get<{ data: Membership[] }>(`/v1/spaces/${space.id}/members`);
    const ada = data.find(({ type }) => type === 'human')!.entityId;
    const say_ = (text: string) =>
      fixture.made(`/v1/spaces/${space.id}/messages`, {
        content: { text: `${text} ${word}` },
        senderId: ada,
      });
    const said = async () => {
      const { data: all } = await fixture.get<{ data: { role: string; content: { text: string } }[] }>(
        `/v1/spaces/${space.id}/messages?limit=100`,
      );
      return all.filter(({ role }) => role === 'assistant').map(({ content }) => content.text);
    };
    return { id: space.id, ada, word, say: say_, said, tasks: () => fixture.tasks(space.id) };
  }
  const speak = (text: string) => call('send_message', { text });

  test('a task, a question asked in the space, the answer, the result', async () => {
    const space = await open((request, who) => {
      const got = results(request).filter((one) => one.success === undefined);
      const spoke = results(request).length > got.length;
      if (who === 'finder') return got.length === 0 ? question('Which?') : final(`took ${got[0]!.answer}`);
      if (spoke) return { text: '' };
      if (got[0]?.status === 'waiting') return calls(speak(`They ask: ${got[0].question}`));
      if (got[0]) return calls(speak(`Result: ${got[0].result}`));
      const waiting = tasksTold(request).find(({ status }) => status === 'waiting');
      return calls(
        waiting ? reply(String(waiting.subAgentId), 'blue') : give('finder', `Do it. ${space.word}`),
      );
    });
    await space.say('Please do it.');
    await until('it is asked', async () => (await space.said()).join() === 'They ask: Which?');
    expect(await space.tasks()).toMatchObject([
      { status: 'waiting', user_id: space.ada, chat_id: space.id, depth: 1 },
    ]);
    await space.say('blue');
    await until('it is told', async () => (await space.said()).at(-1) === 'Result: took blue');
    expect(await space.tasks()).toMatchObject([{ status: 'success', result: 'took blue' }]);
    await fixture.joined();
    const { data } = await fixture.get<{ data: Event[] }>(
      `/v1/spaces/${space.id}/events?types=task.created,task.updated&limit=100`,
    );
    expect(data.map(({ data: told }) => told.status)).toEqual([
      'pending',
      'running',
      'waiting',
      'running',
      'success',
    ]);
  });

  test('in the background: a question and the end each start one run of the agent that gave it, and of nobody else', async () => {
    const space = await open((request, who) => {
      if (who === 'finder') return results(request).length === 0 ? question('Sure?') : final('found it');
      const told = /"text":"(Task[^"]*)"/.exec(request.system)?.[1];
      const got = results(request);
      if (told?.includes('waits for an answer')) {
        const [asking] = tasksTold(request);
        return got.length === 0 ? calls(reply(String(asking!.subAgentId), 'yes')) : { text: '' };
      }
      if (told)
        return got.length === 0
          ? calls(call('enter_space', { spaceId: space.id }), speak(`Told: ${told.slice(-8)}`))
          : { text: '' };
      return got.length === 0
        ? calls(give('finder', `Do it. ${space.word}`, { background: true }))
        : { text: '' };
    });
    await space.say('Please do it.');
    await until('it is told', async () => (await space.said()).join() === 'Told: found it');
    const runs = await fixture.rows(
      `select r.trigger_type from troupe.runs r where r.trigger->'payload'->>'spaceId' = $1 or r.space_id = $1::uuid order by r.created_at`,
      space.id,
    );
    expect(runs.map(({ trigger_type }) => trigger_type)).toEqual(['space_message', 'service', 'service']);
  });
});

test('an agent does not speak to the sub-agents of another one in the same space', async () => {
  await fixture.agent('rival', { delegates: {} });
  let asking = '';
  let got: JsonObject[] = [];
  const word = fixture.script((request, who) => {
    if (who === 'finder') return question('Which?');
    if (results(request).length > 0) {
      if (who === 'rival') got = results(request);
      return { text: '' };
    }
    if (who === 'boss') return asking === '' ? calls(give('finder', `ask ${word}`)) : { text: '' };
    expect(tasksTold(request)).toEqual([]);
    return asking === ''
      ? { text: '' }
      : calls(reply(asking, 'mine'), call('reactivate_agent', { subAgentId: asking, instruction: 'go' }));
  });
  const space = await fixture.made<Space>('/v1/spaces', {
    name: 'Court',
    members: [
      { user: `kim-${newId()}` },
      { agentId: fixture.agents.get('boss') },
      { agentId: fixture.agents.get('rival') },
    ],
  });
  const { data } = await fixture.get<{ data: Membership[] }>(`/v1/spaces/${space.id}/members`);
  const senderId = data.find(({ type }) => type === 'human')!.entityId;
  const say = () =>
    fixture.made(`/v1/spaces/${space.id}/messages`, { content: { text: `Go. ${word}` }, senderId });
  await say();
  await until('it asks', async () => (await fixture.tasks(space.id))[0]?.status === 'waiting');
  await fixture.joined();
  asking = (await fixture.tasks(space.id))[0]!.sub_agent_id!;
  await say();
  await until('it was tried', async () => got.length === 2);
  expect(got.map(({ code }) => code)).toEqual(['sub_agent_not_found', 'sub_agent_not_found']);
  expect((await fixture.tasks(space.id)).map(({ status }) => status)).toEqual(['waiting']);
});

test('with a space goes all that was given in it, and nobody is told', async () => {
  const gate = Promise.withResolvers<void>();
  const word = fixture.script(async (request, who) => {
    const got = results(request);
    if (who === 'finder') {
      if (request.messages.some((one) => 'text' in one && one.text.startsWith('ask')))
        return question('Which?');
      await gate.promise;
      return final('x');
    }
    return got.length > 0 || request.system.includes('"text":"Task')
      ? { text: '' }
      : calls(
          give('finder', `ask ${word}`),
          give('finder', `do ${word}`, { background: true }),
          give('finder', `ask ${word}`, { background: true }),
        );
  });
  const space = await fixture.made<Space>('/v1/spaces', {
    name: 'Hut',
    members: [{ user: `eve-${newId()}` }, { agentId: fixture.agents.get('boss') }],
  });
  const { data } = await fixture.get<{ data: Membership[] }>(`/v1/spaces/${space.id}/members`);
  const senderId = data.find(({ type }) => type === 'human')!.entityId;
  await fixture.made(`/v1/spaces/${space.id}/messages`, { content: { text: `Do it. ${word}` }, senderId });
  await until('all are at work', async () => {
    const tasks = await fixture.tasks(space.id);
    return (
      tasks
        .map(({ status }) => status)
        .sort()
        .join() === 'running,waiting,waiting'
    );
  });
  const ids = (await fixture.tasks(space.id)).map(({ id }) => id);
  const threads = await fixture.rows<{ thread_id: string }>(
    'select thread_id from troupe.sub_agents where task_id = any($1)',
    ids,
  );
  const told = () =>
    fixture.rows(
      `select from troupe.runs where trigger->>'serviceName' = 'task' and trigger->>'taskId' = any($1)`,
      ids,
    );
  await fixture.joined();
  const before = (await told()).length;
  expect((await fixture.ask('DELETE', `/v1/spaces/${space.id}`)).status).toBe(204);
  await fixture.joined();
  expect(await fixture.tasks(space.id)).toEqual([]);
  const left = await fixture.rows(
    `select id from troupe.threads where id = any($1) union all select id from troupe.runs where task_id = any($2)
      union all select id from troupe.messages where thread_id = any($1)`,
    threads.map(({ thread_id }) => thread_id),
    ids,
  );
  expect(left).toEqual([]);
  expect((await told()).length).toBe(before);
  gate.resolve();
});

describe('in a network', () => {
  const invoke = async (say: Say) => {
    const word = fixture.script(say);
    return {
      word,
      run: () =>
        fixture.made<Invoked & { response?: JsonObject }>('/v1/networks/desk/invoke', {
          input: word,
          mode: 'wait',
          timeoutMs: 20_000,
        }),
    };
  };
  beforeAll(async () => {
    const put = await fixture.ask('PUT', '/v1/networks/desk/definition', {
      name: 'desk',
      agents: [
        {
          key: 'first',
          isDefault: true,
          agentId: fixture.agents.get('boss'),
          prompt: 'I am first.',
          allowRespond: true,
          routes: ['second'],
        },
        { key: 'second', prompt: 'I am second.', allowRespond: true },
      ],
    });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    await fixture.made('/v1/networks/desk/publish', {});
  });

  test('an agent that carries delegation gives tasks and answers questions; others do not; nothing goes on behind it', async () => {
    const seen = new Map<string, string[]>();
    const { run, word } = await invoke((request, who) => {
      seen.set(who, request.tools.map(({ name }) => name).sort());
      const got = results(request);
      if (who === 'finder') {
        if (!request.messages.some((one) => 'text' in one && one.text.startsWith('ask')))
          return final('found');
        return got.length === 0 ? question('Which?') : final(String(got[0]!.answer));
      }
      if (who === 'second') return calls(call('respond', { payload: 'done' }));
      if (got.length === 0)
        return calls(
          give('finder', `do ${word}`),
          give('finder', `ask ${word}`),
          give('finder', `ask too ${word}`),
          give('finder', `x ${word}`, { background: true }),
        );
      if (got.length === 4) {
        expect(tasksTold(request)).toMatchObject([
          { status: 'waiting', question: 'Which?' },
          { status: 'waiting', question: 'Which?' },
          { status: 'success' },
        ]);
        expect(got.map((one) => one.result ?? one.question ?? one.code)).toEqual([
          'found',
          'Which?',
          'Which?',
          'no_background',
        ]);
        return calls(reply(String(got[1]!.subAgentId), 'this one'));
      }
      expect(got[4]!.result).toBe('this one');
      return calls(call('route_to_agent', { agent: 'second' }));
    });
    const invoked = await run();
    expect(invoked).toMatchObject({ status: 'completed' });
    expect(seen.get('first')).toEqual([
      'create_agent',
      'reactivate_agent',
      'reply_to_agent',
      'respond',
      'route_to_agent',
    ]);
    expect(seen.get('second')).toEqual(['respond']);
    await until('nothing goes on', async () =>
      (await fixture.tasks(invoked.id)).every(({ status }) => ['success', 'canceled'].includes(status)),
    );
    expect((await fixture.tasks(invoked.id)).map(({ status, user_id }) => [status, user_id]).sort()).toEqual([
      ['canceled', null],
      ['success', null],
      ['success', null],
    ]);
  });
});

test('a person decides about calls of sub-agents that work for them, and nobody else does', async () => {
  const chat: Chat = await fixture.session('boss', (request, who) => {
    const got = results(request);
    if (who === 'finder') return got.length === 0 ? calls(call('guarded', { a: 1 })) : final('allowed');
    return got[0] ? { text: String(got[0].result) } : calls(give('finder', `Do it. ${chat.word}`));
  });
  const { run } = await chat.post();
  const { run_id, user_id } = await chat.becomes('running');
  const [{ project_id: project }] = (await fixture.rows(
    'select project_id from troupe.tasks where run_id = $1',
    run_id,
  )) as [{ project_id: string }];
  const waiting = (entityId: string) =>
    listWaiting(fixture.server.db, { project, entityId }, { waitsFor: ['approval'], after: null, limit: 10 });
  await until('it waits', async () => (await waiting(user_id!)).length === 1);
  const [stranger] = (await fixture.rows(
    `select id from troupe.entities where id <> $1 limit 1`,
    user_id,
  )) as [{ id: string }];
  expect(await waiting(stranger.id)).toEqual([]);
  expect(await findRun(fixture.server.db, { project, entityId: stranger.id }, run_id)).toBeNull();
  expect(await findRun(fixture.server.db, { project, entityId: user_id }, run_id)).toMatchObject({
    id: run_id,
  });
  const { callId } = (await waiting(user_id!))[0]!;
  const inbox = await fixture.get<{ data: { argumentsHash: string }[] }>(`/v1/inbox?runId=${run_id}`);
  const { argumentsHash } = inbox.data[0]!;
  expect(
    (
      await fixture.ask('POST', `/v1/runs/${run_id}/calls/${callId}/decision`, {
        decision: 'approve',
        argumentsHash,
      })
    ).status,
  ).toBe(200);
  expect(await chat.answered(run!.id)).toBe('allowed');
});
