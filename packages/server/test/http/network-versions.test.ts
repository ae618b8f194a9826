import { createHash } from 'node:crypto';
import {
  type Change,
  type Json,
  type Network,
  type NetworkDefinition,
  type NetworkFile,
  type NetworkProblem,
  type NetworkVersion,
  networkDefinition,
  type Problem,
} from '@troupe/protocol';
import { stopwatch } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  canonicalJson,
  insertNetwork,
  inTransaction,
  lockNetwork,
  writeDefinition,
} from '../../src/store/index.ts';
import { AgentsFixture, type As } from '../agents/fixture.ts';

let fixture: AgentsFixture;
beforeAll(async () => {
  fixture = await AgentsFixture.open(inject('postgresUrl'));
  for (const as of [fixture.here, fixture.there])
    for (const name of ['search', 'lookup'])
      await done('POST', '/v1/tools', { name, kind: 'static', output: name }, as);
});
afterAll(() => fixture.close());

async function done<Body>(
  method: string,
  path: string,
  body?: unknown,
  as: As = fixture.here,
): Promise<Body> {
  const answer = await fixture.send<Body>(method, path, { body, as });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function refused(method: string, path: string, body?: unknown, as: As = fixture.here) {
  const { status, body: problem } = await fixture.send<Problem>(method, path, { body, as });
  return { status, code: problem.code, paths: problem.issues?.map(({ path }) => path) };
}

interface Document {
  name: string;
  [field: string]: unknown;
}
const two = (name: string, more: object = {}): Document => ({
  name,
  tools: [{ key: 'search' }],
  agents: [
    { key: 'desk', isDefault: true, routes: ['writer'], tools: ['search'], prompt: 'Ask.' },
    { key: 'writer', allowRespond: true, routes: ['desk'], prompt: 'Write.' },
  ],
  ...more,
});

/** Writes rows as they are, without the checks of an edit: a network may have become invalid in any way. */
async function put(document: Document, as: As = fixture.here): Promise<NetworkDefinition> {
  const definition = networkDefinition.parse(document);
  const { project } = as;
  await inTransaction(fixture.db, async (transaction) => {
    const rows =
      (await lockNetwork(transaction, project, definition.name)) ??
      (await insertNetwork(transaction, project, definition));
    await writeDefinition(transaction, { project, rows }, definition);
  });
  return definition;
}
const publish = (name: string, body: object = {}) =>
  done<NetworkVersion & { created: boolean }>('POST', `/v1/networks/${name}/publish`, body);
const problems = async (name: string) => {
  const { ok, problems } = await done<{ ok: boolean; problems: NetworkProblem[] }>(
    'POST',
    `/v1/networks/${name}/validate`,
  );
  expect(ok).toBe(problems.length === 0);
  return problems.map(({ path, code }) => `${path} ${code}`).sort();
};
const sum = (value: unknown) =>
  createHash('sha256')
    .update(canonicalJson(value as Json))
    .digest('hex');

test('publishing makes a version, and the same content none', async () => {
  await put(two('Twice'));
  const first = await publish('twice', { notes: 'the first' });
  expect(first).toMatchObject({
    version: 1,
    created: true,
    isCurrent: true,
    notes: 'the first',
    publishedBy: 'key:the-key',
  });
  expect(await publish('twice')).toEqual({ ...first, created: false });
  // Another order is no other content.
  const turned = two('Twice');
  await put({ ...turned, agents: (turned.agents as object[]).toReversed() });
  expect(await publish('twice')).toMatchObject({ version: 1, created: false });
  const whole = await fixture.get<NetworkVersion & { snapshot: { [key: string]: Json } }>(
    '/v1/networks/TWICE/versions/1',
  );
  expect(whole.checksum).toBe(sum(whole.snapshot));
  expect(whole.snapshot).toMatchObject({ kind: 'network', network: { defaultAgent: 'desk' } });
  expect(await fixture.audit(first.networkId)).toMatchObject([
    { action: 'network.published', data: { name: 'Twice', version: 1 } },
  ]);
});

test('a change makes the next version; the diff tells by key what changed, tools and models included', async () => {
  await put(two('grows'));
  await publish('grows');
  const [agents] = [two('grows').agents as object[]];
  await put(
    two('grows', {
      policy: { maxSteps: 9 },
      agents: [
        { key: 'checker', routes: ['writer'] },
        { ...agents[0], routes: ['checker', 'writer'] },
        agents[1],
      ],
    }),
  );
  expect(await publish('grows')).toMatchObject({ version: 2, created: true });
  const { changes } = await fixture.get<{ changes: Change[] }>('/v1/networks/grows/diff?from=1&to=2');
  expect(changes.map(({ path }) => path).sort()).toEqual([
    '$.agents.checker',
    '$.agents.desk.routes.checker',
    '$.compiled.models.checker',
    '$.compiled.prompts.checker',
    '$.policy.maxSteps',
  ]);
  expect(changes.find(({ path }) => path === '$.policy.maxSteps')).toEqual({
    path: '$.policy.maxSteps',
    from: 25,
    to: 9,
  });
  // What the network only refers to: nothing of it was edited.
  const model = await fixture.createModel({ modelId: 'for-all', isDefault: true });
  expect(await publish('grows')).toMatchObject({ version: 3 });
  const later = await fixture.get<{ changes: Change[] }>('/v1/networks/grows/diff?from=2&to=3');
  expect(later.changes.map(({ path }) => path)).toContain('$.compiled.models.desk[0].model');
  await done('PATCH', `/v1/models/${model.id}`, { isDefault: false });

  const page = await fixture.get<{ data: NetworkVersion[]; nextCursor: string }>(
    '/v1/networks/grows/versions?limit=2',
  );
  expect(page.data.map(({ version, isCurrent }) => [version, isCurrent])).toEqual([
    [3, true],
    [2, false],
  ]);
  const rest = await fixture.get<{ data: NetworkVersion[] }>(
    `/v1/networks/grows/versions?cursor=${page.nextCursor}`,
  );
  expect(rest.data.map(({ version }) => version)).toEqual([1]);
});

test('what publishing would change is told before, also of tools and agents of the project that were changed since', async () => {
  const tool = await done<{ id: string }>('POST', '/v1/tools', {
    name: 'lent',
    kind: 'echo',
    description: 'Says it again.',
    params: [{ name: 'query' }, { name: 'tenant', source: 'system' }],
  });
  const agent = await fixture.createAgent({ name: 'changed since', systemPrompt: 'As it was.' });
  const document = two('borrows', {
    tools: [{ key: 'lent' }],
    agents: [{ key: 'desk', allowRespond: true, agentId: agent.id, tools: ['lent'] }],
  });
  await done('PUT', '/v1/networks/borrows/definition', document);
  await publish('borrows');
  const wouldChange = async (body: object = document) => {
    const { versionChanges } = await done<{ versionChanges: Change[] | null }>(
      'PUT',
      '/v1/networks/borrows/definition?dryRun=true&against=1',
      body,
    );
    return versionChanges;
  };
  expect(await wouldChange()).toEqual([]);
  await fixture.patchAgent(agent.id, { systemPrompt: 'As it is.' });
  await done('PATCH', `/v1/tools/${tool.id}`, {
    description: 'Says it once more.',
    params: [{ name: 'query' }, { name: 'tenant', source: 'default', defaultValue: 't-1' }],
    timeoutMs: 1_000,
  });
  const found = (await wouldChange())!;
  expect(found.find(({ path }) => path === '$.compiled.prompts.desk')).toMatchObject({
    from: 'As it was.',
    to: 'As it is.',
  });
  expect(found.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      '$.compiled.tools.lent.description',
      '$.compiled.tools.lent.params.tenant.source',
      '$.compiled.tools.lent.params.tenant.defaultValue',
    ]),
  );
  // What the network says itself is not the tool's any more.
  const own = { ...document, tools: [{ key: 'lent', description: 'Ours.' }] };
  const paths = (await wouldChange(own))!.map(({ path }) => path);
  expect(paths).toContain('$.tools.lent.description');
  // It is what the version differs in, once there is one.
  await publish('borrows');
  const { changes } = await fixture.get<{ changes: Change[] }>('/v1/networks/borrows/diff?from=1&to=2');
  expect(changes).toEqual(found);
  // Nothing is told that was not asked for, or that cannot be published.
  const unasked = await done('PUT', '/v1/networks/borrows/definition?dryRun=true', document);
  expect(unasked).toMatchObject({ versionChanges: null, problems: [] });
  expect(await wouldChange({ ...document, agents: [] })).toBeNull();
  expect(
    await refused('PUT', '/v1/networks/borrows/definition?dryRun=true&against=9', document),
  ).toMatchObject({ code: 'version_not_found' });
});

