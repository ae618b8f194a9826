import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject, Network, NetworkDefinition, NetworkVersion, Tool, Verdict } from '@troupe/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, NetworkFixture, respond, route, turns } from '../networks/fixture.ts';
import document from './networks.json' with { type: 'json' };

let fixture: NetworkFixture;
let outside: Server;
let address: string;
const authorizations: (string | undefined)[] = [];
beforeAll(async () => {
  outside = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  });
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(outside.address() as AddressInfo).port}`;
  fixture = await NetworkFixture.open({ allow: [address] });
});
afterAll(async () => {
  await fixture.server.close();
  outside.close();
});

const agent = (key: string, more: object = {}) => ({ key, prompt: `I am ${key}.`, ...more });
const tenant = { name: 'tenant', source: 'system', required: true, schema: { type: 'string', minLength: 3 } };

async function withTenant(name: string): Promise<string> {
  await fixture.done('POST', '/v1/tools', { name: `${name}_tool`, kind: 'echo', params: [tenant] });
  return fixture.network({
    name,
    tools: [{ key: `${name}_tool` }],
    agents: [agent('one', { allowRespond: true, tools: [`${name}_tool`] })],
  });
}

test('002: a system parameter that does not fit its schema is the fault of the operator and fails the run', async () => {
  const network = await withTenant('strict');
  const say = turns(call('strict_tool'), respond('done'));
  const wrong = await fixture.play(network, say, { systemParams: { tenant: 7_351_246 } });
  expect(wrong.invoked).toMatchObject({ status: 'failed', error: { code: 'invalid_system_param' } });
  expect(wrong.invoked.error!.message).toContain('"tenant" of the tool "strict_tool"');
  expect(wrong.run.calls).toEqual([]);
  expect(wrong.shown).toHaveLength(1);
  expect(JSON.stringify([wrong.invoked, wrong.messages, wrong.events])).not.toContain('7351246');
  const right = await fixture.play(network, say, { systemParams: { tenant: 't-100' } });
  expect(right.invoked).toMatchObject({ status: 'completed' });
});

test('002: the check of an instruction gives the verdict error for a system parameter that does not fit', async () => {
  const network = await withTenant('checked');
  const check = (systemParams: JsonObject) =>
    fixture.done<Verdict>('POST', `/v1/networks/${network}/check`, {
      agent: 'one',
      instruction: { action: { type: 'USE_TOOL', tool: 'checked_tool', params: {} } },
      systemParams,
    });
  expect(await check({ tenant: 'ab' })).toMatchObject({ status: 'error', code: 'invalid_system_param' });
  expect(await check({ tenant: { deep: 'confidential' } })).toMatchObject({ status: 'error' });
  expect(JSON.stringify(await check({ tenant: { deep: 'confidential' } }))).not.toContain('confidential');
  expect(await check({ tenant: 'abc' })).toMatchObject({ status: 'ok' });
  expect(await check({})).toMatchObject({ status: 'error', code: 'missing_system_param' });
});

test('002: a system parameter of an agent that was given a task is checked as well', async () => {
  await fixture.done('POST', '/v1/tools', { name: 'tasked_tool', kind: 'echo', params: [tenant] });
  const network = await fixture.network({
    name: 'tasked',
    tools: [{ key: 'tasked_tool' }],
    agents: [
      agent('lead', { allowRespond: true, allowTaskGroup: true, isDefault: true, routes: ['hand'] }),
      agent('hand', { tools: ['tasked_tool'] }),
    ],
  });
  const script = (request: { messages: { role: string; text?: string }[]; step: number }, key: string) => {
    if (key === 'hand') return call('tasked_tool');
    const [asked] = request.messages;
    return request.step === 1
      ? call('delegate_to_agent', { agent: 'hand', assignment: asked!.text! })
      : respond('done');
  };
  const { run } = await fixture.play(network, script as never, { systemParams: { tenant: 'x' } });
  expect(run.calls).toMatchObject([
    { error: { message: expect.stringContaining('does not fit its schema') } },
  ]);
});

test('002: a version has an id and a creation time, and a network refers to its current version by id and number', async () => {
  const network = await withTenant('dated');
  const read = () => fixture.done<Network>('GET', `/v1/networks/${network}`);
  const versions = async () =>
    (await fixture.done<{ data: NetworkVersion[] }>('GET', `/v1/networks/${network}/versions`)).data;
  const [first] = await versions();
  expect(first).toMatchObject({ version: 1, networkId: network, isCurrent: true });
  expect(first!.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(Date.parse(first!.createdAt)).toBeLessThanOrEqual(Date.parse(first!.publishedAt));
  expect(await read()).toMatchObject({ currentVersion: 1, currentVersionId: first!.id });

  await fixture.done('PATCH', `/v1/networks/${network}`, { policy: { maxSteps: 9 } });
  const second = await fixture.done<NetworkVersion>('POST', `/v1/networks/${network}/publish`, {});
  expect(await read()).toMatchObject({ currentVersion: 2, currentVersionId: second.id });
  await fixture.done('POST', `/v1/networks/${network}/rollback`, { version: 1 });
  expect(await read()).toMatchObject({ currentVersion: 1, currentVersionId: first!.id });
  const draft = await fixture.done<Network>('POST', '/v1/networks', { name: 'never published' });
  expect(draft).toMatchObject({ currentVersion: null, currentVersionId: null });
});

test('002: every version has a snapshot of its own, also if an earlier one has the same content', async () => {
  const network = await withTenant('own');
  const steps = async (maxSteps: number) => {
    await fixture.done('PATCH', `/v1/networks/${network}`, { policy: { maxSteps } });
    return fixture.done<NetworkVersion>('POST', `/v1/networks/${network}/publish`, {});
  };
  await steps(9);
  await steps(25);
  const { data } = await fixture.done<{ data: NetworkVersion[] }>('GET', `/v1/networks/${network}/versions`);
  expect(data.map(({ version }) => version)).toEqual([3, 2, 1]);
  expect(data[0]!.checksum).toBe(data[2]!.checksum);
  expect(new Set(data.map(({ snapshotId }) => snapshotId)).size).toBe(3);
});

test('002: the database refuses a current version that the network does not have, and a shared snapshot', async () => {
  const network = await withTenant('kept');
  const { pool } = fixture.server.db;
  await expect(
    pool.query('update troupe.networks set current_version = 9 where id = $1', [network]),
  ).rejects.toMatchObject({ constraint: 'networks_current_version_fkey' });
  await expect(
    pool.query(
      `insert into troupe.network_versions (network_id, version, snapshot_id, definition, created_by, published_by)
        select network_id, 2, snapshot_id, definition, created_by, published_by from troupe.network_versions
        where network_id = $1`,
      [network],
    ),
  ).rejects.toMatchObject({ constraint: 'network_versions_snapshot_id_key' });
});

test('002: a default value is called defaultValue, and the former name is accepted', async () => {
  const params = (field: string) => [{ name: 'unit', source: 'default', [field]: 'C' }];
  for (const field of ['default', 'defaultValue', 'default_value']) {
    const name = `unit_${field}`;
    const tool = await fixture.done<Tool>('POST', '/v1/tools', { name, kind: 'echo', params: params(field) });
    expect(tool.params).toEqual([
      { name: 'unit', source: 'default', required: false, defaultValue: 'C', schema: {} },
    ]);
  }
  const both = [{ name: 'unit', source: 'default', default: 'C', defaultValue: 'F' }];
  expect(await fixture.refused('POST', '/v1/tools', { name: 'both', kind: 'echo', params: both })).toBe(
    'invalid_request',
  );
});

test('002: an http tool sends the secret that secretRef names, and never exposes it', async () => {
  await fixture.done('PUT', '/v1/secrets/WEATHER_KEY', { value: 'secret-4f1c9a77b2' });
  const tool = await fixture.done<Tool>('POST', '/v1/tools', {
    name: 'weather',
    kind: 'http',
    secretRef: 'WEATHER_KEY',
    request: { url: `http://${address}/weather` },
  });
  expect(tool).toMatchObject({ secretRef: 'WEATHER_KEY', request: { headers: {} } });
  const trial = await fixture.done('POST', `/v1/tools/${tool.id}/try`, {});
  expect(trial).toMatchObject({ ok: true });
  expect(authorizations).toEqual(['Bearer secret-4f1c9a77b2']);
  expect(JSON.stringify(trial)).not.toContain('4f1c9a77b2');
});

