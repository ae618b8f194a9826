import { randomBytes } from 'node:crypto';
import { allEndpoints, type Endpoint } from '@troupe/protocol';
import { type Database, newId } from '@troupe/server';
import { buildStart, type KernelFixture, openKernel } from '@troupe/testing';
import { Hono } from 'hono';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { registerClient } from '../../src/access/index.ts';
import { Endpoints } from '../../src/http/endpoint.ts';
import type { Services } from '../../src/http/index.ts';
import { routes } from '../../src/http/routes/index.ts';
import { WEBHOOKS } from '../../src/http/routes/webhooks.ts';
import { createSpace } from '../../src/store/queries/spaces.ts';
import { openHttpSide } from '../http-side.ts';
import { bodyOf } from './body-of.ts';
import { AUDIENCE, inside } from './fixture.ts';

// Every endpoint that is served, visited by everybody who must not get in. Whoever adds an endpoint is covered.
// Long because one of everything that can be named has to be there, and to be left as it was.

let fixture: KernelFixture;
let services: Services;
let app: Hono;
/** What there is in our project, by the name of the parameter that leads to it. */
let ours: Record<string, string>;
let stranger: { publicKey: string; token: string };
let owner: { publicKey: string; token: string };

const served = () => {
  const endpoints = new Endpoints(new Hono(), () => services);
  for (const add of routes) add(endpoints);
  return endpoints.served;
};

beforeAll(async () => {
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: false });
  const { db, ids } = fixture;
  ({ services, app } = await openHttpSide(fixture));
  ours = await furnish(db, ids.project);
});

afterAll(() => fixture.close());

