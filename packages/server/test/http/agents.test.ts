import type { Agent, AgentVersion, Capability, Change } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { AgentsFixture } from '../agents/fixture.ts';

let fixture: AgentsFixture;
beforeAll(async () => {
  fixture = await AgentsFixture.open(inject('postgresUrl'));
});
afterAll(() => fixture.close());

const full = {
  description: 'Helps.',
  systemPrompt: 'You help.',
  tags: ['one', 'two'],
  capabilities: [
    { id: 'current_time', config: {} },
    { id: 'noop', config: {} },
  ],
  limits: { steps: 3 },
  inDoubt: 'wait',
  metadata: { team: { name: 'a' } },
};

test('an agent is made with its entity, its first version, its snapshot and a note in the audit log', async () => {
  const agent = await fixture.createAgent({ name: '  Whole ', ...full });
  expect(agent).toMatchObject({
    name: 'Whole',
    ...full,
    defaultModelId: null,
    fallbackModelIds: [],
    version: 1,
    status: 'active',
  });
  expect(await fixture.get(`/v1/agents/${agent.id}`)).toEqual(agent);
  const entity = await fixture.db.rows
    .selectFrom('entities')
    .select(['id', 'type', 'display_name'])
    .where('agent_id', '=', agent.id)
    .executeTakeFirstOrThrow();
  expect(entity).toEqual({ id: agent.entityId, type: 'agent', display_name: 'Whole' });
  const version = await fixture.get<AgentVersion>(`/v1/agents/${agent.id}/versions/1`);
  expect(version).toMatchObject({ agentId: agent.id, version: 1, notes: null });
  expect(version.checksum).toMatch(/^[0-9a-f]{64}$/);
  expect(version.definition).toMatchObject({ name: 'Whole', ...full });
  expect(await fixture.audit(agent.id)).toMatchObject([
    { action: 'agent.created', actor_kind: 'key', actor_id: 'the-key' },
  ]);
});

test('what is not said has a default; limits that are not set stay unset', async () => {
  const agent = await fixture.createAgent({ name: 'bare' });
  expect(agent).toMatchObject({
    description: null,
    systemPrompt: '',
    tags: [],
    capabilities: [],
    limits: {},
    inDoubt: 'tell',
    metadata: {},
  });
});

test('names are unique in a project without regard to case, archived ones included', async () => {
  const agent = await fixture.createAgent({ name: 'Unique Name' });
  const other = await fixture.createAgent({ name: 'other' });
  const again = await fixture.send('POST', '/v1/agents', { body: { name: 'uNIQUE nAME' } });
  expect([again.status, again.body.code]).toEqual([409, 'name_taken']);
  const renamed = await fixture.send('PATCH', `/v1/agents/${other.id}`, { body: { name: 'unique name' } });
  expect([renamed.status, renamed.body.code]).toEqual([409, 'name_taken']);
  expect((await fixture.get<Agent>(`/v1/agents/${other.id}`)).version).toBe(1);
  await fixture.send('DELETE', `/v1/agents/${agent.id}`);
  expect((await fixture.send('POST', '/v1/agents', { body: { name: 'unique name' } })).status).toBe(409);
  expect((await fixture.createAgent({ name: 'unique name' }, fixture.there)).version).toBe(1);
});

test('the case of a name does not matter in any script, nor how an accent is written', async () => {
  const taken = async (name: string) => (await fixture.send('POST', '/v1/agents', { body: { name } })).status;
  for (const [name, ...same] of [
    ['Ärger', 'ärger', 'ÄRGER', 'a\u0308rger'],
    ['ΑΘΗΝΑ', 'αθηνα'],
    ['Привет', 'ПРИВЕТ'],
    ['Full', 'ＦＵＬＬ'],
  ] as const) {
    const agent = await fixture.createAgent({ name });
    expect(agent.name).toBe(name);
    for (const other of same) expect([other, await taken(other)]).toEqual([other, 409]);
  }
  expect(await taken('Arger')).toBe(201);
});

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}

