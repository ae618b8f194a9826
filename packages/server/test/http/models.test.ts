import type { Agent, Model, Provider } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { loadProvider } from '../../src/definitions/models/index.ts';
import { AgentsFixture, createSealer } from '../agents/fixture.ts';

let fixture: AgentsFixture;
beforeAll(async () => {
  fixture = await AgentsFixture.open(inject('postgresUrl'));
});
afterAll(() => fixture.close());

async function envelopeOf(id: string) {
  const row = await fixture.db.rows
    .selectFrom('llm_providers')
    .select('key_envelope')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return row.key_envelope;
}

test('a provider keeps its key sealed: it is never shown, and only the worker opens it', async () => {
  const provider = await fixture.createProvider({ name: 'OpenAI', apiKey: 'sk-very-secret' });
  expect(provider).toMatchObject({
    kind: 'openai',
    name: 'OpenAI',
    baseUrl: null,
    keySet: true,
    status: 'active',
  });
  expect(JSON.stringify(provider)).not.toContain('sk-very-secret');
  expect(await fixture.get(`/v1/providers/${provider.id}`)).toEqual(provider);
  const { rows } = await fixture.db.pool.query(
    `select (select jsonb_agg(to_jsonb(p))::text from troupe.llm_providers p)
      || (select jsonb_agg(to_jsonb(a))::text from troupe.audit_log a) as text`,
  );
  expect(rows[0].text).toContain('OpenAI');
  expect(rows[0].text).not.toContain('sk-very-secret');
  expect(await loadProvider(fixture.db, fixture.services.sealer, provider.id)).toEqual({
    id: provider.id,
    kind: 'openai',
    baseUrl: null,
    apiKey: 'sk-very-secret',
    status: 'active',
    ofOperator: false,
    guardedFor: null,
  });
  // Another key, another row: neither opens it.
  await expect(loadProvider(fixture.db, createSealer(), provider.id)).rejects.toThrow();
  await expect(loadProvider(fixture.db, null, provider.id)).rejects.toMatchObject({
    code: 'no_encryption_key',
  });
  const other = await fixture.createProvider();
  await fixture.db.rows
    .updateTable('llm_providers')
    .set({ key_envelope: JSON.stringify(await envelopeOf(provider.id)) })
    .where('id', '=', other.id)
    .execute();
  await expect(loadProvider(fixture.db, fixture.services.sealer, other.id)).rejects.toThrow();
  expect(await loadProvider(fixture.db, null, newId())).toBeNull();
});

test('a key can be replaced and removed, also by an address in capitals', async () => {
  const provider = await fixture.createProvider({ apiKey: 'first' });
  const patch = (body: object, id = provider.id) =>
    fixture.send<Provider>('PATCH', `/v1/providers/${id}`, { body });
  expect((await patch({ apiKey: 'second' }, provider.id.toUpperCase())).status).toBe(200);
  expect((await loadProvider(fixture.db, fixture.services.sealer, provider.id))?.apiKey).toBe('second');
  expect((await patch({ status: 'disabled' })).body).toMatchObject({ keySet: true, status: 'disabled' });
  expect((await patch({ apiKey: null })).body).toMatchObject({ keySet: false, status: 'disabled' });
  expect((await loadProvider(fixture.db, fixture.services.sealer, provider.id))?.apiKey).toBeNull();
  expect((await fixture.audit(provider.id)).map(({ action }) => action)).toEqual([
    'provider.created',
    'provider.changed',
    'provider.changed',
    'provider.changed',
  ]);
});

test('without a key to encrypt with, no key is stored', async () => {
  const { sealer } = fixture.services;
  fixture.services.sealer = null;
  try {
    const body = { kind: 'openai', name: 'unsealed', apiKey: 'sk' };
    const refused = await fixture.send('POST', '/v1/providers', { body });
    expect([refused.status, refused.body.code]).toEqual([409, 'no_encryption_key']);
    const keyless = await fixture.createProvider({ name: 'unsealed' });
    const patched = await fixture.send('PATCH', `/v1/providers/${keyless.id}`, { body: { apiKey: 'sk' } });
    expect(patched.body.code).toBe('no_encryption_key');
    expect(await envelopeOf(keyless.id)).toBeNull();
  } finally {
    fixture.services.sealer = sealer;
  }
});

