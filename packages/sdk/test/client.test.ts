import { allEndpoints, type Endpoint, endpoints } from '@troupe/protocol';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, expectTypeOf, inject, it } from 'vitest';
import {
  AuthenticationError,
  ConflictError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  Troupe,
} from '../src/index.ts';

let server: TestServer;
let troupe: Troupe;

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
  troupe = new Troupe({ baseUrl: server.url });
});
afterAll(() => server.close());

/** Every group of the contract has one of its name here, with a function for each of its endpoints. */
type Functions = {
  [G in keyof typeof endpoints]: { [N in keyof (typeof endpoints)[G]]: (...given: never[]) => unknown };
};

it('has a typed function for every endpoint', () => {
  expectTypeOf<Troupe>().toExtend<Functions>();
  expectTypeOf<Awaited<ReturnType<Troupe['agents']['exportOne']>>>().toEqualTypeOf<string>();
  expectTypeOf<Awaited<ReturnType<Troupe['agents']['archive']>>>().toEqualTypeOf<undefined>();
  // @ts-expect-error: an agent has a name
  const wrong = () => troupe.agents.create({ body: {} });
  // @ts-expect-error: which agent?
  const missing = () => troupe.agents.get();
  expect([wrong, missing]).toHaveLength(2);
  // Functions of our own come after those of the contract.
  const own = { inbox: ['approve', 'reject', 'retry', 'complete', 'fail', 'answer'] } as Record<
    string,
    string[]
  >;
  for (const [group, described] of Object.entries(endpoints))
    expect(Object.keys(troupe[group as keyof typeof endpoints])).toEqual([
      ...Object.keys(described),
      ...(own[group] ?? []),
    ]);
});

it('each function asks the endpoint that has its name', async () => {
  const asked: string[] = [];
  const listening = new Troupe({
    baseUrl: 'http://troupe.test',
    fetch: (async (url: string, { method }: RequestInit) => {
      asked.push(`${method} ${new URL(url).pathname}`);
      return Response.json({});
    }) as typeof fetch,
  });
  for (const [group, described] of Object.entries(endpoints) as [
    keyof typeof endpoints,
    Record<string, Endpoint>,
  ][]) {
    for (const [name, { params }] of Object.entries(described)) {
      const call = (listening[group] as Record<string, (input: object) => Promise<unknown>>)[name]!;
      await call({ params: Object.fromEntries(Object.keys(params?.shape ?? {}).map((one) => [one, one])) });
    }
  }
  expect(asked).toEqual(
    allEndpoints().map(({ method, path }) => `${method} ${path.replaceAll(/[{}]/g, '')}`),
  );
});

it('keeps agents: create, read, change, versions, diff, roll back, preview, export, import, archive', async () => {
  const { id: agentId } = await troupe.agents.create({ body: { name: 'Ada', systemPrompt: 'Be kind.' } });
  const params = { agentId };
  expect(await troupe.agents.get({ params })).toMatchObject({ name: 'Ada', version: 1 });
  await troupe.agents.update({ params, body: { systemPrompt: 'Be brief.' } });
  const { changes } = await troupe.agents.diff({ params, query: { from: 1, to: 2 } });
  expect(changes).toEqual([{ path: '$.systemPrompt', from: 'Be kind.', to: 'Be brief.' }]);
  expect(await troupe.agents.rollback({ params, body: { version: 1 } })).toMatchObject({ version: 3 });
  expect((await troupe.agents.listVersions({ params })).data.map(({ version }) => version)).toEqual([
    3, 2, 1,
  ]);
  expect((await troupe.agents.getVersion({ params: { agentId, version: 2 } })).definition.systemPrompt).toBe(
    'Be brief.',
  );
  expect((await troupe.agents.preview({ params })).prompt).toContain('Be kind.');
  for (const format of ['markdown', 'yaml', 'json'] as const) {
    const file = await troupe.agents.exportOne({ params, query: { format } });
    expect(file).toContain('Ada');
    const imported = await troupe.agents.importOne({ body: file.replace(/Be \w+\./, `Be ${format}.`) });
    expect(imported).toMatchObject({ id: agentId, systemPrompt: `Be ${format}.` });
  }
  expect(await troupe.agents.archive({ params })).toBeUndefined();
  expect(await troupe.agents.get({ params })).toMatchObject({ status: 'archived' });
});

