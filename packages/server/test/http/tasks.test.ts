import type { Run, SubAgent, SubAgentMessage, SubAgentToolCall, Task } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { buildStart, type KernelFixture, openKernel, until } from '@troupe/testing';
import type { Hono } from 'hono';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { TroupeError } from '../../src/base/errors.ts';
import type { Services } from '../../src/http/index.ts';
import { inside } from '../access/fixture.ts';
import { openHttpSide } from '../http-side.ts';

// How tasks and sub-agents are told of. How they come to be is tested with their door.

let fixture: KernelFixture;
let services: Services;
let app: Hono;
let key: string;

beforeAll(async () => {
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    script: ({ step }) =>
      step === 1
        ? {
            text: 'I look.',
            calls: [
              { name: 'look', arguments: { at: 'sky' } },
              { name: 'look', arguments: { at: 'sea' } },
              { name: 'fall', arguments: {} },
            ],
          }
        : step === 2
          ? { calls: [{ name: 'wait', arguments: { for: 'tea' } }] }
          : { text: 'Blue.' },
    tools: {
      look: async (args) => ({ seen: args }),
      fall: async () => {
        throw new TroupeError('fallen', 'It fell.');
      },
    },
  });
  ({ services, app } = await openHttpSide(fixture));
  const made = { name: 'k', kind: 'secret' as const, scopes: [], expiresAt: null };
  ({ key } = await services.access.keys.create(inside(fixture.ids.project), made));
});

afterAll(() => fixture.close());