/** One of each thing: a session of Ada with a run, a space of hers, a key, a secret, a provider with a model. */
async function furnish(db: Database, project: string): Promise<Record<string, string>> {
  const { access } = services;
  const operator = inside(project);
  const secret = randomBytes(32).toString('base64');
  await access.secrets.put(operator, 'TOKENS', secret);
  const tokens = {
    algorithms: ['HS256' as const],
    audience: AUDIENCE,
    issuer: null,
    secretName: 'TOKENS',
    jwksUrl: null,
    claim: 'sub',
  };
  await access.projects.update(operator, { tokens });
  const key = (kind: 'secret' | 'public') =>
    access.keys.create(operator, { name: 'k', kind, scopes: [], expiresAt: null });
  const sign = (person: string) =>
    new SignJWT({ sub: person, aud: AUDIENCE })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1 hour')
      .sign(Buffer.from(secret));
  const { key: publicKey } = await key('public');
  stranger = { publicKey, token: await sign('stranger') };
  owner = { publicKey, token: await sign('ada') };
  const as = async (person: string) =>
    access.authenticate(
      new Headers({ 'troupe-key': publicKey, authorization: `Bearer ${await sign(person)}` }),
    );
  const ada = await as('ada');
  await as('stranger');

  const item = buildStart(fixture.ids, await fixture.snapshot(), 'a private matter');
  await fixture.kernel.start({ ...item, createThread: 'session' });
  const [sessionId, providerId, modelId] = [newId(), newId(), newId()];
  await db.pool.query(
    'insert into troupe.sessions (id, project_id, agent_id, entity_id, thread_id) values ($1, $2, $3, $4, $5)',
    [sessionId, project, fixture.ids.agent, ada.entityId, item.thread],
  );
  await db.pool.query(
    `insert into troupe.llm_providers (id, project_id, kind, name) values ($1, $2, 'demo', 'private')`,
    [providerId, project],
  );
  await db.pool.query(
    `insert into troupe.llm_models (id, project_id, provider_id, model_id, display_name) values ($1, $2, $3, 'm', 'M')`,
    [modelId, project, providerId],
  );
  const [taskId, subAgentId] = [newId(), newId()];
  await db.pool.query(
    `insert into troupe.tasks (id, project_id, user_id, chat_id, type, name, instruction, sub_agent_id, depth, parent_run_id, parent_call_id, run_id)
      values ($1, $2, $3, $4, 'agent', 'agent:private', 'a private matter', $5, 1, $6, 'c', $6)`,
    [taskId, project, ada.entityId, sessionId, subAgentId, item.run.id],
  );
  await db.pool.query(
    `insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id)
      values ($1, $2, $3, $4, $5, $6, 'private', $7)`,
    [subAgentId, project, ada.entityId, sessionId, taskId, fixture.ids.agent, item.thread],
  );
  const [toolId, planId] = [newId(), newId()];
  await db.pool.query(
    `insert into troupe.tools (id, project_id, name, kind, input_schema) values ($1, $2, 'private', 'static', '{"type": "object"}')`,
    [toolId, project],
  );
  const mcpServerId = newId();
  await db.pool.query(
    `insert into troupe.mcp_servers (id, project_id, name, transport, url) values ($1, $2, 'private', 'http', 'http://127.0.0.1:9/')`,
    [mcpServerId, project],
  );
  const network = newId();
  await db.pool.query(
    `insert into troupe.networks (id, project_id, name, policy, response, log_policy) values ($1, $2, 'private', '{}', '{}', '{}')`,
    [network, project],
  );
  await db.pool.query(
    `insert into troupe.network_agents (id, network_id, position, key, agent_id) values ($1, $2, 0, 'x', $3)`,
    [newId(), network, fixture.ids.agent],
  );
  const batchId = newId();
  await db.pool.query(
    `insert into troupe.network_batches (id, project_id, network_id, network_name, network_version, snapshot_id, agent, wall_ms, iterations, concurrency)
      values ($1, $2, $3, 'private', 1, $4, 'x', 1000, 1, 1)`,
    [batchId, project, network, await fixture.snapshot()],
  );
  const spaceId = newId();
  const made = await createSpace(db, project, {
    id: spaceId,
    name: 'a private matter',
    description: null,
    policy: 'all',
    limits: { chainDepth: 8, agentRuns: 50 },
    metadata: {},
    members: [{ entityId: ada.entityId!, role: 'admin', ordering: 'parallel' }],
  });
  expect(made).toEqual({ ok: true });
  const client = { clientKey: 'c', clientType: null, displayName: null, capabilities: {} };
  const { id: clientId } = await registerClient(db, ada, client);
  await db.pool.query(
    `insert into troupe.plans (id, project_id, agent_id, entity_id, name, run_after, next_run_at)
      values ($1, $2, $3, $4, 'private', '1 day', now() + '1 day')`,
    [planId, project, fixture.ids.agent, fixture.ids.entity],
  );
  const [trigger, deliveryId] = [newId(), newId()];
  await db.pool.query(
    `insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled)
      values ($1, $2, 'private', '{"action": {}}', '{}', 'x', '{}', false)`,
    [trigger, project],
  );
  await db.pool.query(
    `insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, depth, own, changed_at, status, ended_at)
      values ($1, $2, $3, 1, 1, 1, 'create', 'x/x', 'x', 0, false, now(), 'dead', now())`,
    [deliveryId, project, trigger],
  );
  return {
    agentId: fixture.ids.agent,
    entityId: ada.entityId!,
    spaceId,
    clientId,
    toolId,
    mcpServerId,
    network,
    batchId,
    planId,
    trigger,
    deliveryId,
    sessionId,
    taskId,
    subAgentId,
    runId: item.run.id,
    messageId: item.message.id,
    keyId: (await key('secret')).id,
    providerId,
    modelId,
    name: 'TOKENS',
    collection: 'sessions',
  };
}

/** What exists, for every parameter of which something does. */
function pathOf({ path, params }: Endpoint): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const field = params!.shape[name]!;
    const fitting = [ours[name], newId(), '1', 'x'].find(
      (value) =>
        value !== undefined &&
        (field as { safeParse(value: unknown): { success: boolean } }).safeParse(value).success,
    );
    return fitting ?? 'x';
  });
}

