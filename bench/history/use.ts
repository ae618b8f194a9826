import { allEndpoints } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { silentLogger } from '@troupe/server';
import { type TestServer, until } from '@troupe/testing';
import { houseTasks } from '../../packages/server/src/jobs/housekeeping.ts';
import { readLoad } from '../../packages/server/src/store/index.ts';
import type { TemplateIds } from './template.ts';

/** Does once what a server does all the time: reads of every kind, turns at every door, sweeps and purges. */
export async function use(troupe: Troupe, server: TestServer, ids: TemplateIds): Promise<void> {
  await readEverything(server.url, ids);
  await work(troupe, server, ids);
  for (const task of Object.values(houseTasks()))
    await task(null, { db: server.db, logger: silentLogger } as never);
  await readLoad(server.db);
}

/** Query parameters that select among history. Each is tried by itself. */
function queriesFor(names: string[], ids: TemplateIds): Record<string, string>[] {
  const values: Record<string, string[]> = {
    limit: ['20'],
    search: ['zebra'],
    tag: ['weather'],
    user: ['ada'],
    status: ['completed', 'failed', 'waiting', 'running', 'queued', 'pending', 'active', 'dead'],
    door: ['session', 'space', 'network', 'task'],
    triggerType: ['message'],
    since: [new Date(Date.now() - 3_600_000).toISOString()],
    agentId: [ids.agentId],
    sessionId: [ids.sessionId],
    spaceId: [ids.spaceId],
    networkId: [ids.networkId],
    entityId: [ids.entityId],
    runId: [ids.runId],
    parentRunId: [ids.runId],
    task: [ids.taskId],
    chat: [ids.sessionId],
    trigger: [ids.trigger],
    document: [ids.runId],
    externalId: ['ada'],
    action: ['agent.create'],
    type: ['human', 'agent'],
    by: ['agent', 'model'],
    waitsFor: ['approval'],
  };
  return [{}, ...names.flatMap((name) => (values[name] ?? []).map((value) => ({ [name]: value })))];
}

async function readEverything(url: string, ids: TemplateIds): Promise<void> {
  const known: Record<string, string> = { ...ids, version: '1', step: '1' };
  for (const { method, path, query } of allEndpoints()) {
    if (method !== 'GET' || path.endsWith('/stream') || path === '/v1/changes') continue;
    const collections = path.includes('{collection}')
      ? [
          'sessions',
          'messages',
          'runs',
          'tasks',
          'sub_agents',
          'sub_agent_messages',
          'sub_agent_tool_calls',
          'spaces',
          'memberships',
        ]
      : [''];
    for (const collection of collections) {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        name === 'collection' ? collection : (known[name] ?? 'none'),
      );
      for (const values of queriesFor(Object.keys(query?.shape ?? {}), ids))
        await (await fetch(`${url}${filled}?${new URLSearchParams(values)}`)).arrayBuffer();
    }
  }
  await (await fetch(`${url}/metrics`)).arrayBuffer();
}

async function work(troupe: Troupe, server: TestServer, ids: TemplateIds): Promise<void> {
  const session = await troupe.open(ids.agentId, { user: 'ada' });
  await server.kernel.ended((await session.send('And now?')).run!.id);
  const posted = await troupe.spaces.post({
    params: { spaceId: ids.spaceId },
    body: { content: { text: 'Still here?' }, user: 'ada' } as never,
  });
  for (const { id } of posted.runs) await server.kernel.ended(id);
  await server.kernel.ended((await troupe.network('office').invoke({ input: 'Add it up.' })).id);
  const { data } = await troupe.agents.list({ query: { search: 'giver' } });
  await server.kernel.ended(
    (await (await troupe.open(data[0]!.id, { user: 'ada' })).send('Find it.')).run!.id,
  );
  await until('the delivery ended', async () => {
    const open = await troupe.triggers.deliveries({ query: { status: 'pending' } });
    return open.data.length === 0;
  });
}