async function get<Body>(path: string, status = 200): Promise<Body> {
  const response = await app.request(`/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  expect([path, response.status, text]).toEqual([path, status, text]);
  return JSON.parse(text) as Body;
}

interface Given {
  chat: string;
  user: string;
  parent?: string;
}

/** A task whose sub-agent has looked around, and waits for tea. */
async function give({ chat, user, parent }: Given) {
  const { pool } = fixture.db;
  const snapshot = await fixture.snapshot({
    tools: [
      ...['look', 'fall'].map((name) => ({ name, provider: 'code' as const, effect: 'idempotent' as const })),
      { name: 'wait', provider: 'code', effect: 'once', waitsFor: 'client' },
    ],
  });
  const item = buildStart(fixture.ids, snapshot, 'What colour is it?');
  const [task, subAgent] = [newId(), newId()];
  await fixture.kernel.start(item);
  await pool.query(
    `insert into troupe.tasks (id, project_id, user_id, chat_id, type, name, instruction, sub_agent_id, depth,
        parent_task_id, parent_run_id, parent_call_id, run_id)
      values ($1, $2, $3, $4, 'agent', 'agent:painter', 'What colour is it?', $5, $6, $7, $8, 'c', $9)`,
    [task, fixture.ids.project, user, chat, subAgent, parent ? 2 : 1, parent ?? null, newId(), item.run.id],
  );
  await pool.query(
    `insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id)
      values ($1, $2, $3, $4, $5, $6, 'painter', $7)`,
    [subAgent, fixture.ids.project, user, chat, task, fixture.ids.agent, item.thread],
  );
  await pool.query('update troupe.runs set task_id = $2 where id = $1', [item.run.id, task]);
  await until('it waits for tea', async () => (await fixture.row(item.run.id)).status === 'waiting_tool');
  const asks = `update troupe.tasks set status = 'waiting', question = 'Of what?', error = '{"code": "e", "message": "Earlier."}' where id = $1`;
  await pool.query(asks, [task]);
  return {
    task,
    subAgent,
    run: item.run.id,
    call: (await fixture.calls(item.run.id)).at(-1)!.call_id as string,
  };
}

const settle = async (run: string, call: string) => {
  await fixture.kernel.settle(run, call, { status: 'completed', output: 'tea' });
  await fixture.kernel.ended(run);
};

it('lists them by chat, status and parent, page by page, and tells of each', async () => {
  const [chat, user] = [newId(), fixture.ids.entity];
  const first = await give({ chat, user });
  const second = await give({ chat, user, parent: first.task });
  const elsewhere = await give({ chat: newId(), user });
  const ids = async (query: string) =>
    (await get<{ data: Task[] }>(`/tasks?${query}`)).data.map(({ id }) => id);
  expect(await ids(`chat=${chat}`)).toEqual([second.task, first.task]);
  expect(await ids(`parent=${first.task}`)).toEqual([second.task]);
  expect(await ids(`parent=${first.task}&chat=${newId()}`)).toEqual([]);
  expect(await ids('status=waiting&type=agent')).toEqual([elsewhere.task, second.task, first.task]);
  expect(await ids('status=success')).toEqual([]);
  expect(await ids('type=tool')).toEqual([]);
  const page = await get<{ nextCursor: string }>(`/tasks?chat=${chat}&limit=1`);
  expect(await ids(`chat=${chat}&limit=1&cursor=${page.nextCursor}`)).toEqual([first.task]);

  expect(await get<Task>(`/tasks/${second.task}`)).toMatchObject({
    ...{ userId: user, chatId: chat, type: 'agent', name: 'agent:painter', subAgentId: second.subAgent },
    ...{ status: 'waiting', question: 'Of what?', error: 'Earlier.', code: 'e', result: null },
    ...{ depth: 2, parentTaskId: first.task, runId: second.run, background: false },
  });
  await get(`/tasks/${newId()}`, 404);
  await get('/tasks?status=late', 422);

  const agents = async (query: string) =>
    (await get<{ data: SubAgent[] }>(`/sub-agents?${query}`)).data.map(({ id }) => id);
  expect(await agents(`chat=${chat}`)).toEqual([second.subAgent, first.subAgent]);
  expect(await agents(`task=${first.task}&status=active`)).toEqual([first.subAgent]);
  expect(await agents(`task=${first.task}&status=failed`)).toEqual([]);
  expect((await get<{ data: Run[] }>(`/runs?task=${first.task}`)).data).toMatchObject([
    { id: first.run, taskId: first.task },
  ]);
  expect((await get<{ data: Run[] }>(`/runs?task=${first.task}&parentRunId=${first.run}`)).data).toEqual([]);
});

it('counts the model calls of the run at work, and of those that are over', async () => {
  const { subAgent, task, run, call } = await give({ chat: newId(), user: newId() });
  const count = async () => (await get<SubAgent>(`/sub-agents/${subAgent}`)).iterationCount;
  expect(await count()).toBe(2);
  await settle(run, call);
  expect(await count()).toBe(3);
  const { data } = await get<{ data: SubAgent[] }>(`/sub-agents?task=${task}`);
  expect(data).toMatchObject([{ role: 'painter', status: 'completed', iterationCount: 3, summary: 'Blue.' }]);
});

it('shows what was said within as models are given it, and the calls, page by page', async () => {
  const { subAgent, run, call } = await give({ chat: newId(), user: newId() });
  const at = `/sub-agents/${subAgent}`;
  const statuses = (calls: { data: SubAgentToolCall[] }) => calls.data.map(({ status }) => status);
  expect(statuses(await get(`${at}/tool-calls`))).toEqual(['success', 'success', 'failed', 'pending']);
  await settle(run, call);

  const { data: messages } = await get<{ data: SubAgentMessage[] }>(`${at}/messages`);
  expect(messages.map(({ role }) => role)).toEqual(
    expect.arrayContaining(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant', 'tool', 'assistant']),
  );
  expect(messages).toHaveLength(8);
  const { data: calls } = await get<{ data: SubAgentToolCall[] }>(`${at}/tool-calls`);
  expect(messages[0]).toMatchObject({ role: 'user', content: 'What colour is it?', subAgentId: subAgent });
  expect(messages[1]).toMatchObject({
    role: 'assistant',
    content: 'I look.',
    toolCalls: calls.slice(0, 3).map(({ id, toolName, args }) => ({
      id,
      type: 'function',
      function: { name: toolName, arguments: JSON.stringify(args) },
    })),
  });
  const results = messages.filter(({ role }) => role === 'tool');
  for (const { toolCallId, name, content } of results) {
    const { toolName, result, error } = calls.find(({ id }) => id === toolCallId)!;
    expect(name).toBe(toolName);
    expect(content).toBe(result ?? error);
  }
  expect(calls.map(({ toolName, status, result, error }) => [toolName, status, result ?? error])).toEqual([
    ['look', 'success', '{"seen":{"at":"sky"}}'],
    ['look', 'success', '{"seen":{"at":"sea"}}'],
    ['fall', 'failed', 'It fell.'],
    ['wait', 'success', 'tea'],
  ]);
  expect(calls.at(-1)).toMatchObject({ runId: run, callId: call, step: 2 });
  expect(messages.at(-1)).toEqual({
    ...{ id: messages.at(-1)!.id, userId: messages[0]!.userId, subAgentId: subAgent },
    ...{ role: 'assistant', content: 'Blue.', createdAt: expect.any(String) },
  });

  for (const [list, all] of [['messages', messages] as const, ['tool-calls', calls] as const]) {
    const seen: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `limit=3${cursor && `&cursor=${cursor}`}`;
      const page: { data: unknown[]; nextCursor: string | null } = await get(`${at}/${list}?${query}`);
      seen.push(...page.data);
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(all);
    await get(`${at}/${list}?cursor=nonsense`, 422);
    await get(`/sub-agents/${newId()}/${list}`, 404);
  }
});