function visit(
  endpoint: Endpoint,
  headers: Record<string, string>,
  path = pathOf(endpoint),
): Promise<Response> {
  const type = endpoint.bodyTypes?.[0] ?? 'application/json';
  const body = endpoint.body && (endpoint.bodyTypes ? 'x' : JSON.stringify(bodyOf(endpoint.body)));
  return Promise.resolve(
    app.request(`${path}${queryOf(endpoint)}`, {
      method: endpoint.method,
      headers: { ...(body ? { 'content-type': type } : {}), ...headers },
      ...(body ? { body } : {}),
    }),
  );
}

/** What must be in the query; all of it is numbers so far. */
function queryOf({ query }: Endpoint): string {
  const required = Object.entries(query?.shape ?? {}).filter(
    ([, field]) => !field.safeParse(undefined).success,
  );
  return required.length > 0 ? `?${required.map(([name]) => `${name}=1`).join('&')}` : '';
}

/** A picture of what is stored: everything, or what belongs to a project. */
async function stored(project: string | null): Promise<Record<string, string>> {
  const { pool } = fixture.db;
  const { rows: tables } = await pool.query<{ name: string; scoped: boolean }>(
    `select t.table_name as name, exists (select from information_schema.columns c
        where c.table_schema = 'troupe' and c.table_name = t.table_name and c.column_name = 'project_id') as scoped
      from information_schema.tables t where t.table_schema = 'troupe' and t.table_type = 'BASE TABLE'`,
  );
  const picture: Record<string, string> = {};
  for (const { name, scoped } of tables) {
    if (project !== null && !scoped) continue;
    const { rows } = await pool.query(
      `select count(*) || ' ' || coalesce(md5(string_agg((to_jsonb(t) - 'last_used_at')::text, ',' order by t::text)), '') as rows
        from troupe.${name} t ${project === null ? '' : 'where project_id = $1'}`,
      project === null ? [] : [project],
    );
    picture[name] = rows[0].rows;
  }
  return picture;
}

/** Ids that nobody else may get to see. */
const isTold = (text: string) =>
  Object.entries(ours).filter(([name, id]) => !['name', 'collection'].includes(name) && text.includes(id));

/** What the document that is served says there is: method and path. */
async function documented(): Promise<string[]> {
  const { paths } = (await (await app.request('/openapi.json')).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'];
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.filter((method) => method in item).map((method) => `${method.toUpperCase()} ${path}`),
  );
}
const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

/** Open to everybody, or with rules of their own (metrics, signatures), and not in the document. */
const BESIDE = [
  ...['GET /healthz', 'GET /readyz', 'GET /metrics', 'GET /openapi.json', 'GET /docs'],
  // The console: files that are the same for everybody.
  ...['GET /', 'GET /*'],
  ...WEBHOOKS.map((path) => `POST ${path}`),
];

test('what is visited here is the whole contract, the whole document, and all that the server has a route for', async () => {
  const visited = served().map(nameOf).toSorted();
  expect(visited.length).toBeGreaterThan(40);
  expect((await documented()).toSorted()).toEqual(visited);
  expect(allEndpoints().map(nameOf).toSorted()).toEqual(visited);
  // Handlers for every method refuse the others on a path that is served; middleware is for many paths.
  const routed = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect([...new Set(routed)].toSorted()).toEqual([...visited, ...BESIDE].toSorted());
});

test('a body can be made for every endpoint that takes JSON', () => {
  for (const { body, bodyTypes } of allEndpoints()) if (body && !bodyTypes) bodyOf(body);
});

