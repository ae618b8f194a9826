import {
  type AgentPreview,
  type AgentSnapshot,
  agentDefinition,
  snapshotLimits,
  snapshotTool,
} from '@troupe/protocol';
import { newId } from '@troupe/server';
import { createTools } from '@troupe/server/parts';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { allOf, checkCarried, checkTools } from '../../src/definitions/agents/agent-capabilities.ts';
import { compileAgent } from '../../src/definitions/agents/compile.ts';
import { snapshotFor } from '../../src/definitions/agents/index.ts';
import { type CapabilityEntry, findCapability } from '../../src/definitions/capabilities/index.ts';
import { loadSnapshots } from '../../src/store/queries/snapshots.ts';
import { AgentsFixture } from './fixture.ts';

let fixture: AgentsFixture;
beforeAll(async () => {
  fixture = await AgentsFixture.open(inject('postgresUrl'));
});
afterAll(() => fixture.close());

const DEMO = { provider: 'demo', model: 'demo', maxOutputTokens: 4096, inputPrice: 0, outputPrice: 0 };

function entry(id: string, fields: Partial<CapabilityEntry> = {}): CapabilityEntry {
  const shown = { name: id, description: id, icon: null, category: null };
  return { id, ...shown, status: 'available', prompt: '', tools: [], config: z.strictObject({}), ...fields };
}

const tool = (name: string) => snapshotTool.parse({ name, provider: 'builtin' });

test('prompts stand in order before the agent’s own, tools in order, limits over the platform’s', () => {
  const definition = agentDefinition.parse({
    name: 'a',
    systemPrompt: 'Own.',
    limits: { steps: 2 },
    inDoubt: 'wait',
  });
  const carried = [
    entry('x', { prompt: 'From x.', tools: [tool('x1'), tool('x2')] }),
    entry('silent'),
    entry('y', { prompt: 'From y.', tools: [tool('y1')] }),
  ];
  const compile = (entries: CapabilityEntry[]) =>
    compileAgent(definition, {
      capabilities: entries.map((found) => ({ entry: found, config: {} })),
      tools: [],
      models: [DEMO],
      summariser: null,
    });
  const snapshot = compile(carried);
  expect(snapshot).toMatchObject({
    kind: 'agent',
    name: 'a',
    prompt: 'From x.\n\n---\n\nFrom y.\n\n---\n\nOwn.',
    models: [DEMO],
    limits: { ...snapshotLimits.parse({}), steps: 2 },
    inDoubt: 'wait',
  });
  expect(snapshot.tools.map(({ name }) => name)).toEqual(['x1', 'x2', 'y1']);
  expect(compile([entry('silent')]).prompt).toBe('Own.');
});

test('two capabilities with a tool of one name are refused; a deprecated one stays and is not added', () => {
  const known = new Map(
    [
      entry('x', { tools: [tool('same')] }),
      entry('y', { tools: [tool('same')] }),
      entry('old', { status: 'deprecated' }),
      entry('soon', { status: 'coming_soon' }),
    ].map((one) => [one.id, one]),
  );
  const find = (id: string) => known.get(id);
  const carry = (...ids: string[]) => ids.map((id) => ({ id, config: {} }));
  expect(() => checkTools(allOf(carry('x', 'y'), find), [])).toThrow(
    expect.objectContaining({ code: 'tool_taken' }),
  );
  expect(() => checkCarried(carry('x', 'old'), carry('old'), find)).not.toThrow();
  for (const before of [[], carry('x')]) {
    expect(() => checkCarried(carry('x', 'old'), before, find)).toThrow(
      expect.objectContaining({ code: 'capability_unavailable', message: expect.stringContaining('"old"') }),
    );
  }
  expect(() => checkCarried(carry('soon'), carry('soon'), find)).toThrow(
    expect.objectContaining({ code: 'capability_unavailable' }),
  );
});

