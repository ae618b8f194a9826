import { createHash } from 'node:crypto';
import type { Change, Json, Network, NetworkAgent, NetworkDefinition, Problem } from '@troupe/protocol';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { canonicalJson } from '../../src/store/index.ts';
import { AgentsFixture, type As } from '../agents/fixture.ts';

// Documents that are kept in files: what they name by name, here and in another project.

let fixture: AgentsFixture;
beforeAll(async () => {
  fixture = await AgentsFixture.open(inject('postgresUrl'));
});
afterAll(() => fixture.close());

async function done<Body>(
  method: string,
  path: string,
  body?: unknown,
  as: As = fixture.here,
): Promise<Body> {
  const answer = await fixture.send<Body>(method, `/v1${path}`, { body, as });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function refused(method: string, path: string, body?: unknown, as: As = fixture.here) {
  const { status, body: problem } = await fixture.send<Problem>(method, `/v1${path}`, { body, as });
  return { status, code: problem.code, detail: problem.detail, issues: problem.issues ?? [] };
}
const apply = (definition: { name: string }, as: As = fixture.here) =>
  done<{ network: Network; changes: Change[] }>(
    'PUT',
    `/networks/${encodeURIComponent(definition.name)}/definition`,
    definition,
    as,
  );
const namesOf = (network: string, as: As = fixture.here) =>
  done<NetworkDefinition>('GET', `/networks/${network}/definition?names=true`, undefined, as);
const idsOf = async (network: string, as: As = fixture.here) => {
  const { agents } = await done<NetworkDefinition>('GET', `/networks/${network}/definition`, undefined, as);
  return agents.map(({ agentId, modelId }) => [agentId, modelId]);
};

/** A provider of this name with this model, and an agent Ada. */
async function furnish(as: As) {
  const provider = await fixture.createProvider({ name: 'Main/EU' }, as);
  const model = await done<{ id: string }>(
    'POST',
    `/providers/${provider.id}/models`,
    { modelId: 'meta/llama' },
    as,
  );
  const agent = await done<{ id: string }>('POST', '/agents', { name: 'Ada', systemPrompt: 'Be brief.' }, as);
  return { agent: agent.id, model: model.id };
}

test('a document names agents and models of the project, and means the same in another one', async () => {
  const here = await furnish(fixture.here);
  const document = {
    name: 'carried',
    agents: [{ key: 'one', allowRespond: true, agentId: 'ADA', modelId: 'main/eu/meta/llama' }],
  };
  const dry = await done<{ changes: Change[] }>('PUT', '/networks/carried/definition?dryRun=true', document);
  expect(dry.changes.length).toBeGreaterThan(0);
  await apply(document);
  expect(await idsOf('carried')).toEqual([[here.agent, here.model]]);
  expect((await apply(document)).changes).toEqual([]);
  const kept = await namesOf('carried');
  expect(kept.agents).toMatchObject([{ agentId: 'Ada', modelId: 'Main/EU/meta/llama' }]);
  expect((await apply(kept)).changes).toEqual([]);

  // Nothing of these names is there yet: each is told, with its place, and nothing is made.
  const missing = await refused('PUT', '/networks/carried/definition', kept, fixture.there);
  expect(missing).toMatchObject({ status: 422, code: 'agent_not_found' });
  expect(missing.issues.map(({ path }) => path)).toEqual(['agents.0.agentId', 'agents.0.modelId']);
  const there = await furnish(fixture.there);
  expect(there.model).not.toBe(here.model);
  await apply(kept, fixture.there);
  expect(await idsOf('carried', fixture.there)).toEqual([[there.agent, there.model]]);
  expect(await namesOf('carried', fixture.there)).toEqual(kept);
  expect((await apply(kept, fixture.there)).changes).toEqual([]);
});

test('one agent is added and changed by names; what may be two models is refused', async () => {
  const first = await fixture.createProvider({ name: 'first' });
  const second = await fixture.createProvider({ name: 'second' });
  const add = (provider: { id: string }, modelId: string) =>
    done<{ id: string }>('POST', `/providers/${provider.id}/models`, { modelId });
  const [both, other] = [await add(first, 'both'), await add(second, 'both')];
  const only = await add(second, 'only');
  const agent = await fixture.createAgent({ name: 'Bea' });
  await done('POST', '/networks', { name: 'Parts' });
  const made = await done<NetworkAgent>('POST', '/networks/parts/agents', {
    key: 'one',
    agentId: 'bea',
    modelId: 'only',
  });
  expect([made.agentId, made.modelId]).toEqual([agent.id, only.id]);
  const patch = (body: object) => done<NetworkAgent>('PATCH', '/networks/parts/agents/one', body);
  expect((await patch({ modelId: 'second/both' })).modelId).toBe(other.id);
  expect((await patch({ modelId: both.id.toUpperCase() })).modelId).toBe(both.id);
  const two = await refused('PATCH', '/networks/parts/agents/one', { modelId: 'both' });
  expect(two).toMatchObject({ status: 422, code: 'model_not_found', issues: [{ path: 'modelId' }] });
  expect(two.detail).toContain('"first/both" or "second/both"');
  for (const [field, code] of [
    ['agentId', 'agent_not_found'],
    ['modelId', 'model_not_found'],
  ] as const) {
    const unknown = await refused('PATCH', '/networks/parts/agents/one', { [field]: 'nobody' });
    expect(unknown).toMatchObject({ status: 422, code, issues: [{ path: field }] });
    expect(unknown.detail).toContain('"nobody"');
  }
  // Of two that are called so, the one that can be used; what is disabled later keeps its name.
  await done('PATCH', `/models/${other.id}`, { status: 'disabled' });
  expect((await patch({ modelId: 'both' })).modelId).toBe(both.id);
  await done('PATCH', `/models/${both.id}`, { status: 'disabled' });
  const kept = await namesOf('parts');
  expect(kept.agents[0]!.modelId).toBe('first/both');
  expect((await apply(kept)).changes).toEqual([]);
  // A name that means two things is no name: the id stays.
  const odd = await fixture.createProvider({ name: 'first/x' });
  const [one, another] = [await add(odd, 'y'), await add(first, 'x/y')];
  for (const { id } of [one, another]) {
    await patch({ modelId: id });
    expect((await namesOf('parts')).agents[0]!.modelId).toBe(id);
  }
});

test('a file that was made by hand may name them, too', async () => {
  await fixture.createAgent({ name: 'Cleo' });
  await done('POST', '/networks', { name: 'made', agents: [{ key: 'one', allowRespond: true }] });
  await done('POST', '/networks/made/publish', {});
  const file = await fixture.get<{ definition: NetworkDefinition }>('/v1/networks/made/versions/1/export');
  const by = (agentId: string) => {
    const definition = structuredClone(file.definition);
    definition.agents[0]!.agentId = agentId;
    const sum = createHash('sha256').update(canonicalJson(definition as unknown as Json));
    return { ...file, name: 'by hand', definition, definitionChecksum: sum.digest('hex') };
  };
  expect(await refused('POST', '/networks/import', by('nobody'))).toMatchObject({
    code: 'agent_not_found',
    issues: [{ path: 'definition.agents.0.agentId' }],
  });
  await done('POST', '/networks/import', by('cleo'));
  expect((await namesOf('by%20hand')).agents[0]!.agentId).toBe('Cleo');
});

test('no network is called as an id, or as a step in an address', async () => {
  const { id } = await done<Network>('POST', '/networks', {
    name: 'mine',
    agents: [{ key: 'one', allowRespond: true }],
  });
  await done('POST', '/networks/mine/publish', {});
  const file = await fixture.get<object>('/v1/networks/mine/versions/1/export');
  const before = await done<Network>('GET', '/networks/mine');
  for (const name of [id, id.toUpperCase(), ' 00000000-0000-0000-0000-000000000000 ', '.', '..']) {
    const cases = [
      ['POST', '/networks', { name }],
      ['PUT', `/networks/${id}/definition`, { name }],
      ['PUT', `/networks/${id}/definition?dryRun=true`, { name }],
      ['PATCH', '/networks/mine', { name }],
      ['POST', '/networks/mine/copy', { name }],
      ['POST', '/networks/import', { ...file, name }],
    ] as const;
    for (const [method, path, body] of cases)
      expect(await refused(method, path, body), `${method} ${path} ${name}`).toMatchObject({
        status: 422,
        code: 'name_invalid',
        issues: [{ path: 'name' }],
      });
  }
  expect(await done('GET', '/networks/mine')).toEqual(before);
  const nobody = '0198c0de-0000-7000-8000-000000000000';
  for (const name of [nobody, nobody.replaceAll('0', '\uFF10')])
    expect(await refused('PUT', `/networks/${nobody}/definition`, { name })).toMatchObject({
      code: 'name_invalid',
    });
  expect(await refused('PUT', `/networks/${nobody}/definition`, { name: 'x' })).toMatchObject({
    status: 404,
  });
  // One that has such a name from before is edited as any other, and can be given another.
  const odd = '0198c0de-0000-7000-8000-000000000001';
  const { id: old } = await done<Network>('POST', '/networks', { name: 'old' });
  await fixture.db.pool.query('update troupe.networks set name = $2 where id = $1', [old, odd]);
  await done('POST', `/networks/${old}/agents`, { key: 'one' });
  expect(await done('PATCH', `/networks/${old}`, { name: 'new' })).toMatchObject({ name: 'new' });
});

test('an agent that is made the default takes the place of the one that was', async () => {
  const agents = [{ key: 'one', isDefault: true, routes: ['two'] }, { key: 'two' }, { key: 'three' }];
  await done('POST', '/networks', { name: 'moved', agents });
  const defaults = async () => {
    const { agents } = await done<NetworkDefinition>('GET', '/networks/moved/definition');
    return agents.filter(({ isDefault }) => isDefault).map(({ key }) => key);
  };
  const patch = (key: string, body: object) => done('PATCH', `/networks/moved/agents/${key}`, body);
  expect(await patch('two', { isDefault: true })).toMatchObject({ key: 'two', isDefault: true });
  expect(await defaults()).toEqual(['two']);
  await patch('TWO', { isDefault: true });
  await patch('one', { isDefault: false, prompt: 'x' });
  expect(await defaults()).toEqual(['two']);
  await Promise.all(['one', 'two', 'three'].map((key) => patch(key, { isDefault: true })));
  expect(await defaults()).toHaveLength(1);
  expect(await refused('POST', '/networks/moved/agents', { key: 'four', isDefault: true })).toMatchObject({
    code: 'too_many_defaults',
  });
});

test('what is wrong with the shape of a document is told in plain words', async () => {
  const { detail, issues } = await refused('POST', '/networks', {
    name: ' ',
    policy: { maxSteps: 0, retries: 'many', wallMs: 1.5, modelTries: 21 },
    logPolicy: { tools: { '1 bad': {} } },
    tools: [{ key: 'x', params: [{ name: '1', source: 'nobody' }] }, {}],
    agents: [{ key: '1', agentId: '', routes: 'x', more: true, other: 1 }],
    metadata: [],
  });
  expect(detail).toBe('The request is not valid: "name" must not be empty.');
  const key = 'must begin with a letter, and be letters, digits, "_" and "-", at most 64';
  expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual({
    name: 'must not be empty',
    'policy.maxSteps': 'must be at least 1',
    'policy.retries': 'must be a number, and is a text',
    'policy.wallMs': 'must be a whole number',
    'policy.modelTries': 'must be at most 20',
    'logPolicy.tools.1 bad': `cannot be a name here: it ${key}`,
    'tools.0.params.0.name': 'must begin with a letter or "_", and be letters, digits and "_", at most 64',
    'tools.0.params.0.source': 'must be one of "agent", "system", "default"',
    'tools.1.key': 'is missing; it must be a text',
    'agents.0.key': key,
    'agents.0.agentId': 'must not be empty',
    'agents.0.routes': 'must be a list, and is a text',
    'agents.0': 'has "more", "other", which are not known here',
    metadata: 'must be an object, and is a list',
  });
});