it('keeps access, capabilities, models and runs', async () => {
  const { key, id: keyId } = await troupe.access.createKey({ body: { name: 'mine' } });
  const withKey = new Troupe({ baseUrl: server.url, key });
  expect(await withKey.access.getProject()).toMatchObject({ name: expect.any(String) });
  await withKey.access.putSecret({ params: { name: 'TOKEN' }, body: { value: 'hidden' } });
  expect((await withKey.access.listSecrets()).data.map(({ name }) => name)).toEqual(['TOKEN']);
  await withKey.access.deleteSecret({ params: { name: 'TOKEN' } });
  await troupe.access.revokeKey({ params: { keyId } });
  await expect(withKey.access.getProject()).rejects.toBeInstanceOf(AuthenticationError);
  expect((await troupe.access.listAudit({ query: { limit: 1 } })).data).toHaveLength(1);
  const { data } = await troupe.capabilities.list();
  expect(await troupe.capabilities.get({ params: { capabilityId: data[0]!.id } })).toMatchObject(data[0]!);
  const { id: providerId } = await troupe.models.createProvider({ body: { kind: 'demo', name: 'Demo' } });
  const model = await troupe.models.createModel({ params: { providerId }, body: { modelId: 'demo' } });
  expect((await troupe.models.listModels({ query: { providerId } })).data).toEqual([model]);
  await troupe.models.deleteModel({ params: { modelId: model.id } });
  await troupe.models.deleteProvider({ params: { providerId } });
  expect(await troupe.runs.list({ query: { status: 'failed' } })).toEqual({ data: [], nextCursor: null });
});

it('throws a class for each kind of refusal, with the code and what is wrong', async () => {
  const nobody = '00000000-0000-4000-8000-000000000000';
  await troupe.agents.create({ body: { name: 'Once' } });
  await expect(troupe.agents.create({ body: { name: 'Once' } })).rejects.toSatisfy(
    (error) => error instanceof ConflictError && error.code === 'name_taken' && error.status === 409,
  );
  await expect(troupe.agents.get({ params: { agentId: nobody } })).rejects.toSatisfy(
    (error) => error instanceof NotFoundError && error.code === 'not_found' && error.name === 'NotFoundError',
  );
  await expect(troupe.agents.create({ body: { name: '' } })).rejects.toSatisfy(
    (error) =>
      error instanceof InvalidRequestError &&
      error.issues[0]?.path === 'name' &&
      error.message.includes('name'),
  );
  const { key } = await troupe.access.createKey({ body: { name: 'public', kind: 'public' } });
  await expect(new Troupe({ baseUrl: server.url, key }).agents.list()).rejects.toBeInstanceOf(ForbiddenError);
});

it('all() gives every item of a list, page after page, and stops where the reader stops', async () => {
  const names = Array.from({ length: 7 }, (_, at) => `Paged ${at}`);
  for (const name of names) await troupe.agents.create({ body: { name, tags: ['paged'] } });
  const pages: number[] = [];
  const twoByTwo = async ({ query }: { query: { cursor?: string } }) => {
    const page = await troupe.agents.list({ query: { ...query, limit: 2, tag: 'paged' } });
    pages.push(page.data.length);
    return page;
  };
  const found: string[] = [];
  for await (const agent of troupe.all(twoByTwo)) found.push(agent.name);
  expect([found, pages]).toEqual([names.toReversed(), [2, 2, 2, 1]]);
  pages.length = 0;
  for await (const agent of troupe.all(twoByTwo)) if (agent.name === 'Paged 5') break;
  expect(pages).toEqual([2]);
  for await (const agent of troupe.all(troupe.agents.list)) expect(agent.id).toBeTruthy();
});

it('says at once when the address is none', () => {
  expect(() => new Troupe({ baseUrl: 'nowhere' })).toThrow('"nowhere" is no address');
});