test('what a capability builds on comes before it, once, and with what the agent set for it', () => {
  const known = new Map(
    [
      entry('a', { tools: [tool('same')] }),
      entry('b', { includes: ['a'] }),
      entry('c', { includes: ['b', 'a'] }),
    ].map((one) => [one.id, one]),
  );
  const find = (id: string) => known.get(id);
  const ids = (...given: string[]) =>
    allOf(
      given.map((id) => ({ id, config: { by: id } })),
      find,
    ).map(({ entry: { id }, config }) => [id, config]);
  expect(ids('c')).toEqual([
    ['a', {}],
    ['b', {}],
    ['c', { by: 'c' }],
  ]);
  expect(ids('c', 'a')).toEqual([
    ['a', { by: 'a' }],
    ['b', {}],
    ['c', { by: 'c' }],
  ]);
  expect(ids('a', 'b')).toEqual([
    ['a', { by: 'a' }],
    ['b', { by: 'b' }],
  ]);
});

async function compiled(
  agentId: string,
  modelIds: (string | null | undefined)[] = [],
): Promise<AgentSnapshot> {
  const { snapshotId } = await snapshotFor(fixture.db, { project: fixture.here.project, agentId, modelIds });
  const [found] = await loadSnapshots(fixture.db, [snapshotId]);
  return found!.compiled;
}

const modelsOf = async (...args: Parameters<typeof compiled>) =>
  (await compiled(...args)).models.map(({ model }) => model);

test('the model is that of the message, else of the session, the agent, the project, the default, else the demo', async () => {
  const [message, session, own, project, marked, fallback] = await Promise.all(
    ['message', 'session', 'own', 'project', 'marked', 'fallback'].map((modelId) =>
      fixture.createModel({ modelId, inputPrice: 2.5, outputPrice: 10, maxOutputTokens: 777 }),
    ),
  );
  const agent = await fixture.createAgent({ name: 'chooser' });
  expect((await compiled(agent.id)).models).toEqual([DEMO]);
  await fixture.send('PATCH', `/v1/models/${marked!.id}`, { body: { isDefault: true } });
  expect(await modelsOf(agent.id)).toEqual(['marked']);
  await fixture.db.rows
    .updateTable('projects')
    .set({ default_model_id: project!.id })
    .where('id', '=', fixture.here.project)
    .execute();
  expect(await modelsOf(agent.id)).toEqual(['project']);
  await fixture.patchAgent(agent.id, { defaultModelId: own!.id, fallbackModelIds: [fallback!.id, own!.id] });
  expect(await modelsOf(agent.id)).toEqual(['own', 'fallback']);
  expect(await modelsOf(agent.id, [null, session!.id])).toEqual(['session', 'fallback', 'own']);
  expect(await modelsOf(agent.id, [message!.id.toUpperCase(), session!.id])).toEqual([
    'message',
    'fallback',
    'own',
  ]);
  expect(await modelsOf(agent.id, [undefined, null])).toEqual(['own', 'fallback']);
  expect((await compiled(agent.id)).models[0]).toEqual({
    provider: own!.providerId,
    model: 'own',
    maxOutputTokens: 777,
    inputPrice: 2.5,
    outputPrice: 10,
    cacheReadPrice: 1.25,
  });

  // What was chosen and cannot be used is a refusal, not another model; a fallback is left out.
  const refused = (modelIds: (string | null)[]) =>
    expect(
      snapshotFor(fixture.db, { project: fixture.here.project, agentId: agent.id, modelIds }),
    ).rejects.toMatchObject({ code: 'model_not_found', kind: 'invalid' });
  await refused([newId(), session!.id]);
  await refused(['nonsense']);
  await refused([(await fixture.createModel({}, fixture.there)).id]);
  await fixture.send('PATCH', `/v1/models/${fallback!.id}`, { body: { status: 'disabled' } });
  expect(await modelsOf(agent.id)).toEqual(['own']);
  await fixture.send('PATCH', `/v1/models/${message!.id}`, { body: { status: 'disabled' } });
  await refused([message!.id, null]);
  await fixture.send('PATCH', `/v1/providers/${own!.providerId}`, { body: { status: 'disabled' } });
  await refused([]);
  const preview = await fixture.send('GET', `/v1/agents/${agent.id}/preview`);
  expect([preview.status, preview.body.code]).toEqual([422, 'model_not_found']);
  // It can still be edited, as long as it is not given a model that is disabled.
  expect((await fixture.patchAgent(agent.id, { systemPrompt: 'new' })).defaultModelId).toBe(own!.id);
  const given = await fixture.send('POST', '/v1/agents', { body: { name: 'late', defaultModelId: own!.id } });
  expect(given.body.code).toBe('model_not_found');
  await fixture.db.rows.updateTable('projects').set({ default_model_id: null }).execute();
});

