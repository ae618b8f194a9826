import type { Troupe } from '@troupe/sdk';
import type { Script } from '@troupe/server/parts';
import { type TestServer, until } from '@troupe/testing';

type Turn = ReturnType<Extract<Script, (...args: never[]) => unknown>>;
const call = (name: string, args: object = {}) => ({ calls: [{ name, arguments: args as never }] });

/** Every agent of the template announces itself in its prompt; its role decides the answer. */
export const script: Script = (request) => {
  const agent = /I am (\w+)\./.exec(request.system)?.[1];
  const { step } = request;
  const turn = (first: object, then: object): Turn => (step === 1 ? first : then) as Turn;
  if (agent === 'teller') return turn(call('look', { q: 'sky' }), { text: 'The sky is blue.' });
  if (agent === 'breaker') return { error: { code: 'broken', message: 'No.', retryable: false } } as Turn;
  if (agent === 'giver')
    return turn(call('create_agent', { type: 'finder', instruction: 'Find it.' }), { text: 'Found.' });
  if (agent === 'finder') return turn(call('look', { q: 'sea' }), call('final_answer', { result: 'here' }));
  if (agent === 'speaker') return turn(call('send_message', { content: 'Hello.' }), { text: 'Done.' });
  if (agent === 'front') return turn(call('route_to_agent', { agent: 'back', context: 'sum' }), {});
  return step === 2 ? (call('look', { q: 'sum' }) as Turn) : (call('respond', { payload: 'done' }) as Turn);
};

/** Identifiers of one object of each kind, by the name of the path parameter that addresses it. */
export type TemplateIds = Record<
  | 'agentId'
  | 'sessionId'
  | 'spaceId'
  | 'network'
  | 'batchId'
  | 'runId'
  | 'taskId'
  | 'subAgentId'
  | 'messageId'
  | 'deliveryId'
  | 'trigger'
  | 'entityId'
  | 'planId'
  | 'networkId',
  string
>;

/** Uses every door once through the real interface, so that copies of these rows look like real history. */
export async function makeTemplate(troupe: Troupe, server: TestServer): Promise<TemplateIds> {
  const params = [{ name: 'q', required: true }];
  await troupe.tools.create({ body: { name: 'look', kind: 'echo', params } as never });
  const agent = async (name: string, more: object = {}) =>
    (await troupe.agents.create({ body: { name, systemPrompt: `I am ${name}.`, ...more } as never })).id;
  const agentId = await agent('teller', { tools: ['look'] });
  const giver = await agent('giver', { capabilities: [{ id: 'delegation', config: {} }] });
  await agent('finder', { tools: ['look'] });
  const speaker = await agent('speaker');
  const { id: trigger } = await troupe.triggers.create({
    body: {
      name: 'ended',
      collection: 'runs',
      events: ['update'],
      condition: 'event.document.status == "completed" && event.document.door == "network"',
      action: { type: 'webhook', url: 'http://127.0.0.1:9/' },
      retry: { maxAttempts: 1, initialBackoffMs: 10, maxBackoffMs: 20 },
    } as never,
  });

  const session = await troupe.open(agentId, { title: 'About the sky', tags: ['weather'], user: 'ada' });
  const { run } = await session.send('What colour is the sky?');
  await server.kernel.ended(run!.id);
  await server.kernel.ended((await session.send('And the sea?')).run!.id);
  await server.kernel.ended((await (await troupe.open(giver, { user: 'ada' })).send('Find it.')).run!.id);

  const breaker = await agent('breaker');
  await server.kernel.ended((await (await troupe.open(breaker, { user: 'ada' })).send('Go.')).run!.id);

  const space = await troupe.spaces.create({
    body: { name: 'hall', members: [{ user: 'ada' }, { agentId: speaker }] } as never,
  });
  const posted = await troupe.spaces.post({
    params: { spaceId: space.id },
    body: { content: { text: 'Is anybody here?' }, user: 'ada' } as never,
  });
  const ended = async (query: object) => {
    const { data } = await troupe.runs.list({ query: query as never });
    return data.length > 0 && data.every(({ status }) => status === 'completed');
  };
  await until('the space is quiet', () => ended({ spaceId: space.id }));

  const { id: networkId } = await troupe.networks.create({
    body: {
      name: 'office',
      agents: [
        { key: 'front', isDefault: true, prompt: 'I am front.', routes: ['back'] },
        { key: 'back', prompt: 'I am back.', tools: ['look'], allowRespond: true },
      ],
      tools: [{ key: 'look' }],
    } as never,
  });
  await troupe.networks.publish({ params: { network: networkId }, body: {} as never });
  await server.kernel.ended((await troupe.network('office').invoke({ input: 'Add it up.' })).id);
  const batch = await troupe.network('office').batch({ rows: [{ input: 'one' }, { input: 'two' }] });
  await until('the batch is done', async () => {
    const { data } = await troupe.batches.items({ params: { batchId: batch.id } } as never);
    return data.length > 0 && data.every(({ status }) => status === 'completed');
  });
  await until('the deliveries ended', async () => {
    const { data } = await troupe.triggers.deliveries();
    return data.length === 3 && data.every(({ status }) => status === 'delivered' || status === 'dead');
  });
  const plan = await troupe.plans.create({
    params: { agentId: speaker },
    body: { name: 'later', instruction: 'Say hello.', scheduledAt: new Date(Date.now() + 9e8).toISOString() },
  });

  return {
    agentId,
    sessionId: session.id,
    spaceId: space.id,
    network: networkId,
    networkId,
    batchId: batch.id,
    runId: run!.id,
    taskId: (await troupe.tasks.list()).data[0]!.id,
    subAgentId: (await troupe.subAgents.list()).data[0]!.id,
    messageId: (posted as unknown as { id: string }).id,
    deliveryId: (await troupe.triggers.deliveries()).data[0]!.id,
    trigger,
    entityId: (await troupe.entities.list({ query: { externalId: 'ada' } } as never)).data[0]!.id,
    planId: plan.id,
  };
}