test('the environment may have the key', async () => {
  expect(await fixture.createProvider({ kind: 'anthropic' })).toMatchObject({ keySet: true });
  expect(await fixture.createProvider({ kind: 'openai' })).toMatchObject({ keySet: false });
  // It is the key for the provider's own address, and goes to no other.
  const baseUrl = 'https://elsewhere.example/v1';
  const elsewhere = await fixture.createProvider({ kind: 'anthropic', baseUrl });
  expect(elsewhere).toMatchObject({ baseUrl, keySet: false });
  const path = `/v1/providers/${elsewhere.id}`;
  const back = await fixture.send('PATCH', path, { body: { baseUrl: null } });
  expect(back.body).toMatchObject({ baseUrl: null, keySet: true });
});

test('a compatible provider needs its address, and names are unique', async () => {
  const compatible = { kind: 'openai_compatible', name: 'Ollama' };
  const missing = await fixture.send('POST', '/v1/providers', { body: compatible });
  expect([missing.status, missing.body.code]).toEqual([422, 'base_url_required']);
  const baseUrl = 'http://localhost:11434/v1';
  const provider = await fixture.createProvider({ ...compatible, baseUrl });
  expect(provider.baseUrl).toBe(baseUrl);
  const cleared = await fixture.send('PATCH', `/v1/providers/${provider.id}`, { body: { baseUrl: null } });
  expect(cleared.body.code).toBe('base_url_required');
  const again = await fixture.send('POST', '/v1/providers', { body: { kind: 'openai', name: 'oLLAMA' } });
  expect([again.status, again.body.code]).toEqual([409, 'name_taken']);
  for (const url of ['ftp://host', 'javascript:alert(1)', 'no address']) {
    const answer = await fixture.send('POST', '/v1/providers', {
      body: { kind: 'openai', name: url, baseUrl: url },
    });
    expect([url, answer.status]).toEqual([url, 422]);
  }
});

test('a model is made, changed and cleared', async () => {
  const provider = await fixture.createProvider();
  const path = `/v1/providers/${provider.id}/models`;
  const made = await fixture.send<Model>('POST', path, {
    body: { modelId: 'gpt-5', inputPrice: 1.25, outputPrice: 10, contextTokens: 400_000 },
  });
  expect([made.status, made.body]).toEqual([
    201,
    expect.objectContaining({
      providerId: provider.id,
      modelId: 'gpt-5',
      displayName: 'gpt-5',
      inputPrice: 1.25,
      outputPrice: 10,
      contextTokens: 400_000,
      maxOutputTokens: 4096,
      isDefault: false,
      status: 'active',
    }),
  ]);
  const again = await fixture.send('POST', path, { body: { modelId: 'gpt-5' } });
  expect([again.status, again.body.code]).toEqual([409, 'model_taken']);
  const patched = await fixture.send<Model>('PATCH', `/v1/models/${made.body.id}`, {
    body: { contextTokens: null, displayName: 'Five', inputPrice: 0 },
  });
  expect(patched.body).toMatchObject({
    contextTokens: null,
    displayName: 'Five',
    inputPrice: 0,
    outputPrice: 10,
  });
  expect(await fixture.get(`/v1/models/${made.body.id}`)).toEqual(patched.body);
  const listed = await fixture.get<{ data: Model[] }>(`/v1/models?providerId=${provider.id}`);
  expect(listed.data).toEqual([patched.body]);
  const first = await fixture.get<{ data: Model[]; nextCursor: string }>('/v1/models?limit=1');
  expect(first.data[0]!.id).toBe(made.body.id);
});