test('without a key, with a wrong one or with a token nobody signed: 401 everywhere, and nothing is stored', async () => {
  const wrongToken = await new SignJWT({ sub: 'ada', aud: AUDIENCE })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1 hour')
    .sign(randomBytes(32));
  const visitors: Record<string, string>[] = [
    {},
    { authorization: `Bearer tsk_${randomBytes(32).toString('base64url')}` },
    { authorization: `Bearer ${stranger.token}` },
    { 'troupe-key': stranger.publicKey, authorization: `Bearer ${wrongToken}` },
    {
      'troupe-key': `tpk_${randomBytes(32).toString('base64url')}`,
      authorization: `Bearer ${stranger.token}`,
    },
  ];
  const before = await stored(null);
  for (const endpoint of served()) {
    for (const headers of visitors) {
      const response = await visit(endpoint, { ...headers, 'idempotency-key': newId() });
      const seen = { endpoint: `${endpoint.method} ${endpoint.path}`, headers, status: response.status };
      expect(seen).toEqual({ ...seen, status: 401 });
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({ code: 'unauthenticated' });
    }
  }
  expect(await stored(null)).toEqual(before);
});

/** Another project, with a key, an agent and a session of its own. */
async function strangers() {
  const project = newId();
  await fixture.db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [
    project,
    `theirs ${project}`,
  ]);
  const { key } = await services.access.keys.create(inside(project), {
    name: 'k',
    kind: 'secret',
    scopes: [],
    expiresAt: null,
  });
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await app.request(path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, text: await response.text() };
  };
  const make = async (path: string, body: object) => {
    const { status, text } = await ask('POST', path, body);
    expect([path, status, text]).toEqual([path, 201, text]);
    return JSON.parse(text) as { id: string };
  };
  return { key, project, ask, make };
}

test("with another project's key: 404 for everything that is ours, and nothing of ours changes or is told", async () => {
  const { key } = await strangers();
  const before = await stored(fixture.ids.project);
  // Setting a secret makes one of their own, whatever ours are called; so that comes last.
  const own = (endpoint: Endpoint) => endpoint.path === '/v1/secrets/{name}' && endpoint.method === 'PUT';
  for (const endpoint of served().toSorted((one, two) => Number(own(one)) - Number(own(two)))) {
    const response = await visit(endpoint, { authorization: `Bearer ${key}` });
    const what = `${endpoint.method} ${endpoint.path}`;
    // A copy of their own, in which nothing is ours.
    const copy = endpoint.path.startsWith('/v1/sync/');
    if (endpoint.path.includes('{') && !own(endpoint) && !copy)
      expect([what, response.status]).toEqual([what, 404]);
    else expect([what, response.status < 500]).toEqual([what, true]);
    expect([what, isTold(await response.text())]).toEqual([what, []]);
  }
  expect(await stored(fixture.ids.project)).toEqual(before);
});