test('rolling back moves the pointer; a version after that is the next one', async () => {
  await put(two('back'));
  await publish('back');
  await put(two('back', { policy: { maxSteps: 3 } }));
  await publish('back');
  expect(await done('POST', '/v1/networks/back/rollback', { version: 1 })).toMatchObject({
    version: 1,
    isCurrent: true,
  });
  expect(await publish('back')).toMatchObject({ version: 3, created: true });
  const missing = { status: 404, code: 'version_not_found' };
  expect(await refused('POST', '/v1/networks/back/rollback', { version: 9 })).toMatchObject(missing);
  expect(await refused('GET', '/v1/networks/back/versions/9')).toMatchObject(missing);
  expect(await refused('GET', '/v1/networks/back/diff?from=1&to=9')).toMatchObject(missing);
  expect(await refused('GET', '/v1/networks/back/versions/99999999999')).toMatchObject({ status: 404 });
});

test('an archived network is not published; brought back it is what it was', async () => {
  await put(two('rests'));
  expect(await done<Network>('POST', '/v1/networks/rests/archive', {})).toMatchObject({ status: 'archived' });
  expect(await refused('POST', '/v1/networks/rests/publish', {})).toMatchObject({
    status: 409,
    code: 'network_archived',
  });
  const back = { archived: false };
  expect(await done('POST', '/v1/networks/rests/archive', back)).toMatchObject({ status: 'draft' });
  await publish('rests');
  await done('POST', '/v1/networks/rests/archive', {});
  expect(await refused('POST', '/v1/networks/rests/rollback', { version: 1 })).toMatchObject({
    code: 'network_archived',
  });
  expect(await done('POST', '/v1/networks/rests/archive', back)).toMatchObject({
    status: 'published',
    currentVersion: 1,
  });
});