test('002: a network whose tool names a secret that is not set cannot be published', async () => {
  await fixture.done('POST', '/v1/tools', { name: 'unset', kind: 'echo', secretRef: 'NOT_SET' });
  await fixture.done('POST', '/v1/networks', {
    name: 'unset',
    tools: [{ key: 'unset' }],
    agents: [agent('one', { allowRespond: true, tools: ['unset'] })],
  });
  const { problems } = await fixture.done<{ problems: object[] }>('POST', '/v1/networks/unset/validate');
  expect(problems).toMatchObject([{ path: 'tools.unset', code: 'secret_missing' }]);
});

test('002: the JSON of the document for tools and networks loads unchanged', async () => {
  await fixture.done('PUT', '/v1/secrets/ORDERS_KEY', { value: 'a secret for orders' });
  const tools = [];
  for (const tool of document.tools) tools.push(await fixture.done<Tool>('POST', '/v1/tools', tool));
  expect(tools).toMatchObject([
    {
      name: 'lookup_order',
      displayName: 'Look up an order',
      kind: 'echo',
      params: [{ name: 'order' }, { name: 'tenant', source: 'system' }, { name: 'limit', defaultValue: 10 }],
      secretRef: 'ORDERS_KEY',
      metadata: { team: 'orders' },
    },
    { name: 'note', inputSchema: { required: ['text'] }, secretRef: null },
  ]);

  const network = await fixture.done<Network>('POST', '/v1/networks', document.network);
  const definition = await fixture.done<NetworkDefinition>('GET', '/v1/networks/Orders/definition');
  expect(definition).toMatchObject({
    policy: { maxSteps: 12, retries: 2, retryBackoffMs: 50 },
    agents: [
      {
        key: 'triage',
        allowRespond: false,
        tools: ['note'],
        routes: ['clerk'],
        metadata: { shift: 'day' },
      },
      { key: 'clerk', allowRespond: true, tools: ['lookup_order'], routes: ['triage'] },
    ],
  });
  await fixture.done('PATCH', '/v1/networks/Orders/agents/triage', {
    isDefault: true,
    prompt: 'I am triage.',
  });
  await fixture.done('PATCH', '/v1/networks/Orders/agents/clerk', { prompt: 'I am clerk.' });
  await fixture.done('POST', '/v1/networks/Orders/publish', {});
  const { invoked, run } = await fixture.play(
    network.id,
    turns(route('clerk'), call('lookup_order', { order: '7' }), respond('found')),
    { systemParams: { tenant: 'acme' } },
  );
  expect(invoked).toMatchObject({ status: 'completed', agent: 'clerk' });
  expect(run.calls).toMatchObject([{ tool: 'lookup_order', status: 'completed' }]);
});

