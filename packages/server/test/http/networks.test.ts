import type {
  Agent,
  AuditEntry,
  Change,
  Model,
  Network,
  NetworkAgent,
  NetworkDefinition,
  NetworkProblem,
  NetworkTool,
  Problem,
  Tool,
  ToolTrial,
} from '@troupe/protocol';
import { openServer, stopwatch, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// Networks as people edit them, over HTTP; every test has a network of its own.

let server: TestServer;
const tools: Record<string, Tool> = {};

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
  for (const name of ['Search', 'save', 'spare'])
    tools[name] = await done<Tool>('POST', '/v1/tools', { name, kind: 'echo' });
});
afterAll(() => server.close());

async function ask<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/v1${path.replace(/^\/v1/, '')}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}
async function done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask<Body>(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
async function refused(method: string, path: string, body?: unknown) {
  const { status, body: problem } = await ask<Problem>(method, path, body);
  return {
    status,
    code: problem?.code,
    detail: problem?.detail,
    paths: problem?.issues?.map(({ path }) => path) ?? [],
  };
}
const definitionOf = (name: string) => done<NetworkDefinition>('GET', `/networks/${name}/definition`);
const helpDesk = (name: string) => ({
  name,
  tools: [{ key: 'search' }, { key: 'SAVE', description: 'Keeps it.' }],
  agents: [
    { key: 'front', isDefault: true, allowRespond: true, tools: ['SEARCH'], routes: ['Writer', 'clerk'] },
    { key: 'writer', tools: ['save', 'search'], routes: ['FRONT'], prompt: 'Write.' },
    { key: 'clerk', routes: ['front', 'front'] },
  ],
});

test('a network is made, found by id and by name in any case, listed, changed, copied and deleted', async () => {
  const made = await done<Network>('POST', '/networks', helpDesk('Help Desk'));
  expect(made).toMatchObject({ status: 'draft', currentVersion: null, agentCount: 3, toolCount: 2 });
  expect(made.policy).toMatchObject({ maxSteps: 25, retries: 3 });
  for (const name of [made.id, 'Help%20Desk', 'help%20desk'])
    expect(await done('GET', `/networks/${name}`)).toEqual(made);
  // Keys as they were defined, each once.
  const definition = await definitionOf(made.id);
  expect(definition.tools.map(({ key }) => key)).toEqual(['Search', 'save']);
  expect(definition.agents.map(({ tools, routes }) => [tools, routes])).toEqual([
    [['Search'], ['writer', 'clerk']],
    [['save', 'Search'], ['front']],
    [[], ['front']],
  ]);
  expect(await refused('POST', '/networks', { name: 'HELP DESK' })).toMatchObject({
    status: 409,
    code: 'name_taken',
    paths: ['name'],
  });
  const changed = await done<Network>('PATCH', '/networks/help%20desk', {
    description: 'For all.',
    policy: { maxSteps: 5 },
  });
  expect(changed).toMatchObject({ name: 'Help Desk', description: 'For all.', agentCount: 3 });
  expect(changed.policy).toMatchObject({ maxSteps: 5, retries: 3 });
  expect(await done<Network>('PATCH', `/networks/${made.id}`, {})).toEqual(changed);
  // What is left out stays within these, too: a contract is not lost with a change of its guidance.
  await done('PATCH', `/networks/${made.id}`, {
    policy: { retries: 7 },
    response: { schema: { type: 'object' } },
  });
  const merged = await done<Network>('PATCH', `/networks/${made.id}`, { response: { guidance: 'Briefly.' } });
  expect(merged.policy).toMatchObject({ maxSteps: 5, retries: 7 });
  expect(merged.response).toEqual({ schema: { type: 'object' }, guidance: 'Briefly.', example: null });
  const copy = await done<Network>('POST', `/networks/${made.id}/copy`, { name: 'Second' });
  expect(copy).toMatchObject({ status: 'draft', agentCount: 3, description: 'For all.' });
  expect({ ...(await definitionOf('second')), name: '' }).toEqual({
    ...(await definitionOf(made.id)),
    name: '',
  });
  expect(await refused('POST', `/networks/${made.id}/copy`, { name: 'second' })).toMatchObject({
    code: 'name_taken',
  });
  const page = await done<{ data: Network[]; nextCursor: string }>('GET', '/networks?limit=1');
  expect(page.data.map(({ name }) => name)).toEqual(['Second']);
  const next = await done<{ data: Network[] }>(
    'GET',
    `/networks?limit=1&cursor=${page.nextCursor}&status=draft`,
  );
  expect(next.data.map(({ name }) => name)).toEqual(['Help Desk']);
  await done('DELETE', `/networks/${made.id}`);
  expect(await refused('GET', '/networks/help%20desk')).toMatchObject({ status: 404 });
  expect((await definitionOf('second')).agents).toHaveLength(3);
  const { data } = await done<{ data: AuditEntry[] }>('GET', '/audit?limit=100');
  const noted = data.filter(({ target }) => target === made.id || target === copy.id);
  expect(noted.map(({ action }) => action)).toEqual([
    'network.deleted',
    'network.created',
    'network.changed',
    'network.changed',
    'network.changed',
    'network.created',
  ]);
  expect(noted[4]!.data).toMatchObject({ changed: ['$.description', '$.policy.maxSteps'] });
});

test('all that is wrong with a document is told at once, and nothing is made', async () => {
  const problem = await refused('PUT', '/networks/wrong/definition', {
    name: 'wrong',
    tools: [
      { key: 'search', params: [{ name: 'x', schema: { type: 'nothing' } }, { name: 'x' }] },
      { key: 'SEARCH' },
      { key: 'absent' },
      { key: 'save', params: [{ name: 'n', schema: { type: 'number' }, default: 'one' }] },
    ],
    agents: [
      { key: 'a', isDefault: true, routes: ['A', 'nobody'], tools: ['save', 'spare'] },
      { key: 'b', isDefault: true, agentId: tools.save!.id, modelId: tools.save!.id },
      { key: 'B' },
    ],
  });
  expect(problem).toMatchObject({ status: 409, code: 'key_taken' });
  expect(problem.paths.toSorted()).toEqual([
    'agents.0.isDefault',
    'agents.0.routes.0',
    'agents.0.routes.1',
    'agents.0.tools.1',
    'agents.1.agentId',
    'agents.1.isDefault',
    'agents.1.modelId',
    'agents.2.key',
    'tools.0.params.0.schema',
    'tools.0.params.1.name',
    'tools.1.key',
    'tools.2.key',
    'tools.3.params.0.defaultValue',
  ]);
  expect(await refused('GET', '/networks/wrong')).toMatchObject({ status: 404 });
  const only = async (agent: object, more: object = {}) =>
    (await refused('POST', '/networks', { name: 'wrong', agents: [{ key: 'a', ...agent }], ...more })).code;
  expect(await only({ routes: ['a'] })).toBe('self_route');
  expect(await only({ routes: ['b'] })).toBe('unknown_key');
  expect(await only({ tools: ['search'] })).toBe('unknown_key');
  expect(await only({ agentId: tools.save!.id })).toBe('agent_not_found');
  expect(await only({ modelId: tools.save!.id })).toBe('model_not_found');
  expect(await only({}, { tools: [{ key: 'absent' }] })).toBe('tool_not_found');
  expect(await only({ key: '1a' })).toBe('invalid_request');
});

test('applied twice it changes nothing; dryRun tells the differences by key and changes nothing', async () => {
  const apply = (definition: object, query = '', at = 'applied') =>
    done<{ network: Network | null; changes: Change[]; problems: NetworkProblem[] }>(
      'PUT',
      `/networks/${at}/definition${query}`,
      definition,
    );
  const paths = ({ changes }: { changes: Change[] }) => changes.map(({ path }) => path);
  const first = helpDesk('Applied');
  const trial = await apply(first, '?dryRun=true');
  expect(trial.network).toBeNull();
  expect(paths(trial)).toEqual([
    '$.agents.clerk',
    '$.agents.front',
    '$.agents.writer',
    '$.name',
    '$.tools.save',
    '$.tools.search',
  ]);
  expect(await refused('GET', '/networks/applied')).toMatchObject({ status: 404 });
  const made = await apply(first);
  expect(made.changes).toEqual(trial.changes);
  const same = { network: made.network, changes: [], problems: [], versionChanges: null };
  expect(await apply(first)).toEqual(same);
  expect(await apply(await definitionOf('applied'))).toEqual(same);
  const [front, writer, clerk] = first.agents as [object, object, object];
  const next = {
    ...first,
    description: 'Other.',
    tools: [{ key: 'search' }],
    agents: [
      { ...front, isDefault: false, routes: ['Other-One', 'writer'] },
      { ...writer, isDefault: true, tools: ['search'] },
      { key: 'Other-One' },
    ],
  };
  const told = await apply(next, '?dryRun=true');
  expect(told.network).toEqual(made.network);
  expect(paths(told)).toEqual([
    '$.agents.clerk',
    '$.agents.front.isDefault',
    '$.agents.front.routes',
    '$.agents["other-one"]',
    '$.agents.writer.isDefault',
    '$.agents.writer.tools',
    '$.description',
    '$.tools.save',
  ]);
  expect(told.changes[2]).toEqual({
    path: '$.agents.front.routes',
    from: ['writer', 'clerk'],
    to: ['Other-One', 'writer'],
  });
  expect(told.problems.map(({ path, code }) => [path, code])).toEqual([
    ['agents.Other-One', 'no_way_to_respond'],
  ]);
  expect(await definitionOf('applied')).toMatchObject({ description: null });
  // Made of what it no longer is, a document is refused; of what it is, it is taken.
  const madeOf = (at: string) => `?updatedAt=${encodeURIComponent(at)}`;
  const late = await refused('PUT', `/networks/applied/definition${madeOf('2020-01-01T00:00:00Z')}`, next);
  expect(late).toMatchObject({ status: 409, code: 'network_changed' });
  expect((await apply(next, madeOf(made.network!.updatedAt))).changes).toEqual(told.changes);
  expect(
    await refused('PUT', `/networks/applied/definition${madeOf(made.network!.updatedAt)}`, first),
  ).toMatchObject({ code: 'network_changed' });
  expect((await apply(next)).changes).toEqual([]);
  const turned = { ...next, agents: next.agents.toReversed() };
  expect(paths(await apply(turned))).toEqual(['$.agents']);
  expect((await definitionOf('applied')).agents.map(({ key }) => key)).toEqual([
    'Other-One',
    'writer',
    'front',
  ]);
  // By its id it can be given another name; a name that is not the document's makes nothing.
  await apply({ ...turned, name: 'Renamed' }, '', made.network!.id);
  expect(await refused('PUT', '/networks/other/definition', { name: 'else' })).toMatchObject({ status: 404 });
  expect(await refused('GET', '/networks/else')).toMatchObject({ status: 404 });
  expect(clerk).toBeDefined();
  const both = await Promise.all(Array.from({ length: 6 }, () => apply(helpDesk('Race'), '', 'race')));
  expect(new Set(both.map(({ network }) => network!.id)).size).toBe(1);
});

test('what is being edited can be asked before it is published', async () => {
  const owed = { key: 'search', params: [{ name: 'tenant', source: 'system', required: true }] };
  const { id, publishedAt } = await done<Network>('POST', '/networks', {
    ...helpDesk('Asked'),
    tools: [owed, { key: 'save' }],
  });
  expect(publishedAt).toBeNull();
  const check = (agent: string, action: object, more: object = { draft: true }) =>
    ask<{ code: string | null }>('POST', `/networks/${id}/check`, {
      agent,
      instruction: { action },
      ...more,
    });
  const route = { type: 'ROUTE_TO_AGENT', agent: 'writer' };
  expect(await check('front', route, {})).toMatchObject({ body: { code: 'network_not_published' } });
  expect(await check('front', route)).toMatchObject({ body: { status: 'ok', nextAgent: 'writer' } });
  expect(await check('writer', route)).toMatchObject({ body: { code: 'route_not_allowed' } });
  expect(await check('nobody', route)).toMatchObject({ body: { code: 'unknown_key' } });
  const use = { type: 'USE_TOOL', tool: 'search', params: {} };
  expect(await check('front', use)).toMatchObject({ body: { code: 'missing_system_param' } });
  const given = (systemParams: object) => ({ draft: true, systemParams });
  expect(await check('front', use, given({ tenant: 't-1' }))).toMatchObject({ body: { status: 'ok' } });
  expect(await check('front', use, given({ other: 1 }))).toMatchObject({
    body: { code: 'unknown_system_param' },
  });
  const prompt = { draft: true, agent: 'writer', input: 'Hello.' };
  expect(await done('POST', `/networks/${id}/prompt`, prompt)).toMatchObject({ agent: 'writer' });
  await done('PATCH', `/networks/${id}/agents/front`, { allowRespond: false });
  expect(await check('front', route)).toMatchObject({ status: 422, body: { code: 'network_invalid' } });
  await done('PATCH', `/networks/${id}/agents/front`, { allowRespond: true });
  const { publishedAt: at } = await done<{ publishedAt: string }>('POST', `/networks/${id}/publish`);
  expect(await done('GET', `/networks/${id}`)).toMatchObject({ publishedAt: at });
});

test('agents are added, changed, equipped and removed; what is in the way is told', async () => {
  await done('POST', '/networks', helpDesk('Parts'));
  const at = '/networks/parts/agents';
  const added = await done<NetworkAgent>('POST', at, { key: 'Editor', routes: ['FRONT'], tools: ['save'] });
  expect(added).toMatchObject({ key: 'Editor', routes: ['front'], tools: ['save'], isDefault: false });
  expect(await refused('POST', at, { key: 'EDITOR' })).toMatchObject({ code: 'key_taken', paths: ['key'] });
  expect(await refused('POST', at, { key: 'x', isDefault: true, routes: ['x', 'y'] })).toMatchObject({
    code: 'too_many_defaults',
    paths: ['agents.0.isDefault', 'isDefault', 'routes.1', 'routes.0'],
  });
  const { data } = await done<{ data: NetworkAgent[] }>('GET', at);
  expect(data.map(({ key }) => key)).toEqual(['clerk', 'Editor', 'front', 'writer']);
  expect(await done('PUT', `${at}/editor/routes`, { routes: ['writer', 'clerk', 'WRITER'] })).toMatchObject({
    routes: ['writer', 'clerk'],
  });
  expect(await refused('PUT', `${at}/editor/routes`, { routes: ['writer', 'editor'] })).toMatchObject({
    status: 422,
    code: 'self_route',
    paths: ['routes.1'],
  });
  expect(await refused('PUT', `${at}/editor/tools`, { tools: ['spare'] })).toMatchObject({
    code: 'unknown_key',
    paths: ['tools.0'],
  });
  expect(await done('PUT', `${at}/editor/tools`, { tools: [] })).toMatchObject({ tools: [] });
  // A new key is where routes lead from then on.
  expect(await done('PATCH', `${at}/writer`, { key: 'Author', prompt: 'New.' })).toMatchObject({
    key: 'Author',
    prompt: 'New.',
    tools: ['save', 'Search'],
    routes: ['front'],
  });
  expect((await definitionOf('parts')).agents.find(({ key }) => key === 'Editor')!.routes).toEqual([
    'Author',
    'clerk',
  ]);
  const inUse = await refused('DELETE', `${at}/author`);
  expect(inUse).toMatchObject({ status: 409, code: 'agent_in_use' });
  expect(inUse.detail).toContain('from "front", "Editor"');
  await done('DELETE', `${at}/EDITOR`);
  expect(await refused('DELETE', `${at}/editor`)).toMatchObject({ status: 404 });
  expect(await refused('PATCH', `${at}/editor`, { prompt: 'x' })).toMatchObject({ status: 404 });
  const graph = await done<{ adjacency: object[]; agents: NetworkAgent[]; tools: NetworkTool[] }>(
    'GET',
    '/networks/parts/graph',
  );
  expect(graph.adjacency).toEqual([
    { from: 'front', to: 'Author' },
    { from: 'front', to: 'clerk' },
    { from: 'Author', to: 'front' },
    { from: 'clerk', to: 'front' },
  ]);
  expect(graph.tools).toMatchObject([
    { key: 'Search', kind: 'echo', toolId: tools.Search!.id, usedBy: ['front', 'Author'] },
    { key: 'save', description: 'Keeps it.', usedBy: ['Author'] },
  ]);
  const left = await refused('PUT', '/networks/parts/tools', {
    tools: [{ key: 'spare' }, { key: 'search' }],
  });
  expect(left).toMatchObject({ status: 409, code: 'tool_in_use' });
  expect(left.detail).toContain('"save" by Author');
  const params = [{ name: 'q', source: 'system', required: true }];
  const set = await done<{ data: NetworkTool[] }>('PUT', '/networks/parts/tools', {
    tools: [{ key: 'spare' }, { key: 'search', params }, { key: 'save' }],
  });
  expect(set.data.map(({ key }) => key)).toEqual(['save', 'Search', 'spare']);
  expect(set.data[1]!.params).toEqual([{ ...params[0], schema: {} }]);
  expect(await done('GET', '/networks/parts/tools')).toEqual(set);
  expect((await definitionOf('parts')).tools.map(({ key }) => key)).toEqual(['spare', 'Search', 'save']);
});

test('edits at the same time are made one after the other', async () => {
  await done('POST', '/networks', { name: 'Busy' });
  await Promise.all(
    Array.from({ length: 12 }, (_, n) => done('POST', '/networks/busy/agents', { key: `a${n}` })),
  );
  expect(await done('GET', '/networks/busy')).toMatchObject({ agentCount: 12 });
  // Each is judged by what the one before it left.
  const both = Array.from({ length: 8 }, (_, n) =>
    refused('POST', '/networks/busy/agents', { key: `d${n}`, isDefault: true }),
  );
  const codes = (await Promise.all(both)).map(({ code }) => code ?? 'made');
  expect(codes.toSorted()).toEqual(['made', ...Array.from({ length: 7 }, () => 'too_many_defaults')]);
});

test('what a network has is neither deleted nor archived, and the refusal says where it is', async () => {
  const provider = await done<{ id: string }>('POST', '/providers', { kind: 'demo', name: 'named' });
  const model = await done<Model>('POST', `/providers/${provider.id}/models`, { modelId: 'm' });
  const agent = await done<Agent>('POST', '/agents', { name: 'Ada' });
  const tool = await done<Tool>('POST', '/tools', { name: 'held', kind: 'echo' });
  const parts = { agentId: agent.id.toUpperCase(), modelId: model.id.toUpperCase() };
  await done('POST', '/networks', {
    name: 'Uses',
    tools: [{ key: 'held' }],
    agents: [{ key: 'one', ...parts }],
  });
  const cases = [
    [`/tools/${tool.id}`, 'tool_in_use', 'the network "Uses"'],
    [`/models/${model.id}`, 'in_use', 'the agent "one" of the network "Uses"'],
    [`/agents/${agent.id}`, 'agent_in_use', 'the agent "one" of the network "Uses"'],
  ] as const;
  for (const [path, code, said] of cases) {
    const problem = await refused('DELETE', path);
    expect(problem).toMatchObject({ status: 409, code });
    expect(problem.detail).toContain(said);
  }
  expect(await refused('PATCH', `/agents/${agent.id}`, { status: 'archived' })).toMatchObject({
    code: 'agent_in_use',
  });
  // A model that is disabled later does not stand in the way of other edits.
  await done('PATCH', `/models/${model.id}`, { status: 'disabled' });
  await done('PATCH', '/networks/uses/agents/one', { prompt: 'x' });
  const other = await done<Model>('POST', `/providers/${provider.id}/models`, { modelId: 'other' });
  await done('PATCH', `/models/${other.id}`, { status: 'disabled' });
  expect(await refused('POST', '/networks/uses/agents', { key: 'two', modelId: other.id })).toMatchObject({
    code: 'model_not_found',
    paths: ['modelId'],
  });
  await done('DELETE', '/networks/uses');
  for (const [path] of cases) await done('DELETE', path);
});

test('an archived network is not edited', async () => {
  const { id } = await done<Network>('POST', '/networks', helpDesk('Old'));
  await server.db.pool.query(`update troupe.networks set status = 'archived' where id = $1`, [id]);
  const edits = [
    ['PATCH', '', { description: 'x' }],
    ['PUT', '/definition', helpDesk('Old')],
    ['POST', '/agents', { key: 'x' }],
    ['DELETE', '/agents/writer'],
    ['PUT', '/tools', { tools: [] }],
  ] as const;
  for (const [method, path, body] of edits)
    expect(await refused(method, `/networks/old${path}`, body)).toMatchObject({ code: 'network_archived' });
  await done('POST', '/networks/old/copy', { name: 'Young' });
  await done('DELETE', '/networks/old');
});

test('a tool says who gives its parameters; its schema follows from those that the agent gives', async () => {
  const params = [
    { name: 'city', required: true, schema: { type: 'string' } },
    { name: 'days', schema: { type: 'integer' }, default: 3 },
    { name: 'tenant', source: 'system', required: true },
    { name: 'unit', source: 'default', defaultValue: 'C' },
  ];
  const tool = await done<Tool>('POST', '/tools', { name: 'forecast', kind: 'echo', params });
  expect(tool.inputSchema).toEqual({
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', default: 3 } },
    required: ['city'],
    additionalProperties: false,
  });
  expect(tool.effect).toBe('pure');
  expect(await done('GET', `/tools/${tool.id}`)).toEqual(tool);
  const trial = await done<ToolTrial>('POST', `/tools/${tool.id}/try`, { arguments: { city: 'Oslo' } });
  expect(trial).toMatchObject({ ok: true, output: { echo: { city: 'Oslo' } } });
  const fewer = await done<Tool>('PATCH', `/tools/${tool.id}`, { params: [params[0]] });
  expect(fewer.inputSchema).toMatchObject({ properties: { city: {} }, required: ['city'] });
  expect(fewer.version).toBe(2);
  const own = { type: 'object', properties: { a: {} } };
  const chosen = await done<Tool>('PATCH', `/tools/${tool.id}`, { inputSchema: own });
  expect((await done<Tool>('PATCH', `/tools/${chosen.id}`, { params: null })).inputSchema).toEqual(own);
  expect(
    await refused('POST', '/tools', { name: 'bad', kind: 'echo', params: [params[0], params[0]] }),
  ).toMatchObject({
    code: 'tool_invalid',
    paths: ['params.1.name'],
  });
});

test('a network of 1,000 agents, 2,000 tools and 10,000 routes is applied over HTTP', async () => {
  await server.db.pool.query(
    `insert into troupe.tools (id, project_id, name, description, kind, input_schema, effect, config)
      select gen_random_uuid(), project_id, 'Large' || n, '', 'echo', '{"type":"object"}', 'pure', '{}'
      from generate_series(0, 1999) n, troupe.tools where id = $1`,
    [tools.save!.id],
  );
  const large = (turn: number) => ({
    name: 'Large',
    tools: Array.from({ length: 2000 }, (_, n) => ({
      key: `large${n}`,
      params: [{ name: 'x', schema: { type: 'string', maxLength: (n % 200) + 1 } }],
    })),
    agents: Array.from({ length: 1000 }, (_, n) => ({
      key: `a${n}`,
      tools: [`large${n}`],
      routes: Array.from({ length: 10 }, (_, step) => `a${(n + (step + 1) * turn) % 1000}`),
    })),
  });
  const apply = async (definition: object) => {
    const elapsed = stopwatch();
    const { changes } = await done<{ changes: Change[] }>('PUT', '/networks/large/definition', definition);
    return { changes: changes.length, ms: elapsed() };
  };
  const first = await apply(large(1));
  expect(first.changes).toBe(3001);
  const again = await apply(large(1));
  expect(again.changes).toBe(0);
  const other = await apply(large(3));
  expect(other.changes).toBe(1000);
  // One among thousands is found, and not by looking at each.
  const wrong = { ...large(3), name: 'Wrong' };
  wrong.tools[1234]!.params[0]!.schema.type = 'nothing';
  const elapsed = stopwatch();
  expect(await refused('POST', '/networks', wrong)).toMatchObject({
    code: 'tool_schema_invalid',
    paths: ['tools.1234.params.0.schema'],
  });
  // It is about a second where nothing else runs; this is for what grows with the square of the size.
  expect(Math.max(first.ms, again.ms, other.ms, elapsed())).toBeLessThan(10_000);
});