test('another project finds nothing', async () => {
  await put(two('hidden'));
  await publish('hidden');
  for (const [method, path, body] of [
    ['POST', 'validate'],
    ['POST', 'publish', {}],
    ['GET', 'versions'],
    ['GET', 'versions/1'],
    ['GET', 'versions/1/export'],
    ['GET', 'diff?from=1&to=1'],
    ['POST', 'rollback', { version: 1 }],
    ['POST', 'archive', {}],
  ] as const) {
    const answer = await refused(method, `/v1/networks/hidden/${path}`, body, fixture.there);
    expect([path, answer.status, answer.code]).toEqual([path, 404, 'not_found']);
  }
});

test('all that is wrong is told at once, with its place', async () => {
  expect(await put({ name: 'empty' }).then(() => problems('empty'))).toEqual(['agents no_agents']);
  const gone = await fixture.createModel();
  const off = await fixture.createModel();
  await done('POST', '/v1/tools', {
    name: 'secretive',
    kind: 'http',
    request: { url: 'https://api.example.com/', headers: { authorization: 'Bearer {{secrets.NOT_SET}}' } },
  });
  for (const name of ['broken', 'respond'])
    await done('POST', '/v1/tools', { name, kind: 'static', inputSchema: { type: 'object' } });
  const params = [
    { name: 'a', schema: { type: 'nothing' } },
    { name: 'b', schema: { $ref: '#/$defs/none' } },
    { name: 'c', schema: { type: 'integer' }, default: 'x' },
    { name: 'c' },
    { name: 'd', source: 'default', required: true },
  ];
  await put({
    name: 'wrong',
    policy: { maxSteps: 1 },
    response: { schema: { type: 'object', properties: { a: { minimum: 'x' } } } },
    logPolicy: { tools: { nobody: {} } },
    tools: [{ key: 'secretive' }, { key: 'broken' }, { key: 'respond' }, { key: 'search', params }],
    agents: [
      { key: 'first', isDefault: true, routes: ['second', 'trap'] },
      { key: 'second', routes: ['third'], modelId: off.id },
      { key: 'third', allowRespond: true, routes: ['first'] },
      { key: 'trap', routes: ['snare'] },
      { key: 'snare', routes: ['trap'] },
      { key: 'island', allowRespond: true },
      { key: 'reef', routes: ['island'] },
    ],
  });
  await done('PATCH', `/v1/models/${off.id}`, { status: 'disabled' });
  await fixture.db.pool.query(
    `update troupe.tools set input_schema = '{"type":"object","properties":{"a":{"pattern":"("}}}' where name = 'broken'`,
  );
  await done('DELETE', `/v1/models/${gone.id}`);
  expect(await problems('wrong')).toEqual(
    [
      'agents.second.modelId model_disabled',
      'agents.trap no_way_to_respond',
      'agents.snare no_way_to_respond',
      'agents.island responder_unreachable',
      'agents.reef agent_unreachable',
      'policy.maxSteps too_few_steps',
      'response.schema schema_invalid',
      'logPolicy.tools.nobody unknown_key',
      'tools.secretive secret_missing',
      'tools.broken.inputSchema schema_invalid',
      'tools.respond key_reserved',
      'tools.search.params.0.schema schema_invalid',
      'tools.search.params.1.schema schema_invalid',
      'tools.search.params.2.defaultValue default_invalid',
      'tools.search.params.3.name param_taken',
      'tools.search.params.4.defaultValue default_missing',
    ].sort(),
  );
  const answer = await refused('POST', '/v1/networks/wrong/publish', {});
  expect(answer).toMatchObject({ status: 422, code: 'network_invalid' });
  expect(answer.paths).toContain('agents.island');
  expect(answer.paths).toHaveLength(16);
  expect((await fixture.get<{ data: unknown[] }>('/v1/networks/wrong/versions')).data).toEqual([]);

  await put({ name: 'nowhere', agents: [{ key: 'a' }, { key: 'b', routes: ['a'] }] });
  expect(await problems('nowhere')).toEqual(['agents no_default', 'agents no_responder']);
  // Cycles are bounded by the policy, so they are no problem.
  await put(two('cycle'));
  expect(await problems('cycle')).toEqual([]);
});