test('writes summaries with the compaction model of the agent, else of the project, else with the model of the agent', async () => {
  const [own, cheap, cheaper] = [
    await fixture.createModel({ modelId: 'own' }),
    await fixture.createModel({ modelId: 'cheap' }),
    await fixture.createModel({ modelId: 'cheaper' }),
  ];
  const agent = await fixture.createAgent({ name: 'summarised', defaultModelId: own.id });
  const summarisers = async () => {
    const asked = { project: fixture.here.project, agentId: agent.id, modelIds: [] };
    const { snapshotId } = await snapshotFor(fixture.db, asked);
    const [row] = await loadSnapshots(fixture.db, [snapshotId]);
    return row!.compiled.compaction?.models?.map(({ model }) => model) ?? null;
  };
  expect(await summarisers()).toBeNull();
  const projects = fixture.db.rows.updateTable('projects');
  await projects.set({ compaction_model_id: cheap.id }).execute();
  expect(await summarisers()).toEqual(['cheap', 'own']);
  const settings = { threshold: 0.5, keepLast: 4, prompt: 'Be brief.', modelId: cheaper.id };
  expect(await fixture.patchAgent(agent.id, { compaction: settings })).toMatchObject({
    compaction: settings,
  });
  expect(await summarisers()).toEqual(['cheaper', 'own']);
  expect(await fixture.patchAgent(agent.id, { compaction: null })).toMatchObject({ compaction: {} });
  expect(await summarisers()).toEqual(['cheap', 'own']);
  await projects.set({ compaction_model_id: null }).execute();
  for (const compaction of [{ threshold: 2 }, { keepLast: -1 }, { prompt: '' }, { other: 1 }]) {
    const refused = await fixture.send('PATCH', `/v1/agents/${agent.id}`, { body: { compaction } });
    expect(refused.status).toBe(422);
  }
  const unknown = { compaction: { modelId: newId() } };
  const refused = await fixture.send('PATCH', `/v1/agents/${agent.id}`, { body: unknown });
  expect(refused.body).toMatchObject({ code: 'model_not_found', issues: [{ path: 'compaction.modelId' }] });
});