test("another project's ids in bodies and queries lead nowhere either", async () => {
  const { ask, make, project } = await strangers();
  const agent = await make('/v1/agents', { name: 'theirs' });
  const session = await make(`/v1/agents/${agent.id}/sessions`, {});
  const provider = await make('/v1/providers', { kind: 'demo', name: 'theirs' });
  const space = await make('/v1/spaces', { members: [{ user: 'theirs' }] });
  const { text } = await ask('GET', `/v1/entities?externalId=theirs`);
  const member = (JSON.parse(text) as { data: { id: string }[] }).data[0]!.id;
  const at = `/v1/agents/${agent.id}/sessions`;
  const content = { text: 'x' };
  await make('/v1/networks', { name: 'theirs', agents: [{ key: 'x' }] });
  const inNetwork = '/v1/networks/theirs/agents';
  const [model, message] = [ours.modelId!, ours.messageId!];
  const work = { chat: session.id, type: 'agent', name: 'theirs', instruction: 'x' };
  const refused: [field: string, method: string, path: string, body: object][] = [
    ['POST agents defaultModelId', 'POST', '/v1/agents', { name: 'a', defaultModelId: model }],
    ['POST agents fallbackModelIds', 'POST', '/v1/agents', { name: 'a', fallbackModelIds: [model] }],
    ['PATCH agents defaultModelId', 'PATCH', `/v1/agents/${agent.id}`, { defaultModelId: model }],
    ['PATCH agents fallbackModelIds', 'PATCH', `/v1/agents/${agent.id}`, { fallbackModelIds: [model] }],
    ['POST import defaultModelId', 'POST', '/v1/agents/import', { name: 'a', defaultModelId: model }],
    ['PATCH project defaultModelId', 'PATCH', '/v1/project', { defaultModelId: model }],
    ['PATCH project compactionModelId', 'PATCH', '/v1/project', { compactionModelId: model }],
    ['POST sessions modelId', 'POST', at, { modelId: model }],
    ['PATCH sessions modelId', 'PATCH', `${at}/${session.id}`, { modelId: model }],
    ['POST messages modelId', 'POST', `${at}/${session.id}/messages`, { content, modelId: model }],
    ['POST messages id', 'POST', `${at}/${session.id}/messages`, { content, id: message }],
    ['POST fork messageId', 'POST', `${at}/${session.id}/fork`, { messageId: message }],
    [
      'POST networks agentId',
      'POST',
      '/v1/networks',
      { name: 'n', agents: [{ key: 'x', agentId: ours.agentId }] },
    ],
    ['POST networks modelId', 'POST', '/v1/networks', { name: 'n', agents: [{ key: 'x', modelId: model }] }],
    ['PUT definition', 'PUT', '/v1/networks/n/definition', { name: 'n', tools: [{ key: 'private' }] }],
    ['POST network agents agentId', 'POST', inNetwork, { key: 'y', agentId: ours.agentId }],
    ['POST network agents modelId', 'POST', inNetwork, { key: 'y', modelId: model }],
    ['PATCH network agents agentId', 'PATCH', `${inNetwork}/x`, { agentId: ours.agentId }],
    ['PATCH network agents modelId', 'PATCH', `${inNetwork}/x`, { modelId: model }],
    ['POST clients entityId', 'POST', '/v1/clients', { clientKey: 'c', entityId: ours.entityId }],
    ['POST spaces members entityId', 'POST', '/v1/spaces', { members: [{ entityId: ours.entityId }] }],
    ['POST spaces members agentId', 'POST', '/v1/spaces', { members: [{ agentId: ours.agentId }] }],
    ['POST members entityId', 'POST', `/v1/spaces/${space.id}/members`, { entityId: ours.entityId }],
    ['POST members agentId', 'POST', `/v1/spaces/${space.id}/members`, { agentId: ours.agentId }],
    ['POST read', 'POST', `/v1/spaces/${space.id}/read`, { messageId: message, entityId: ours.entityId }],
    ['POST read messageId', 'POST', `/v1/spaces/${space.id}/read`, { messageId: message, entityId: member }],
    [
      'POST space messages id',
      'POST',
      `/v1/spaces/${space.id}/messages`,
      { content, senderId: member, id: message },
    ],
    [
      'POST space messages senderId',
      'POST',
      `/v1/spaces/${space.id}/messages`,
      { content, senderId: ours.entityId },
    ],
    ['POST tasks chat', 'POST', '/v1/tasks', { ...work, chat: ours.sessionId }],
    ['POST tasks chat of a space', 'POST', '/v1/tasks', { ...work, chat: ours.spaceId }],
    ['POST tasks id', 'POST', '/v1/tasks', { ...work, id: ours.taskId }],
    ['POST tasks userId', 'POST', '/v1/tasks', { ...work, chat: space.id, userId: ours.entityId }],
    ['POST tasks triggerMessageId', 'POST', '/v1/tasks', { ...work, triggerMessageId: message }],
    ['POST tasks name', 'POST', '/v1/tasks', { ...work, name: ours.agentId }],
    ['POST tasks tool', 'POST', '/v1/tasks', { chat: session.id, type: 'tool', name: 'private' }],
    ['POST typing entityId', 'POST', `/v1/spaces/${space.id}/typing`, { entityId: ours.entityId }],
  ];
  const failed = await make(at, {});
  const posted = await ask('POST', `${at}/${failed.id}/messages`, { content });
  const { run } = JSON.parse(posted.text) as { run: { id: string } };
  await fixture.db.pool.query(
    `with ended as (update troupe.runs set status = 'failed', error = '{"code":"x","message":"y"}', completed_at = now() where id = $1 returning thread_id)
      update troupe.threads t set active_run_id = null, failed_run_id = $1 from ended e where t.id = e.thread_id`,
    [run.id],
  );
  refused.push(
    ['POST retry modelId', 'POST', `${at}/${failed.id}/retry`, { modelId: model }],
    ['POST retry of a run modelId', 'POST', `/v1/runs/${run.id}/retry`, { modelId: model }],
  );
  const ids = Object.values(ours).filter((value) => value !== ours.name);
  const before = await stored(fixture.ids.project);
  const kept = await stored(project);
  for (const [field, method, path, body] of refused) {
    const { status, text } = await ask(method, path, body);
    const told = ids.filter((id) => text.includes(id) && !JSON.stringify(body).includes(id));
    expect([field, status >= 400 && status < 500, told, text]).toEqual([field, true, [], text]);
  }
  expect(await stored(project)).toEqual(kept);
  for (const query of [
    `/v1/runs?agentId=${ours.agentId}`,
    `/v1/runs?sessionId=${ours.sessionId}`,
    `/v1/runs?parentRunId=${ours.runId}`,
    `/v1/runs?task=${ours.taskId}`,
    `/v1/runs?networkId=${ours.network}`,
    `/v1/runs?spaceId=${ours.spaceId}`,
    `/v1/runs?search=${ours.runId}`,
    `/v1/sessions?agentId=${ours.agentId}`,
    `/v1/sessions?search=${ours.sessionId}`,
    `/v1/tasks?chat=${ours.sessionId}`,
    `/v1/tasks?parent=${ours.taskId}`,
    `/v1/sub-agents?chat=${ours.sessionId}`,
    `/v1/sub-agents?task=${ours.taskId}`,
    `/v1/models?providerId=${ours.providerId}`,
    `/v1/inbox?agentId=${ours.agentId}`,
    `/v1/inbox?sessionId=${ours.sessionId}`,
    `/v1/inbox?runId=${ours.runId}`,
    `/v1/clients?entityId=${ours.entityId}`,
    `/v1/entities?agentId=${ours.agentId}`,
    `/v1/entities?externalId=ada`,
    `/v1/spaces?entityId=${ours.entityId}`,
    `/v1/tools?agentId=${ours.agentId}`,
    `/v1/spaces/${space.id}/runs?entityId=${ours.entityId}`,
  ]) {
    const { status, text } = await ask('GET', query);
    if (status === 200) expect([query, JSON.parse(text).data]).toEqual([query, []]);
    else expect([query, status]).toEqual([query, 404]);
  }
  // Things of one's own under something of ours, and the other way round.
  for (const path of [
    `/v1/agents/${ours.agentId}/sessions/${session.id}`,
    `/v1/agents/${agent.id}/sessions/${ours.sessionId}`,
    `/v1/spaces/${ours.spaceId}/members/${member}`,
    `/v1/spaces/${space.id}/members/${ours.entityId}`,
  ])
    expect([path, (await ask(path.includes('/members/') ? 'DELETE' : 'GET', path)).status]).toEqual([
      path,
      404,
    ]);
  expect((await ask('GET', `/v1/models?providerId=${provider.id}`)).status).toBe(200);
  expect(await stored(fixture.ids.project)).toEqual(before);
  // Whoever adds a field that names a thing has to add it above.
  const naming = served().flatMap(({ method, path, body, query }) =>
    [body, query].flatMap((schema) => {
      const { properties = {} } = schema
        ? (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as { properties?: object })
        : {};
      return Object.keys(properties)
        .filter((field) => /(^id|Ids?)$/.test(field))
        .map((field) => `${method} ${path} ${field}`);
    }),
  );
  expect(naming.toSorted()).toEqual([
    'GET /v1/clients entityId',
    'GET /v1/entities agentId',
    // The name of a person in the system of the caller.
    'GET /v1/entities externalId',
    'GET /v1/inbox agentId',
    'GET /v1/inbox runId',
    'GET /v1/inbox sessionId',
    'GET /v1/models providerId',
    'GET /v1/runs agentId',
    'GET /v1/runs networkId',
    'GET /v1/runs parentRunId',
    'GET /v1/runs sessionId',
    'GET /v1/runs spaceId',
    'GET /v1/sessions agentId',
    'GET /v1/spaces entityId',
    'GET /v1/spaces/{spaceId}/runs entityId',
    'GET /v1/tools agentId',
    'PATCH /v1/agents/{agentId} defaultModelId',
    'PATCH /v1/agents/{agentId} fallbackModelIds',
    'PATCH /v1/agents/{agentId}/sessions/{sessionId} modelId',
    'PATCH /v1/networks/{network}/agents/{key} agentId',
    'PATCH /v1/networks/{network}/agents/{key} modelId',
    'PATCH /v1/project compactionModelId',
    'PATCH /v1/project defaultModelId',
    'POST /v1/agents defaultModelId',
    'POST /v1/agents fallbackModelIds',
    'POST /v1/agents/{agentId}/sessions modelId',
    'POST /v1/agents/{agentId}/sessions/{sessionId}/fork messageId',
    'POST /v1/agents/{agentId}/sessions/{sessionId}/messages id',
    'POST /v1/agents/{agentId}/sessions/{sessionId}/messages modelId',
    'POST /v1/agents/{agentId}/sessions/{sessionId}/retry modelId',
    'POST /v1/clients entityId',
    'POST /v1/entities externalId',
    'POST /v1/networks/{network}/agents agentId',
    'POST /v1/networks/{network}/agents modelId',
    // The name that the provider has for it.
    'POST /v1/providers/{providerId}/models modelId',
    'POST /v1/runs/{runId}/retry modelId',
    'POST /v1/spaces/{spaceId}/members agentId',
    'POST /v1/spaces/{spaceId}/members entityId',
    'POST /v1/spaces/{spaceId}/messages id',
    'POST /v1/spaces/{spaceId}/messages senderId',
    'POST /v1/spaces/{spaceId}/read entityId',
    'POST /v1/spaces/{spaceId}/read messageId',
    'POST /v1/spaces/{spaceId}/typing entityId',
    'POST /v1/tasks id',
    'POST /v1/tasks triggerMessageId',
    'POST /v1/tasks userId',
    // The id of a call within the run of that task.
    'POST /v1/tasks/{taskId}/answer questionId',
  ]);
});

