import type { Troupe } from '@troupe/sdk';

/** What the load works with, made once before any fault. */
export interface Definitions {
  /** Agents of sessions: one for each wire format, and one whose calls in doubt wait for a person. */
  talkers: string[];
  members: string[];
  network: string;
}

const LIMITS = {
  modelTimeoutMs: 8_000,
  modelStallMs: 2_500,
  modelTries: 6,
  retryBackoffMs: 150,
  wallMs: 600_000,
};

export async function define(
  client: Troupe,
  urls: { models: string; tools: string; receiver: string; secret: string },
  offlineUsers: string[],
): Promise<Definitions> {
  const modelIds: string[] = [];
  for (const kind of ['openai_compatible', 'anthropic'] as const) {
    const provider = await client.models.createProvider({
      body: { kind, name: kind, baseUrl: urls.models, apiKey: 'not-a-real-key' },
    });
    const model = await client.models.createModel({
      params: { providerId: provider.id },
      body: {
        modelId: 'double',
        contextTokens: 200_000,
        inputPrice: 1,
        outputPrice: 2,
        isDefault: modelIds.length === 0,
      },
    });
    modelIds.push(model.id);
  }
  const fields = { label: { type: 'string' }, n: { type: 'integer' } };
  const inputSchema = { type: 'object', properties: fields, required: ['label'] };
  const http = (name: string, effect: 'once' | 'idempotent' | 'pure', more = {}) =>
    client.tools.create({
      body: {
        name,
        kind: 'http',
        effect,
        inputSchema,
        timeoutMs: 2_500,
        request:
          effect === 'pure'
            ? { url: `${urls.tools}/${name}?label={{input.label}}` }
            : { url: `${urls.tools}/${name}`, method: 'POST' },
        ...more,
      },
    });
  await http('once', 'once');
  await http('idem', 'idempotent');
  await http('pure', 'pure');
  await http('approved', 'once', { approval: true });
  await client.tools.create({ body: { name: 'client', kind: 'client', inputSchema } });
  const [first, second] = modelIds as [string, string];
  const agent = async (name: string, more: object) =>
    (await client.agents.create({ body: { name, limits: LIMITS, defaultModelId: first, ...more } })).id;
  const tools = ['once', 'idem', 'pure', 'approved', 'client'];
  const delegation = [{ id: 'delegation', config: {} }];
  await agent('helper', { tools: ['idem'] });
  const talkers = [
    await agent('talker', { tools, capabilities: delegation, fallbackModelIds: [second] }),
    await agent('other-talker', { tools, capabilities: delegation, defaultModelId: second }),
    await agent('careful-talker', { tools, capabilities: delegation, inDoubt: 'wait' }),
  ];
  const members: string[] = [];
  for (let n = 1; n <= 4; n++)
    members.push(
      await agent(`member-${n}`, { tools: ['once', 'idem'], defaultModelId: n % 2 ? first : second }),
    );
  const network = await client.networks.create({
    body: {
      name: 'desk',
      tools: [{ key: 'idem' }, { key: 'once' }],
      agents: [
        { key: 'front', prompt: 'Hand it over.', isDefault: true, routes: ['writer'], modelId: first },
        { key: 'writer', prompt: 'Answer.', allowRespond: true, tools: ['idem', 'once'], modelId: second },
      ],
    },
  });
  await client.networks.publish({ params: { network: network.id } });
  await client.access.putSecret({ params: { name: 'WEBHOOK' }, body: { value: urls.secret } });
  const action = (path: string) => ({
    type: 'webhook' as const,
    url: `${urls.receiver}/${path}`,
    secrets: ['WEBHOOK'],
  });
  const retry = { maxAttempts: 50, initialBackoffMs: 100, maxBackoffMs: 1_000 };
  const rule = (name: string, collection: string, events: ('create' | 'update')[]) =>
    client.triggers.create({
      body: { name, collection, events, action: action(name), retry, timeoutMs: 2_000, edge: false },
    });
  // Somebody who only pushes is known by nothing else.
  for (const externalId of offlineUsers) await client.entities.create({ body: { externalId } });
  await rule('sessions', 'sessions', ['create', 'update']);
  await rule('messages', 'users/*/orch-chats/*/messages', ['create']);
  await rule('tasks', 'users/*/orch-chats/*/tasks', ['create', 'update']);
  return { talkers, members, network: network.id };
}
