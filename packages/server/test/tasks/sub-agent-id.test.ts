import type { Event, Session, Task } from '@troupe/protocol';
import { openServer, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';

test('004: subAgentId is populated when the sub-agent starts', async () => {
  const postgresUrl = inject('postgresUrl');
  // No worker runs, so the task stays pending.
  const serving = await openServer({ postgresUrl, works: false });
  const ask = async <Body>(path: string, body?: object): Promise<Body> => {
    const sent = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const response = await fetch(`${serving.url}/v1${path}`, body ? sent : {});
    expect(response.status, path).toBeLessThan(300);
    return (await response.json()) as Body;
  };
  // A pull returns changes before the oldest open transaction, which may belong to another test.
  const pulled = (status: string) =>
    until('the document is there', async () => {
      const { documents } = await ask<{ documents: Partial<Task>[] }>('/sync/tasks/pull');
      return documents.find((one) => one.status === status);
    });
  const { id: agentId } = await ask<{ id: string }>('/agents', { name: 'boss' });
  const { id: chat } = await ask<Session>(`/agents/${agentId}/sessions`, {});
  const created = await ask<Task>('/tasks', { chat, type: 'agent', name: 'boss', instruction: 'Do it.' });
  expect(created).toMatchObject({ status: 'pending', subAgentId: null });
  expect(await pulled('pending')).not.toHaveProperty('subAgentId');
  const { data } = await ask<{ data: { id: string }[] }>(`/sub-agents?task=${created.id}`);
  const working = await openServer({
    postgresUrl,
    databaseUrl: serving.databaseUrl,
    script: () => ({ text: 'Done.' }),
  });
  const task = await until('it is done', async () => {
    const now = await ask<Task>(`/tasks/${created.id}`);
    return now.status === 'success' ? now : null;
  });
  expect(task.subAgentId).toBe(data[0]!.id);
  expect(await pulled('success')).toMatchObject({ subAgentId: data[0]!.id });
  const events = async () => {
    const path = `/agents/${agentId}/sessions/${chat}/events?types=task.created,task.updated`;
    return (await ask<{ data: Event[] }>(path)).data.map(({ data: told }) => [told.status, told.subAgentId]);
  };
  await until('all events are stored', async () => (await events()).length === 3);
  expect(await events()).toEqual([
    ['pending', undefined],
    ['running', data[0]!.id],
    ['success', data[0]!.id],
  ]);
  await working.close();
  await serving.close();
});