test('an agent has its own model and prompt, else those of the agent it names, else the project’s', async () => {
  const [own, lent] = [await fixture.createModel(), await fixture.createModel()];
  const agent = await fixture.createAgent({
    name: 'Lender',
    systemPrompt: 'Lent.',
    defaultModelId: lent.id,
    fallbackModelIds: [own.id],
  });
  await put({
    name: 'borrows',
    agents: [
      {
        key: 'own',
        isDefault: true,
        allowRespond: true,
        routes: ['lent', 'bare'],
        modelId: own.id,
        prompt: 'Own.',
      },
      { key: 'lent', routes: ['own'], agentId: agent.id },
      { key: 'bare', routes: ['own'] },
    ],
  });
  const { version } = await publish('borrows');
  const { snapshot } = await fixture.get<{
    snapshot: {
      models: { model: string }[];
      network: { agents: { key: string; prompt: string; models: { model: string }[] }[] };
    };
  }>(`/v1/networks/borrows/versions/${version}`);
  expect(
    snapshot.network.agents.map(({ key, prompt, models }) => [key, prompt, models.map(({ model }) => model)]),
  ).toEqual([
    ['bare', '', ['demo']],
    ['lent', 'Lent.', [lent.modelId, own.modelId]],
    ['own', 'Own.', [own.modelId]],
  ]);
  expect(snapshot.models.map(({ model }) => model)).toEqual([own.modelId]);
});