test('a message to an agent that did not change costs one statement', async () => {
  const agent = await fixture.createAgent({ name: 'cheap', limits: { wallMs: 1_000 } });
  const asked = { project: fixture.here.project, agentId: agent.id, modelIds: [null, undefined] };
  const first = await snapshotFor(fixture.db, asked);
  expect(first).toEqual({
    snapshotId: expect.any(String),
    entityId: agent.entityId,
    name: 'cheap',
    version: 1,
    status: 'active',
    wallMs: 1_000,
    inDoubt: 'tell',
  });
  fixture.statements.length = 0;
  let selects = 0;
  const { rows } = fixture.db;
  const counted = new Proxy(rows, {
    get: (target, name) => {
      selects++;
      return Reflect.get(target, name);
    },
  });
  Object.defineProperty(fixture.db, 'rows', { value: counted, configurable: true });
  expect(await snapshotFor(fixture.db, asked)).toEqual(first);
  Object.defineProperty(fixture.db, 'rows', { value: rows, configurable: true });
  expect([fixture.statements, selects]).toEqual([['agent_standing'], 0]);
  await fixture.patchAgent(agent.id, { systemPrompt: 'Other.' });
  const second = await snapshotFor(fixture.db, asked);
  expect(second).toMatchObject({ version: 2 });
  expect(second.snapshotId).not.toBe(first.snapshotId);
  await fixture.send('DELETE', `/v1/agents/${agent.id}`);
  expect(await snapshotFor(fixture.db, asked)).toEqual({ ...second, status: 'archived' });
  await expect(snapshotFor(fixture.db, { ...asked, project: fixture.there.project })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('another price makes another snapshot; one without a change is the version’s own', async () => {
  const model = await fixture.createModel({ inputPrice: 1 });
  const agent = await fixture.createAgent({ name: 'priced', defaultModelId: model.id });
  const asked = { project: fixture.here.project, agentId: agent.id, modelIds: [] };
  const first = await snapshotFor(fixture.db, asked);
  const version = await fixture.db.rows
    .selectFrom('agent_versions')
    .select('snapshot_id')
    .where('agent_id', '=', agent.id)
    .executeTakeFirst();
  expect(version?.snapshot_id).toBe(first.snapshotId);
  await fixture.send('PATCH', `/v1/models/${model.id}`, { body: { inputPrice: 2 } });
  expect((await compiled(agent.id)).models[0]!.inputPrice).toBe(2);
});

test('the snapshot is always of the version it is said to be, while the agent is being changed', async () => {
  const agent = await fixture.createAgent({ name: 'moving', systemPrompt: 'version 1' });
  let changing = true;
  const change = async () => {
    for (let version = 2; version <= 30; version++) {
      await fixture.patchAgent(agent.id, { systemPrompt: `version ${version}` });
    }
    changing = false;
  };
  const ask = async () => {
    const seen = new Set<number>();
    while (changing) {
      const asked = { project: fixture.here.project, agentId: agent.id, modelIds: [] };
      const { snapshotId, version } = await snapshotFor(fixture.db, asked);
      const [found] = await loadSnapshots(fixture.db, [snapshotId]);
      expect(found!.compiled.prompt).toBe(`version ${version}`);
      seen.add(version);
    }
    return seen.size;
  };
  const [, seen] = await Promise.all([change(), ask()]);
  expect(seen).toBeGreaterThan(1);
});

test('the preview is what the run gets', async () => {
  const model = await fixture.createModel({ modelId: 'previewed' });
  const agent = await fixture.createAgent({
    name: 'previewed',
    systemPrompt: 'You tell the time.',
    capabilities: [{ id: 'noop' }, { id: 'current_time' }],
    defaultModelId: model.id,
    limits: { steps: 9 },
  });
  const preview = await fixture.get<AgentPreview>(`/v1/agents/${agent.id}/preview`);
  const snapshot = await compiled(agent.id);
  expect(preview).toEqual({
    prompt: snapshot.prompt,
    tools: snapshot.tools.map(({ name, description, inputSchema, effect }) => ({
      name,
      description,
      inputSchema,
      effect,
    })),
    models: [{ provider: model.providerId, model: 'previewed' }],
    limits: snapshot.limits,
  });
  expect(preview.prompt).toBe('You tell the time.');
  expect(preview.tools).toMatchObject([{ name: 'current_time', effect: 'pure' }]);
  const capabilities = agent.capabilities.map(({ id }) => ({ entry: findCapability(id)!, config: {} }));
  expect(snapshot).toEqual(
    compileAgent(agentDefinition.parse(definitionOf(agent)), {
      capabilities,
      tools: [],
      models: snapshot.models,
      summariser: null,
    }),
  );
});

function definitionOf(agent: object) {
  const known = Object.keys(agentDefinition.shape);
  return Object.fromEntries(Object.entries(agent).filter(([field]) => known.includes(field)));
}

test('what a snapshot names as a builtin tool, this process can execute', () => {
  const tools = createTools();
  expect(findCapability('current_time')!.tools.every((one) => tools.resolve(one) !== undefined)).toBe(true);
});