test('a refused agent leaves nothing behind', async () => {
  const count = async () => {
    const { rows } = await fixture.db.pool.query(
      `select (select count(*) from troupe.agents) + (select count(*) from troupe.entities) + (select count(*) from troupe.audit_log)
        + (select count(*) from troupe.agent_versions) + (select count(*) from troupe.compiled_snapshots) as rows`,
    );
    return rows[0].rows as number;
  };
  await fixture.createAgent({ name: 'there already' });
  const before = await count();
  const refused: [object, string][] = [
    [{ name: 'There already', systemPrompt: 'new text' }, 'name_taken'],
    [{ name: 'a1', defaultModelId: newId() }, 'model_not_found'],
    [{ name: 'a2', fallbackModelIds: [newId()] }, 'model_not_found'],
    [{ name: 'a3', capabilities: [{ id: 'noop' }, { id: 'flying' }] }, 'capability_unknown'],
    [{ name: 'a4', capabilities: [{ id: 'delegation', config: { depth: 0 } }] }, 'invalid_request'],
    [{ name: 'a5', capabilities: [{ id: 'noop' }, { id: 'noop' }] }, 'invalid_request'],
    [{ name: 'a6', capabilities: [{ id: 'noop', config: { a: 1 } }] }, 'invalid_request'],
    [{ name: 'a7\0' }, 'invalid_request'],
    [{ name: 'a8', systemPrompt: 'half \ud800' }, 'invalid_request'],
    [{ name: 'a9', metadata: { 'key\0': 1 } }, 'invalid_request'],
    [{ name: 'a10', colour: 'red' }, 'invalid_request'],
    [{ name: 'a11', limits: { steps: 0 } }, 'invalid_request'],
    [{ name: 'a12', limits: { hops: 1 } }, 'invalid_request'],
    [{ name: 'a13', metadata: { a: nested(200) } }, 'invalid_request'],
    [{ name: ' ' }, 'invalid_request'],
    [{}, 'invalid_request'],
  ];
  for (const [body, code] of refused) {
    const answer = await fixture.send('POST', '/v1/agents', { body });
    expect([JSON.stringify(body), answer.body.code]).toEqual([JSON.stringify(body), code]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  }
  const deep = `{"name":"deep","metadata":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
  const answer = await fixture.send('POST', '/v1/agents', { body: deep, type: 'application/json' });
  expect([answer.status, answer.body.code]).toEqual([422, 'invalid_request']);
  expect(await count()).toBe(before);
  const unknown = await fixture.send('POST', '/v1/agents', {
    body: { name: 'b', capabilities: [{ id: 'flying' }] },
  });
  expect(unknown.body.detail).toContain('"flying"');
  expect(unknown.body.issues).toEqual([
    { path: 'capabilities.0.id', message: expect.stringContaining('flying') },
  ]);
});

test('a patch changes what it names, null clears, and only a change makes a version', async () => {
  const model = await fixture.createModel();
  const agent = await fixture.createAgent({ name: 'patched', ...full, defaultModelId: model.id });
  const same = await fixture.patchAgent(agent.id, { ...full, name: 'patched', notes: 'nothing' });
  expect(same).toEqual(agent);
  const renamed = await fixture.patchAgent(agent.id, { name: 'Patched', notes: 'a capital letter' });
  expect(renamed).toMatchObject({ ...full, name: 'Patched', defaultModelId: model.id, version: 2 });
  const cleared = await fixture.patchAgent(agent.id, {
    description: null,
    defaultModelId: null,
    systemPrompt: '',
    tags: [],
    capabilities: [],
    limits: {},
    metadata: {},
  });
  expect(cleared).toMatchObject({
    description: null,
    defaultModelId: null,
    systemPrompt: '',
    tags: [],
    capabilities: [],
    limits: {},
    metadata: {},
    inDoubt: 'wait',
    version: 3,
  });
  expect(await fixture.get(`/v1/agents/${agent.id}`)).toEqual(cleared);
  const lists = { fallbackModelIds: [model.id], tags: ['a'], capabilities: full.capabilities };
  const filled = { ...lists, systemPrompt: 'Hi', limits: { steps: 3 }, metadata: { a: 1 } };
  const again = await fixture.createAgent({ name: 'cleared by null', ...filled });
  expect(again).toMatchObject(filled);
  const nulls = Object.fromEntries(Object.keys(filled).map((field) => [field, null]));
  expect(await fixture.patchAgent(again.id, nulls)).toMatchObject({
    ...{ fallbackModelIds: [], tags: [], capabilities: [], systemPrompt: '', limits: {}, metadata: {} },
    version: 2,
  });
  for (const field of ['name', 'inDoubt', 'status']) {
    const body = { [field]: null };
    expect((await fixture.send('PATCH', `/v1/agents/${again.id}`, { body })).status).toBe(422);
  }
  const versions = await fixture.get<{ data: AgentVersion[] }>(`/v1/agents/${agent.id}/versions`);
  expect(versions.data.map(({ version, notes }) => [version, notes])).toEqual([
    [3, null],
    [2, 'a capital letter'],
    [1, null],
  ]);
  const entity = await fixture.db.rows
    .selectFrom('entities')
    .select('display_name')
    .where('id', '=', agent.entityId)
    .executeTakeFirst();
  expect(entity?.display_name).toBe('Patched');
});

test('the order of capabilities can be turned around', async () => {
  const agent = await fixture.createAgent({ name: 'ordered', capabilities: full.capabilities });
  const turned = [...full.capabilities].reverse();
  expect((await fixture.patchAgent(agent.id, { capabilities: turned })).capabilities).toEqual(turned);
});

test('a change made on a version that is no longer the current one is refused and changes nothing', async () => {
  const agent = await fixture.createAgent({ name: 'edited by two' });
  const first = await fixture.patchAgent(agent.id, { systemPrompt: 'Mine.', baseVersion: 1 });
  expect(first).toMatchObject({ version: 2, systemPrompt: 'Mine.' });
  const late = await fixture.send('PATCH', `/v1/agents/${agent.id}`, {
    body: { systemPrompt: 'Yours.', baseVersion: 1 },
  });
  expect([late.status, (late.body as { code: string }).code]).toEqual([409, 'version_conflict']);
  expect(await fixture.get<Agent>(`/v1/agents/${agent.id}`)).toEqual(first);
});

test('patches at once give consecutive versions and lose nothing', async () => {
  const agent = await fixture.createAgent({ name: 'contended' });
  const patches = Array.from({ length: 24 }, (_, index) =>
    index % 2 === 0 ? { systemPrompt: `prompt ${index}` } : { metadata: { index } },
  );
  const made = await Promise.all(patches.map((patch) => fixture.patchAgent(agent.id, patch)));
  expect(made.map(({ version }) => version).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 24 }, (_, index) => index + 2),
  );
  const { data } = await fixture.get<{ data: AgentVersion[] }>(`/v1/agents/${agent.id}/versions?limit=100`);
  expect(data.map(({ version }) => version)).toEqual(Array.from({ length: 25 }, (_, index) => 25 - index));
  // Each version differs from the one before in the one field that its patch names: none overwrote another.
  for (const [index, { definition }] of data.slice(0, -1).entries()) {
    const before = data[index + 1]!.definition;
    const prompt = definition.systemPrompt !== before.systemPrompt;
    expect(prompt).toBe(JSON.stringify(definition.metadata) === JSON.stringify(before.metadata));
  }
  expect(await fixture.audit(agent.id)).toHaveLength(25);
});

test('archived agents are apart, keep their versions and come back', async () => {
  const agent = await fixture.createAgent({ name: 'leaving', tags: ['archive-test'] });
  const answer = await fixture.send('DELETE', `/v1/agents/${agent.id}`);
  expect([answer.status, answer.body]).toEqual([204, '']);
  expect((await fixture.send('DELETE', `/v1/agents/${agent.id}`)).status).toBe(204);
  const list = (status: string) =>
    fixture.get<{ data: Agent[] }>(`/v1/agents?tag=archive-test&status=${status}`);
  expect((await list('active')).data).toEqual([]);
  expect((await list('archived')).data).toMatchObject([{ id: agent.id, status: 'archived', version: 1 }]);
  expect(await fixture.patchAgent(agent.id, { status: 'active' })).toMatchObject({
    status: 'active',
    version: 1,
  });
  expect((await list('active')).data).toHaveLength(1);
  expect((await fixture.audit(agent.id)).map(({ action }) => action)).toEqual([
    'agent.created',
    'agent.archived',
    'agent.restored',
  ]);
});

test('why an agent was archived or brought back stands in the audit log', async () => {
  const agent = await fixture.createAgent({ name: 'noted' });
  await fixture.patchAgent(agent.id, { status: 'archived', notes: 'Nobody asks it.' });
  await fixture.patchAgent(agent.id, { status: 'active', notes: 'Somebody did.', description: 'Wanted' });
  await fixture.patchAgent(agent.id, { status: 'archived' });
  const told = (await fixture.audit(agent.id)).map(({ action, data }) => [
    action,
    (data as { notes?: string }).notes,
  ]);
  expect(told).toEqual([
    ['agent.created', undefined],
    ['agent.archived', 'Nobody asks it.'],
    ['agent.changed', undefined],
    ['agent.restored', 'Somebody did.'],
    ['agent.archived', undefined],
  ]);
  const versions = await fixture.get<{ data: AgentVersion[] }>(`/v1/agents/${agent.id}/versions`);
  expect(versions.data.map(({ version, notes }) => [version, notes])).toEqual([
    [2, 'Somebody did.'],
    [1, null],
  ]);
});

test('lists go page by page, newest first, by status, tag and search', async () => {
  const names = ['page 1', 'page 2', 'page 3', 'page 4', 'page 5'];
  for (const name of names) await fixture.createAgent({ name, tags: ['paged'], description: `100%_${name}` });
  const seen: string[] = [];
  let cursor = '';
  let pages = 0;
  do {
    const page: { data: Agent[]; nextCursor: string | null } = await fixture.get(
      `/v1/agents?tag=paged&limit=2${cursor}`,
    );
    seen.push(...page.data.map(({ name }) => name));
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    pages++;
  } while (cursor);
  expect([seen, pages]).toEqual([[...names].reverse(), 3]);
  const search = async (text: string) =>
    (await fixture.get<{ data: Agent[] }>(`/v1/agents?search=${encodeURIComponent(text)}`)).data.map(
      ({ name }) => name,
    );
  expect(await search('PAGE 3')).toEqual(['page 3']);
  expect(await search('%_page 4')).toEqual(['page 4']);
  expect(await search('_age')).toEqual([]);
  expect(await search('\\')).toEqual([]);
  for (const query of [
    'cursor=nonsense',
    'limit=0',
    'limit=201',
    'status=gone',
    'colour=red',
    'search=%00',
  ]) {
    const answer = await fixture.send('GET', `/v1/agents?${query}`);
    expect([query, answer.status, answer.body.code]).toEqual([query, 422, 'invalid_request']);
  }
});

test('versions are told apart field by field, and an earlier one can be brought back', async () => {
  const agent = await fixture.createAgent({
    name: 'versioned',
    systemPrompt: 'first',
    limits: { steps: 3 },
    metadata: { 'odd key': [1, { a: true }], gone: null },
  });
  await fixture.patchAgent(agent.id, {
    systemPrompt: 'second',
    limits: { steps: 4, tokens: 10 },
    metadata: { 'odd key': [1, { a: false }, 3] },
    capabilities: [{ id: 'noop' }],
  });
  const { changes } = await fixture.get<{ changes: Change[] }>(`/v1/agents/${agent.id}/diff?from=1&to=2`);
  expect(changes).toEqual([
    { path: '$.capabilities[0]', to: { id: 'noop', config: {} } },
    { path: '$.limits.steps', from: 3, to: 4 },
    { path: '$.limits.tokens', to: 10 },
    { path: '$.metadata.gone', from: null },
    { path: '$.metadata["odd key"][1].a', from: true, to: false },
    { path: '$.metadata["odd key"][2]', to: 3 },
    { path: '$.systemPrompt', from: 'first', to: 'second' },
  ]);
  expect(await fixture.get(`/v1/agents/${agent.id}/diff?from=2&to=2`)).toEqual({
    from: 2,
    to: 2,
    changes: [],
  });

  const back = await fixture.send<Agent>('POST', `/v1/agents/${agent.id}/rollback`, { body: { version: 1 } });
  expect(back.body).toMatchObject({
    version: 3,
    systemPrompt: 'first',
    limits: { steps: 3 },
    capabilities: [],
  });
  const [first, third] = await Promise.all(
    [1, 3].map((version) => fixture.get<AgentVersion>(`/v1/agents/${agent.id}/versions/${version}`)),
  );
  expect(third!.definition).toEqual(first!.definition);
  expect(third!.checksum).toBe(first!.checksum);
  const again = await fixture.send<Agent>('POST', `/v1/agents/${agent.id}/rollback`, {
    body: { version: 1 },
  });
  expect(again.body.version).toBe(3);
  const body = { version: 2, notes: 'the second was right' };
  const noted = await fixture.send<Agent>('POST', `/v1/agents/${agent.id}/rollback`, { body });
  expect(noted.body.version).toBe(4);
  expect(await fixture.get(`/v1/agents/${agent.id}/versions/4`)).toMatchObject({ notes: body.notes });

  const page = await fixture.get<{ data: AgentVersion[]; nextCursor: string }>(
    `/v1/agents/${agent.id}/versions?limit=2`,
  );
  expect(page.data.map(({ version }) => version)).toEqual([4, 3]);
  const rest = await fixture.get<{ data: AgentVersion[]; nextCursor: null }>(
    `/v1/agents/${agent.id}/versions?limit=2&cursor=${page.nextCursor}`,
  );
  expect([rest.data.map(({ version }) => version), rest.nextCursor]).toEqual([[2, 1], null]);

  const missing = await fixture.send('POST', `/v1/agents/${agent.id}/rollback`, { body: { version: 9 } });
  expect([missing.status, missing.body.code]).toEqual([404, 'version_not_found']);
  expect((await fixture.send('GET', `/v1/agents/${agent.id}/versions/99`)).body.code).toBe(
    'version_not_found',
  );
  expect((await fixture.send('GET', `/v1/agents/${agent.id}/versions/99999999999`)).status).toBe(404);
  expect((await fixture.send('GET', `/v1/agents/${agent.id}/versions/one`)).status).toBe(404);
  expect((await fixture.send('GET', `/v1/agents/${agent.id}/diff?from=1&to=99999999999`)).status).toBe(422);
  expect((await fixture.send('GET', `/v1/agents/${agent.id}/versions?cursor=x`)).status).toBe(422);
});

test('bringing back a version whose name somebody else took by then is refused', async () => {
  const agent = await fixture.createAgent({ name: 'old name' });
  await fixture.patchAgent(agent.id, { name: 'new name' });
  await fixture.createAgent({ name: 'Old Name' });
  const answer = await fixture.send('POST', `/v1/agents/${agent.id}/rollback`, { body: { version: 1 } });
  expect([answer.status, answer.body.code]).toEqual([409, 'name_taken']);
  expect((await fixture.get<Agent>(`/v1/agents/${agent.id}`)).version).toBe(2);
});

test('another project sees none of it', async () => {
  const agent = await fixture.createAgent({ name: 'private' });
  const model = await fixture.createModel();
  const asked: [string, string, object?][] = [
    ['GET', `/v1/agents/${agent.id}`],
    ['PATCH', `/v1/agents/${agent.id}`, { systemPrompt: 'stolen' }],
    ['DELETE', `/v1/agents/${agent.id}`],
    ['GET', `/v1/agents/${agent.id}/preview`],
    ['GET', `/v1/agents/${agent.id}/versions`],
    ['GET', `/v1/agents/${agent.id}/versions/1`],
    ['GET', `/v1/agents/${agent.id}/diff?from=1&to=1`],
    ['POST', `/v1/agents/${agent.id}/rollback`, { version: 1 }],
    ['GET', `/v1/agents/${agent.id}/export`],
  ];
  for (const [method, path, body] of asked) {
    const answer = await fixture.send(method, path, { body, as: fixture.there });
    expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found']);
  }
  const { data } = await fixture.get<{ data: Agent[] }>('/v1/agents?search=private', fixture.there);
  expect(data).toEqual([]);
  const borrowed = await fixture.send('POST', '/v1/agents', {
    body: { name: 'borrower', defaultModelId: model.id },
    as: fixture.there,
  });
  expect(borrowed.body.code).toBe('model_not_found');
  const imported = await fixture.send<Agent>('POST', '/v1/agents/import', {
    body: 'name: private\nsystemPrompt: mine\n',
    type: 'application/yaml',
    as: fixture.there,
  });
  expect(imported.body.id).not.toBe(agent.id);
  expect(await fixture.get(`/v1/agents/${agent.id}`)).toEqual(agent);
});

test('a person sees that an agent is there, not how it is made', async () => {
  const agent = await fixture.createAgent({ name: 'public face', ...full });
  const gone = await fixture.createAgent({ name: 'gone face' });
  await fixture.send('DELETE', `/v1/agents/${gone.id}`);
  const person = { ...fixture.here, person: newId() };
  const seen = await fixture.get<Agent>(`/v1/agents/${agent.id}`, person);
  expect(seen).toMatchObject({ name: 'public face', systemPrompt: '', metadata: {} });
  const { data } = await fixture.get<{ data: Agent[] }>('/v1/agents?search=face', person);
  expect(data).toEqual([seen]);
  expect((await fixture.send('GET', `/v1/agents/${gone.id}`, { as: person })).status).toBe(404);
  expect((await fixture.get<{ data: Agent[] }>('/v1/agents?status=archived', person)).data).toEqual([]);
  const changed = await fixture.send('PATCH', `/v1/agents/${agent.id}`, { body: { name: 'x' }, as: person });
  expect([changed.status, changed.body.code]).toEqual([403, 'forbidden']);
});

test('capabilities are listed in a stable order and shown with what they bring', async () => {
  const { data } = await fixture.get<{ data: Capability[] }>('/v1/capabilities');
  expect(data.map(({ id, status }) => `${id} ${status}`)).toEqual([
    'noop available',
    'current_time available',
    'file_system available',
    'todo_list available',
    'sandbox available',
    'memory available',
    'web_fetch available',
    'web_search available',
    'research available',
    'delegation available',
  ]);
  expect(await fixture.get('/v1/capabilities/current_time')).toMatchObject({
    id: 'current_time',
    prompt: '',
    tools: [{ name: 'current_time', description: expect.any(String) }],
  });
  expect(data.find(({ id }) => id === 'memory')!.configSchema).toMatchObject({
    type: 'object',
    properties: { per: { enum: ['person', 'agent'], default: 'person' } },
    additionalProperties: false,
  });
  expect(data.find(({ id }) => id === 'research')!.includes).toContain('web_search');
  expect((await fixture.send('GET', '/v1/capabilities/flying')).status).toBe(404);
  expect((await fixture.send('GET', '/v1/capabilities/FLYING%00')).status).toBe(404);
});