test('one model is the default, however many want to be at once', async () => {
  const models = await Promise.all(Array.from({ length: 8 }, () => fixture.createModel({ isDefault: true })));
  const defaults = async () =>
    (await fixture.get<{ data: Model[] }>('/v1/models?limit=200')).data.filter(({ isDefault }) => isDefault);
  expect(await defaults()).toHaveLength(1);
  const answers = await Promise.all(
    models.map(({ id }) => fixture.send('PATCH', `/v1/models/${id}`, { body: { isDefault: true } })),
  );
  expect(answers.map(({ status }) => status)).toEqual(models.map(() => 200));
  const [last] = await defaults();
  expect(await defaults()).toHaveLength(1);
  const elsewhere = await fixture.createModel({ isDefault: true }, fixture.there);
  expect(elsewhere.isDefault).toBe(true);
  expect(await defaults()).toEqual([last]);
  await fixture.send('PATCH', `/v1/models/${last!.id}`, { body: { isDefault: false } });
  expect(await defaults()).toEqual([]);
});

test('what is in use cannot be deleted, and what uses it is named', async () => {
  const model = await fixture.createModel();
  const fallback = await fixture.createModel();
  const agent = await fixture.createAgent({
    name: 'user of models',
    defaultModelId: model.id,
    fallbackModelIds: [fallback.id.toUpperCase()],
  });
  expect(agent.fallbackModelIds).toEqual([fallback.id]);
  for (const { id } of [model, fallback]) {
    const refused = await fixture.send('DELETE', `/v1/models/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'in_use']);
    expect(refused.body.detail).toContain('"user of models"');
  }
  const provider = await fixture.send('DELETE', `/v1/providers/${model.providerId}`);
  expect([provider.status, provider.body.code]).toEqual([409, 'in_use']);
  expect(provider.body.detail).toContain(model.modelId);

  await fixture.patchAgent(agent.id, { defaultModelId: null, fallbackModelIds: [] });
  expect((await fixture.send('DELETE', `/v1/models/${model.id}`)).status).toBe(204);
  expect((await fixture.send('DELETE', `/v1/models/${model.id}`)).status).toBe(404);
  expect((await fixture.send('DELETE', `/v1/providers/${model.providerId}`)).status).toBe(204);
  // The first version still names it, so it cannot come back.
  const back = await fixture.send('POST', `/v1/agents/${agent.id}/rollback`, { body: { version: 1 } });
  expect([back.status, back.body.code]).toEqual([422, 'model_not_found']);
});

test('a model that an agent is just beginning to fall back to is not deleted under it', async () => {
  for (let round = 0; round < 10; round++) {
    const model = await fixture.createModel();
    const name = `racing ${round}`;
    const [made, deleted] = await Promise.all([
      fixture.send<Agent>('POST', '/v1/agents', { body: { name, fallbackModelIds: [model.id] } }),
      fixture.send('DELETE', `/v1/models/${model.id}`),
    ]);
    const there = (await fixture.send('GET', `/v1/models/${model.id}`)).status === 200;
    expect([made.status, deleted.status, there]).toEqual(there ? [201, 409, true] : [422, 204, false]);
  }
});

test('a session and the project count as users too', async () => {
  const model = await fixture.createModel();
  const agent = await fixture.createAgent({ name: 'in session' });
  await fixture.db.rows
    .insertInto('sessions')
    .values({
      id: newId(),
      project_id: fixture.here.project,
      agent_id: agent.id,
      entity_id: agent.entityId,
      thread_id: newId(),
      model_id: model.id,
    })
    .execute();
  expect((await fixture.send('DELETE', `/v1/models/${model.id}`)).body.detail).toContain('the session');
  const other = await fixture.createModel();
  const setDefault = (id: string | null) =>
    fixture.db.rows
      .updateTable('projects')
      .set({ default_model_id: id })
      .where('id', '=', fixture.here.project)
      .execute();
  await setDefault(other.id);
  expect((await fixture.send('DELETE', `/v1/models/${other.id}`)).body.detail).toContain('the project');
  await setDefault(null);
});

test('another project reaches neither providers nor models', async () => {
  const model = await fixture.createModel();
  const asked: [string, string, object?][] = [
    ['GET', `/v1/providers/${model.providerId}`],
    ['PATCH', `/v1/providers/${model.providerId}`, { name: 'mine' }],
    ['DELETE', `/v1/providers/${model.providerId}`],
    ['POST', `/v1/providers/${model.providerId}/models`, { modelId: 'x' }],
    ['GET', `/v1/models/${model.id}`],
    ['PATCH', `/v1/models/${model.id}`, { isDefault: true }],
    ['DELETE', `/v1/models/${model.id}`],
  ];
  for (const [method, path, body] of asked) {
    const answer = await fixture.send(method, path, { body, as: fixture.there });
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'not_found']);
  }
  const models = await fixture.get<{ data: Model[] }>(
    `/v1/models?providerId=${model.providerId}`,
    fixture.there,
  );
  expect(models.data).toEqual([]);
  const providers = await fixture.get<{ data: Provider[] }>('/v1/providers?limit=200', fixture.there);
  expect(providers.data.some(({ id }) => id === model.providerId)).toBe(false);
});

test('fields that are unknown, too large or cannot be stored are refused', async () => {
  const { id } = await fixture.createProvider();
  const model = await fixture.createModel();
  const asked: [string, string, object][] = [
    ['POST', '/v1/providers', { kind: 'openai', name: 'n', colour: 'red' }],
    ['POST', '/v1/providers', { kind: 'telepathy', name: 'n' }],
    ['POST', '/v1/providers', { kind: 'openai', name: 'n\0' }],
    ['POST', '/v1/providers', { kind: 'openai', name: 'n', apiKey: '' }],
    ['PATCH', `/v1/providers/${id}`, { kind: 'demo' }],
    ['PATCH', `/v1/providers/${id}`, { name: null }],
    ['POST', `/v1/providers/${id}/models`, { modelId: 'm\0' }],
    ['POST', `/v1/providers/${id}/models`, { modelId: 'm', inputPrice: -1 }],
    ['POST', `/v1/providers/${id}/models`, { modelId: 'm', contextTokens: 1e12 }],
    ['PATCH', `/v1/models/${model.id}`, { modelId: 'other' }],
    ['PATCH', `/v1/models/${model.id}`, { displayName: '\0' }],
  ];
  for (const [method, path, body] of asked) {
    const answer = await fixture.send(method, path, { body });
    expect([path, body, answer.status, answer.body.code]).toEqual([path, body, 422, 'invalid_request']);
  }
});

test('a key does not follow its provider to another address', async () => {
  const provider = await fixture.createProvider({
    kind: 'openai_compatible',
    name: 'moves',
    baseUrl: 'https://models.example/v1',
    apiKey: 'sk-secret',
  });
  const path = `/v1/providers/${provider.id}`;
  const elsewhere = 'https://evil.example/v1';
  const refused = await fixture.send('PATCH', path, { body: { baseUrl: elsewhere } });
  expect([refused.status, refused.body.code]).toEqual([422, 'key_required']);
  expect((await fixture.send('GET', path)).body).toMatchObject({ baseUrl: 'https://models.example/v1' });
  const moved = await fixture.send('PATCH', path, { body: { baseUrl: elsewhere, apiKey: null } });
  expect(moved.body).toMatchObject({ baseUrl: elsewhere, keySet: false });
});

test('an address with a name and a password in it is refused', async () => {
  const body = { kind: 'openai', name: 'leaky', baseUrl: 'https://name:password@models.example/v1' };
  const refused = await fixture.send('POST', '/v1/providers', { body });
  expect([refused.status, refused.body.code]).toEqual([422, 'invalid_request']);
  expect(JSON.stringify((await fixture.send('GET', '/v1/providers')).body)).not.toContain('password');
});