test('002: an edge from an unknown agent is refused', async () => {
  const wrong = { ...document.network, name: 'Wrong', adjacency: [{ from: 'nobody', to: 'clerk' }] };
  const { status, body } = await fixture.ask<{ issues: { path: string }[] }>('POST', '/v1/networks', wrong);
  expect(status).toBe(422);
  expect(body.issues).toMatchObject([{ path: 'adjacency.0' }]);
});

test('002: a network, its agents, tools and versions have the fields of the document', async () => {
  await fixture.done('POST', '/v1/tools', {
    name: 'fields_tool',
    kind: 'echo',
    displayName: 'A tool',
    metadata: { a: 1 },
  });
  const network = await fixture.done<Network>('POST', '/v1/networks', {
    name: 'fields',
    description: 'Has them all.',
    tools: [{ key: 'fields_tool' }],
    agents: [
      agent('one', {
        displayName: 'One',
        description: 'First.',
        routes: ['two'],
        metadata: { b: 2 },
        isDefault: true,
      }),
      agent('two', { allowRespond: true, tools: ['fields_tool'] }),
    ],
  });
  const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
  expect(network).toMatchObject({ id: uuid, name: 'fields', description: 'Has them all.', status: 'draft' });
  const { data: agents } = await fixture.done<{ data: object[] }>('GET', '/v1/networks/fields/agents');
  expect(agents).toMatchObject([
    {
      key: 'one',
      networkId: network.id,
      displayName: 'One',
      description: 'First.',
      allowRespond: false,
      metadata: { b: 2 },
    },
    { key: 'two', allowRespond: true },
  ]);
  const { data: tools } = await fixture.done<{ data: object[] }>('GET', '/v1/tools?name=fields_tool');
  expect(tools).toMatchObject([
    {
      id: uuid,
      name: 'fields_tool',
      displayName: 'A tool',
      description: '',
      kind: 'echo',
      secretRef: null,
      metadata: { a: 1 },
    },
  ]);
  const version = await fixture.done<NetworkVersion>('POST', '/v1/networks/fields/publish', {
    notes: 'First.',
  });
  expect(version).toMatchObject({
    id: uuid,
    networkId: network.id,
    version: 1,
    createdBy: expect.any(String),
    createdAt: expect.any(String),
    publishedBy: expect.any(String),
    publishedAt: expect.any(String),
    notes: 'First.',
    snapshotId: uuid,
    checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(await fixture.done('GET', '/v1/networks/fields')).toMatchObject({ status: 'published' });
  await fixture.done('POST', '/v1/networks/fields/archive', {});
  expect(await fixture.done('GET', '/v1/networks/fields')).toMatchObject({ status: 'archived' });
});

test('002: names and keys are unique case-insensitively, and an agent has no route to itself', async () => {
  await fixture.done('POST', '/v1/networks', { name: 'unique' });
  expect(await fixture.refused('POST', '/v1/networks', { name: 'UNIQUE' })).toBe('name_taken');
  await fixture.done('POST', '/v1/tools', { name: 'unique_tool', kind: 'echo' });
  expect(await fixture.refused('POST', '/v1/tools', { name: 'Unique_Tool', kind: 'echo' })).toBe(
    'name_taken',
  );
  const add = (body: object) => fixture.refused('POST', '/v1/networks/unique/agents', body);
  await fixture.done('POST', '/v1/networks/unique/agents', agent('desk'));
  expect(await add(agent('Desk'))).toBe('key_taken');
  expect(await add(agent('self', { routes: ['self'] }))).toBe('self_route');
  const other = await fixture.done<Network>('POST', '/v1/networks', {
    name: 'unique too',
    agents: [agent('desk')],
  });
  expect(other.agentCount).toBe(1);
});

test('002: an agent has a tool and a route once', async () => {
  await fixture.done('POST', '/v1/tools', { name: 'pair_tool', kind: 'echo' });
  const { pool } = fixture.server.db;
  await fixture.done('POST', '/v1/networks', {
    name: 'pairs',
    tools: [{ key: 'pair_tool' }],
    agents: [agent('one', { tools: ['pair_tool'], routes: ['two'] }), agent('two')],
  });
  for (const table of ['network_agent_tools', 'network_routes'])
    await expect(
      pool.query(`insert into troupe.${table} select * from troupe.${table} limit 1`),
    ).rejects.toMatchObject({
      code: '23505',
    });
  await expect(pool.query('update troupe.network_routes set to_id = from_id')).rejects.toMatchObject({
    code: '23514',
  });
});

test('002: the compiled snapshot has the agents, tools, adjacency, policy and maps of the document', async () => {
  await fixture.done('POST', '/v1/tools', {
    name: 'compiled_tool',
    kind: 'echo',
    description: 'Repeats.',
    params: [tenant, { name: 'unit', source: 'default', defaultValue: 'C' }, { name: 'q', required: true }],
  });
  await fixture.network({
    name: 'compiled',
    policy: { maxSteps: 7, retries: 1, retryBackoffMs: 20 },
    tools: [{ key: 'compiled_tool' }],
    agents: [
      agent('one', { isDefault: true, routes: ['two'], metadata: { m: 1 } }),
      agent('two', { allowRespond: true, tools: ['compiled_tool'] }),
    ],
  });
  const version = await fixture.done<{ snapshot: { network: JsonObject } }>(
    'GET',
    '/v1/networks/compiled/versions/1',
  );
  expect(version.snapshot.network).toMatchObject({
    agents: [
      { key: 'one', allowRespond: false, equippedTools: [], allowedRoutes: ['two'], metadata: { m: 1 } },
      { key: 'two', allowRespond: true, equippedTools: ['compiled_tool'], allowedRoutes: [] },
    ],
    tools: [
      {
        key: 'compiled_tool',
        description: 'Repeats.',
        params: [
          { name: 'tenant', source: 'system', required: true, schema: { type: 'string' } },
          { name: 'unit', source: 'default', required: false, defaultValue: 'C' },
          { name: 'q', source: 'agent', required: true },
        ],
      },
    ],
    adjacency: [{ from: 'one', to: 'two' }],
    policy: { maxSteps: 7, retries: 1, retryBackoffMs: 20 },
    validation: {
      allowedTools: { one: [], two: ['compiled_tool'] },
      allowedRoutes: { one: ['two'], two: [] },
      canRespond: { one: false, two: true },
    },
  });
});

test('003: a message of the role system has a text', async () => {
  const network = await fixture.network({
    name: 'spoken',
    agents: [agent('one', { isDefault: true, routes: ['two'] }), agent('two', { allowRespond: true })],
  });
  const { messages } = await fixture.play(network, turns(route('two'), respond('done')));
  const [system] = messages.filter(({ role }) => role === 'system');
  expect(system!.content).toEqual({ text: expect.stringContaining('two') });
});

test('002: a network overrides description and parameters of a tool, and a default is what it says', async () => {
  await fixture.done('POST', '/v1/tools', {
    name: 'overridden',
    kind: 'echo',
    description: 'As the project has it.',
    params: [{ name: 'q', required: true }],
  });
  const network = await fixture.network({
    name: 'overriding',
    tools: [
      {
        key: 'overridden',
        description: 'As the network has it.',
        params: [
          { name: 'q', required: true, schema: { type: 'string' } },
          { name: 'most', defaultValue: 5, schema: { type: 'integer' } },
          { name: 'unit', source: 'default', required: true, defaultValue: 'C' },
        ],
      },
    ],
    agents: [agent('one', { allowRespond: true, tools: ['overridden'] })],
  });
  const { run, shown } = await fixture.play(network, turns(call('overridden', { q: 'x' }), respond('done')));
  expect(run.calls).toMatchObject([
    { status: 'completed', output: { echo: { q: 'x', most: 5, unit: 'C' } } },
  ]);
  const offered = shown[0]!.tools.find(({ name }) => name === 'overridden')!;
  expect(offered.description).toBe('As the network has it.');
  expect(Object.keys(offered.inputSchema.properties as object)).toEqual(['q', 'most']);
});