test('a file becomes a draft, in another project too, and is refused where anything in it was changed', async () => {
  const model = await fixture.createModel({ modelId: 'known-by-name' });
  const agent = await fixture.createAgent({ name: 'Stays at home', systemPrompt: 'Lent.' });
  const [first, writer] = two('carried').agents as object[];
  await put(
    two('carried', {
      agents: [
        { ...first, modelId: model.id },
        { ...writer, prompt: '', agentId: agent.id },
      ],
    }),
  );
  const { checksum } = await publish('carried');
  const file = await fixture.get<NetworkFile>('/v1/networks/carried/versions/1/export');
  expect(file).toMatchObject({ format: 'troupe.network/1', checksum });
  expect([sum(file.snapshot), sum(file.definition)]).toEqual([checksum, file.definitionChecksum]);

  expect(await refused('POST', '/v1/networks/import', file)).toMatchObject({ code: 'name_taken' });
  const copy = await done<Network>('POST', '/v1/networks/import', { ...file, name: 'copied' });
  expect(copy).toMatchObject({ name: 'copied', status: 'draft', agentCount: 2, toolCount: 1 });
  expect(await publish('copied')).toMatchObject({ version: 1, created: true });

  // There, ids mean nothing: the model goes by its name, the prompt is the one that was lent.
  expect(await refused('POST', '/v1/networks/import', file, fixture.there)).toMatchObject({
    code: 'model_not_found',
    paths: ['definition.agents.0.modelId'],
  });
  const other = await fixture.createModel({ modelId: 'known-by-name' }, fixture.there);
  await done('POST', '/v1/networks/import', file, fixture.there);
  const there = await fixture.get<NetworkDefinition>('/v1/networks/carried/definition', fixture.there);
  expect(there.agents.map(({ modelId, agentId, prompt }) => [modelId, agentId, prompt])).toEqual([
    [other.id, null, 'Ask.'],
    [null, null, 'Lent.'],
  ]);

  const tampered = structuredClone(file) as unknown as {
    definition: { policy: { maxSteps: number } };
    snapshot: { limits: { steps: number } };
  };
  tampered.definition.policy.maxSteps = 999;
  expect(await refused('POST', '/v1/networks/import', { ...tampered, name: 'bad' })).toMatchObject({
    status: 422,
    code: 'checksum_wrong',
    paths: ['definitionChecksum'],
  });
  tampered.snapshot.limits.steps = 999;
  expect(await refused('POST', '/v1/networks/import', { ...tampered, name: 'bad' })).toMatchObject({
    paths: ['checksum', 'definitionChecksum'],
  });
  // The right checksum of something that is no network.
  const odd = { ...file, definition: { name: 'bad' }, definitionChecksum: sum({ name: 'bad' }) };
  const empty = { ...odd, snapshot: {}, checksum: sum({}) };
  expect(await refused('POST', '/v1/networks/import', empty)).toMatchObject({
    status: 422,
    code: 'invalid_request',
  });
  // The right checksum of a network that cannot be, here at least.
  const impossible = structuredClone(file.definition) as unknown as NetworkDefinition;
  impossible.agents[0]!.routes = [impossible.agents[0]!.key, 'nobody'];
  impossible.agents[0]!.tools = ['nothing'];
  impossible.tools.push({ key: 'not_there', description: null, params: null });
  const forged = { ...file, definition: impossible, definitionChecksum: sum(impossible) };
  expect(await refused('POST', '/v1/networks/import', { ...forged, name: 'bad' })).toMatchObject({
    status: 422,
    code: 'tool_not_found',
    paths: [
      'definition.tools.1.key',
      'definition.agents.0.tools.0',
      'definition.agents.0.routes.1',
      'definition.agents.0.routes.0',
    ],
  });
  expect(await refused('GET', '/v1/networks/bad')).toMatchObject({ status: 404 });
});

