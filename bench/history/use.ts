import { allEndpoints } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { silentLogger } from '@troupe/server';
import { type TestServer, until } from '@troupe/testing';
import { houseTasks } from '../../packages/server/src/jobs/housekeeping.ts';
import { expireUnclaimed, lookForWatchers, readLoad, sweep } from '../../packages/server/src/store/index.ts';
import type { TemplateIds } from './template.ts';

/** Does once what a server does all the time: reads of every kind, turns at every door, sweeps and purges. */
export async function use(troupe: Troupe, server: TestServer, ids: TemplateIds): Promise<void> {
  await readEverything(server.url, [ids, await rareIds(troupe)]);
  await work(troupe, server, ids);
  await sweep(server.db, 100);
  await expireUnclaimed(server.db, [], 100);
  await lookForWatchers(server.db, await horizon(server), [(await troupe.access.getProject()).id]);
  for (const task of Object.values(houseTasks()))
    await task(null, { db: server.db, logger: silentLogger, signal: AbortSignal.timeout(600_000) } as never);
  await readLoad(server.db);
}

/** Objects without history: a filter by one of them finds nothing, however much there is of others. */
async function rareIds(troupe: Troupe): Promise<Partial<TemplateIds>> {
  const name = `rare ${crypto.randomUUID()}`;
  const { id: agentId } = await troupe.agents.create({ body: { name, systemPrompt: '' } as never });
  const { id: spaceId } = await troupe.spaces.create({
    body: { name, members: [{ user: name }, { agentId }] } as never,
  });
  const session = await troupe.open(agentId, { user: name });
  const { data } = await troupe.entities.list({ query: { externalId: name } } as never);
  return { agentId, spaceId, sessionId: session.id, entityId: data[0]!.id };
}

async function horizon({ db }: TestServer): Promise<number> {
  const { rows } = await db.pool.query('select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xid');
  return rows[0].xid;
}

/** Query parameters that select among history. Each is tried by itself. */
function queriesFor(names: string[], ids: Partial<TemplateIds>): Record<string, string>[] {
  const values: Record<string, (string | undefined)[]> = {
    limit: ['20'],
    search: ['zebra'],
    tag: ['weather', 'rare'],
    user: ['ada', 'nobody'],
    status: ['completed', 'failed', 'waiting', 'running', 'queued', 'pending', 'active', 'dead'],
    door: ['session', 'space', 'network', 'task'],
    triggerType: ['message', 'plan', 'task'],
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
    externalId: ['ada', 'nobody'],
    action: ['agent.create'],
    type: ['human', 'agent'],
    by: ['agent', 'model'],
    waitsFor: ['approval'],
  };
  const given = names.flatMap((name) => (values[name] ?? []).map((value) => ({ [name]: value })));
  return [{}, ...given.filter((query) => Object.values(query)[0] !== undefined)] as Record<string, string>[];
}

async function readEverything(
  url: string,
  [common, rare]: [TemplateIds, Partial<TemplateIds>],
): Promise<void> {
  const known: Record<string, string> = { ...common, version: '1', step: '1' };
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
      const names = Object.keys(query?.shape ?? {});
      for (const values of [...queriesFor(names, common), ...queriesFor(names, rare)])
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
