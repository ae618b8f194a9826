import type { Model, Provider } from '@troupe/protocol';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { responses } from '../models/wire/formats.ts';
import { stream, WireServer } from '../models/wire/server.ts';
import { after, freePort, Troupe } from './fixture.ts';

test('a key in the environment is enough: a provider, a model, and an agent that answers with it', async () => {
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const wire = await WireServer.open();
  after(() => wire.close());
  const bootstrap = 'a-key-for-the-test-of-the-environment';
  const env = { DATABASE_URL, OPENAI_API_KEY: 'sk-of-the-operator', OPENAI_BASE_URL: wire.url };
  const start = async () =>
    new Troupe('serve', { ...env, TROUPE_BOOTSTRAP_KEY: bootstrap, PORT: `${await freePort()}` });
  // All of them bring, and there is one.
  let serve = await start();
  const second = await start();
  const work = new Troupe('work', env);
  await Promise.all([serve.ready(), second.ready(), work.said('working')]);
  const added = 'the environment has a key';
  expect([serve, second, work].filter(({ output }) => output.includes(added))).toHaveLength(1);

  // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for.
  const ask = async <Body = any>(
    method: string,
    path: string,
    body?: object,
    key = bootstrap,
  ): Promise<Body> => {
    const response = await fetch(`http://127.0.0.1:${serve.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    expect(response.status, path).toBeLessThan(300);
    return (response.status === 204 ? null : await response.json()) as Body;
  };
  const providers = async () => (await ask<{ data: Provider[] }>('GET', '/v1/providers')).data;
  const models = async () => (await ask<{ data: Model[] }>('GET', '/v1/models')).data;
  expect(await providers()).toMatchObject([{ kind: 'openai', name: 'OpenAI', keySet: true }]);
  const [model] = await models();
  expect(model).toMatchObject({ isDefault: true, status: 'active' });
  expect(model!.inputPrice).toBeGreaterThan(0);

  wire.replies(stream(responses.events({ text: ['Hello from afar.'] })));
  const agent = await ask('POST', '/v1/agents', { name: 'Ada' });
  const session = await ask('POST', `/v1/agents/${agent.id}/sessions`, {});
  const path = `/v1/agents/${agent.id}/sessions/${session.id}/messages`;
  await ask('POST', path, { content: { text: 'Hi' } });
  await until('it answered', async () => (await ask('GET', path)).data.length === 2);
  expect((await ask('GET', path)).data[1].content.text).toBe('Hello from afar.');
  expect(wire.heard).toHaveLength(1);
  expect(wire.heard[0]!.headers.authorization).toBe('Bearer sk-of-the-operator');
  expect(wire.heard[0]!.body.model).toBe(model!.modelId);

  // Another tenant has neither rows nor the key.
  const { key } = await ask('POST', '/v1/projects', { name: 'another' });
  expect((await ask('GET', '/v1/providers', undefined, key)).data).toEqual([]);
  const theirs = await ask('POST', '/v1/providers', { kind: 'openai', name: 'Ours' }, key);
  expect(theirs.keySet).toBe(false);

  // What a person does about it outlives the next start.
  await ask('PATCH', '/v1/project', { defaultModelId: null });
  await ask('DELETE', `/v1/models/${model!.id}`);
  await ask('DELETE', `/v1/providers/${model!.providerId}`);
  await serve.stop();
  serve = await start();
  await serve.ready();
  expect([await providers(), await models()]).toEqual([[], []]);
  await second.stop();
});