test('race: publishes at the same time give versions without gaps, and the same content one', async () => {
  await put(two('raced'));
  const same = await Promise.all(Array.from({ length: 8 }, () => publish('raced')));
  expect(same.map(({ version }) => version)).toEqual(Array(8).fill(1));
  expect(same.filter(({ created }) => created)).toHaveLength(1);
  // Each edits and publishes; who publishes whose edit is not said, only that nothing is lost or counted twice.
  const made = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      await put(two('raced', { policy: { maxSteps: 100 + at } }));
      return publish('raced');
    }),
  );
  const versions = made.filter(({ created }) => created).map(({ version }) => version);
  const sorted = versions.toSorted((a, b) => a - b);
  expect(sorted).toEqual(Array.from({ length: versions.length }, (_, at) => at + 2));
  expect(versions.length).toBeGreaterThan(0);
  const { data } = await fixture.get<{ data: NetworkVersion[] }>('/v1/networks/raced/versions');
  expect(data.map(({ version }) => version)).toEqual([...sorted.toReversed(), 1]);
  expect(data.filter(({ isCurrent }) => isCurrent).map(({ version }) => version)).toEqual([sorted.at(-1)]);
});

test('a network of 1,000 agents, 2,000 tools and 10,000 routes is published in less than 2 s', async () => {
  const key = (word: string, at: number) => `${word}${at}`;
  await fixture.db.pool.query(
    `insert into troupe.tools (id, project_id, name, description, kind, input_schema, effect, approval, visible, config)
     select gen_random_uuid(), $1, 'large' || n, 'Finds number ' || n, 'static', jsonb_build_object('type', 'object',
       'properties', jsonb_build_object('field' || n, '{"type":"string","maxLength":200}'::jsonb, 'limit', '{"type":"integer"}'::jsonb),
       'required', jsonb_build_array('field' || n)), 'pure', false, false, '{}' from generate_series(0, 1999) n`,
    [fixture.here.project],
  );
  const agents = Array.from({ length: 1_000 }, (_, at) => ({
    key: key('agent', at),
    isDefault: at === 0,
    allowRespond: at % 10 === 0,
    description: `Knows all about number ${at}.`,
    prompt: `You are number ${at}. ${'Be thorough. '.repeat(20)}`,
    tools: Array.from({ length: 10 }, (_, tool) => key('large', (at * 2 + tool) % 2_000)),
    routes: Array.from({ length: 10 }, (_, step) => key('agent', (at + 1 + step * step) % 1_000)),
  }));
  const tools = Array.from({ length: 2_000 }, (_, at) => ({
    key: key('large', at),
    ...(at % 4 === 0
      ? {
          params: [
            { name: `field${at}`, required: true },
            { name: 'tenant', source: 'system', required: true, schema: { type: 'string' } },
          ],
        }
      : {}),
  }));
  const times: number[] = [];
  const timed = async (maxSteps: number) => {
    await put({ name: 'large', policy: { maxSteps }, tools, agents });
    const elapsed = stopwatch();
    const answer = await publish('large');
    times.push(Math.round(elapsed()));
    return answer;
  };
  expect(await timed(50)).toMatchObject({ version: 1, created: true });
  expect(await timed(51)).toMatchObject({ version: 2, created: true });
  process.stdout.write(`1,000 agents, 2,000 tools, 10,000 routes: published in ${times.join(' and ')} ms\n`);
  expect(Math.max(...times)).toBeLessThan(2_000);
});