test('with the token of somebody else: 403 for administration, 404 for what is not theirs', async () => {
  const headers = { 'troupe-key': stranger.publicKey, authorization: `Bearer ${stranger.token}` };
  const { pool } = fixture.db;
  const ofAda = async () => {
    const { rows } = await pool.query(
      `select to_jsonb(s) as session, (select to_jsonb(r) from troupe.runs r where r.id = $2) as run,
        (select to_jsonb(t) from troupe.threads t where t.id = s.thread_id) as thread,
        (select count(*) from troupe.messages m where m.thread_id = s.thread_id) as messages,
        (select jsonb_agg(x) from troupe.tasks x where x.chat_id = s.id) as tasks,
        (select to_jsonb(p) from troupe.spaces p where p.id = $3) as space, (select to_jsonb(c) from troupe.clients c where c.id = $4) as client,
        (select jsonb_agg(b) from troupe.memberships b where b.space_id = $3) as members
       from troupe.sessions s where s.id = $1`,
      [ours.sessionId, ours.runId, ours.spaceId, ours.clientId],
    );
    return rows;
  };
  const before = await ofAda();
  expect(before).toHaveLength(1);
  for (const endpoint of served()) {
    const response = await visit(endpoint, headers);
    const what = `${endpoint.method} ${endpoint.path}`;
    const text = await response.text();
    if (!endpoint.user) expect([what, response.status]).toEqual([what, 403]);
    else if (/\{(sessionId|runId|spaceId|clientId|taskId|subAgentId)\}/.test(endpoint.path))
      expect([what, response.status]).toEqual([what, 404]);
    else expect([what, response.status < 500]).toEqual([what, true]);
    const { sessionId, runId, spaceId, clientId, taskId, subAgentId } = ours;
    for (const id of [sessionId!, runId!, spaceId!, clientId!, taskId!, subAgentId!, 'a private matter'])
      expect([what, text.includes(id)]).toEqual([what, false]);
  }
  expect(await ofAda()).toEqual(before);
});

test('a person reads, answers and cancels only tasks that were created for them', async () => {
  const as = async ({ publicKey, token }: typeof owner, path: string, body?: object) => {
    const type = { 'content-type': 'application/json' };
    const headers = { 'troupe-key': publicKey, authorization: `Bearer ${token}`, ...(body ? type : {}) };
    const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {};
    const response = await app.request(`/v1${path}`, { headers, ...sent });
    return {
      status: response.status,
      ...((await response.json()) as { data?: unknown; canceled?: string[] }),
    };
  };
  const { taskId, subAgentId, sessionId: chat } = ours;
  expect(await as(owner, '/tasks')).toMatchObject({ data: [{ id: taskId }] });
  expect(await as(owner, `/tasks?chat=${chat}`)).toMatchObject({ data: [{ id: taskId }] });
  expect(await as(owner, '/sub-agents')).toMatchObject({ data: [{ id: subAgentId }] });
  expect(await as(owner, `/sub-agents/${subAgentId}/messages`)).toMatchObject({
    data: [{ role: 'user', content: 'a private matter' }],
  });
  expect(await as(stranger, `/tasks?chat=${chat}`)).toMatchObject({ status: 200, data: [] });
  // The run that works on it stands in a thread of its own.
  const item = buildStart(fixture.ids, await fixture.snapshot(), 'a private matter');
  await fixture.kernel.start(item);
  await fixture.db.pool.query('update troupe.runs set task_id = $2 where id = $1', [item.run.id, taskId]);
  await fixture.db.pool.query('update troupe.tasks set run_id = $1 where id = $2', [item.run.id, taskId]);
  const { id: run } = item.run;
  for (const path of [`/runs/${run}`, `/runs/${run}/messages`, `/runs/${run}/events`]) {
    expect([path, (await as(owner, path)).status]).not.toEqual([path, 404]);
    expect([path, (await as(stranger, path)).status]).toEqual([path, 404]);
  }
  const answer = async (who: typeof owner) =>
    (await as(who, `/tasks/${taskId}/answer`, { answer: 'x' })).status;
  expect([await answer(owner), await answer(stranger)]).toEqual([409, 404]);
  // In a space, as long as they are in it.
  const move = (to: string) =>
    fixture.db.pool.query('update troupe.tasks set chat_id = $2 where id = $1', [taskId, to]);
  await move(ours.spaceId!);
  expect((await as(owner, `/runs/${run}`)).status).not.toBe(404);
  const leave = 'delete from troupe.memberships where space_id = $1 and entity_id = $2';
  await fixture.db.pool.query(leave, [ours.spaceId, ours.entityId]);
  expect((await as(owner, `/runs/${run}`)).status).toBe(404);
  expect(await answer(owner)).toBe(404);
  await move(chat!);
  expect(await as(stranger, '/tasks/cancel', { chat })).toEqual({ status: 200, canceled: [] });
  expect(await as(owner, '/tasks/cancel', { chat })).toEqual({ status: 200, canceled: [taskId] });
});
