import { type Endpoint, endpoints } from '@troupe/protocol';
import type { PostName } from '../src/http/repeats.ts';

// POSTs that create or change something, with a marker by which each effect is found in the database.

/** Sends a request and answers its body; throws where it is refused. */
export type Ask = (
  name: `${string}.${string}`,
  input: { params?: object; query?: object; body?: object | string },
) => Promise<Record<string, string>>;

export interface World {
  agent: string;
  /** The name of the agent. */
  agentName: string;
  session: string;
  message: string;
  space: string;
  provider: string;
  network: string;
  /** A run that was canceled. */
  run: string;
}

export interface Post {
  name: PostName;
  /** What a request needs to be there, made without faults. */
  prepare?(ask: Ask, world: World, marker: string): Promise<Record<string, string>>;
  input(
    world: World,
    marker: string,
    prepared: Record<string, string>,
  ): { params?: object; query?: object; body?: object | string };
  /** Selects the marker of each effect, or what was prepared as `marker`. */
  effects: string;
  /** Keeps within the limits of the project. */
  tidy?: string;
}

export function endpointOf(name: string): Endpoint {
  const [group, one] = name.split('.') as [keyof typeof endpoints, string];
  return (endpoints[group] as Record<string, Endpoint>)[one]!;
}

export async function openWorld(ask: Ask): Promise<World> {
  const agentName = 'Worker of the world';
  const { id: agent } = await ask('agents.create', { body: { name: agentName, systemPrompt: 'Answer.' } });
  const params = { agentId: agent };
  const { id: session } = await ask('sessions.create', { params, body: {} });
  const { id: message } = await ask('sessions.postMessage', {
    params: { agentId: agent, sessionId: session },
    body: { content: { text: 'first' } },
  });
  const body = { name: 'space', members: [{ user: 'ada', role: 'admin' }] };
  const { id: space } = await ask('spaces.create', { body });
  const { id: provider } = await ask('models.createProvider', { body: { kind: 'demo', name: 'provider' } });
  const { id: network } = await ask('networks.create', { body: networkNamed('network') });
  await ask('networks.publish', { params: { network }, body: {} });
  const { id: ended } = await ask('sessions.create', { params, body: {} });
  const posted = await ask('sessions.postMessage', {
    params: { agentId: agent, sessionId: ended },
    body: { content: { text: 'canceled' } },
  });
  const { id: run } = posted.run as unknown as { id: string };
  await ask('runs.cancel', { params: { runId: run } });
  return { agent, agentName, session, message, space, provider, network, run } as World;
}

const networkNamed = (name: string) => ({
  name,
  agents: [{ key: 'front', prompt: 'Answer.', allowRespond: true, isDefault: true }],
});

async function canceledRun(ask: Ask, { agent }: World): Promise<Record<string, string>> {
  const { runId } = await ask('services.trigger', {
    params: { agentId: agent },
    body: { serviceName: 'retried' },
  });
  await ask('runs.cancel', { params: { runId } });
  return { marker: runId! };
}

export const POSTS: Post[] = [
  {
    name: 'sessions.create',
    input: ({ agent: agentId }, title) => ({ params: { agentId }, body: { title } }),
    effects: 'select title as marker from troupe.sessions',
  },
  {
    name: 'sessions.postMessage',
    input: ({ agent: agentId, session: sessionId }, text) => ({
      params: { agentId, sessionId },
      body: { content: { text } },
    }),
    effects: `select content->>'text' as marker from troupe.messages where role = 'user'`,
  },
  {
    name: 'sessions.fork',
    input: ({ agent: agentId, session: sessionId, message: messageId }, title) => ({
      params: { agentId, sessionId },
      body: { messageId, title },
    }),
    effects: 'select title as marker from troupe.sessions',
  },
  {
    name: 'spaces.create',
    input: (_, name) => ({ body: { name, members: [{ user: 'ada', role: 'admin' }] } }),
    effects: 'select name as marker from troupe.spaces',
  },
  {
    name: 'spaces.post',
    input: ({ space: spaceId }, text) => ({
      params: { spaceId },
      body: { user: 'ada', content: { text } },
    }),
    effects: `select content->>'text' as marker from troupe.messages where role = 'user'`,
  },
  {
    name: 'services.trigger',
    input: ({ agent: agentId }, payload) => ({ params: { agentId }, body: { serviceName: 's', payload } }),
    effects: `select trigger->>'payload' as marker from troupe.runs`,
  },
  {
    name: 'tasks.create',
    input: ({ agentName, session: chat }, instruction) => ({
      body: { chat, type: 'agent', name: agentName, instruction },
    }),
    effects: 'select instruction as marker from troupe.tasks',
  },
  {
    name: 'runs.fork',
    prepare: async (ask, { agent: agentId, session: sessionId }, text) => {
      const at = { params: { agentId, sessionId }, body: { content: { text: `of ${text}` } } };
      const { run } = (await ask('sessions.postMessage', at)) as unknown as { run: { id: string } };
      return { marker: run.id };
    },
    input: (_, __, { marker: runId }) => ({ params: { runId }, body: { step: 0 } }),
    effects: `select trigger->>'forkedFrom' as marker from troupe.runs`,
  },
  {
    name: 'runs.continue',
    input: ({ run: runId }, title) => ({ params: { runId }, body: { title } }),
    effects: 'select title as marker from troupe.sessions',
  },
  {
    name: 'runs.retry',
    prepare: canceledRun,
    input: (_, __, { marker: runId }) => ({ params: { runId }, body: {} }),
    effects: `select run_id::text as marker from troupe.event_batches where entries::jsonb @? 'strict $[*] ? (@[0] == "run.queued" && @[1].retry == true)'`,
  },
  {
    name: 'batches.create',
    input: ({ network }, name) => ({ params: { network }, body: { name, rows: [{ input: 'go' }] } }),
    effects: 'select name as marker from troupe.network_batches',
  },
  {
    name: 'networks.invoke',
    input: ({ network }, marker) => ({
      params: { network },
      body: { input: marker, mode: 'background', metadata: { marker } },
    }),
    effects: `select content->>'text' as marker from troupe.messages where role = 'user'`,
  },
  {
    name: 'entities.create',
    input: (_, externalId) => ({ body: { externalId } }),
    effects: 'select external_id as marker from troupe.entities',
  },
  {
    name: 'agents.create',
    input: (_, name) => ({ body: { name, systemPrompt: 'p' } }),
    effects: 'select name as marker from troupe.agents',
  },
  {
    name: 'agents.importOne',
    input: (_, name) => ({ body: JSON.stringify({ name, systemPrompt: 'p' }) }),
    effects: 'select name as marker from troupe.agents a join troupe.agent_versions v on v.agent_id = a.id',
  },
  {
    name: 'agents.rollback',
    prepare: async (ask, _, marker) => {
      const { id } = await ask('agents.create', { body: { name: `rolled ${marker}`, systemPrompt: 'one' } });
      await ask('agents.update', { params: { agentId: id }, body: { systemPrompt: 'two' } });
      return { agentId: id! };
    },
    input: (_, notes, { agentId }) => ({ params: { agentId }, body: { version: 1, notes } }),
    effects: 'select notes as marker from troupe.agent_versions',
  },
  {
    name: 'goals.create',
    input: ({ agent: agentId }, description) => ({
      params: { agentId },
      query: { user: description },
      body: { description },
    }),
    effects: 'select description as marker from troupe.goals',
  },
  {
    name: 'memories.setMany',
    input: ({ agent: agentId }, user) => ({
      params: { agentId },
      query: { user },
      body: { memories: [{ key: 'k', value: 'v' }] },
    }),
    effects: `select e.external_id as marker from troupe.audit_log l join troupe.entities e on e.id::text = l.data->>'person'
      where l.action = 'memory.set'`,
  },
  {
    name: 'mcpServers.create',
    input: (_, name) => ({ body: { name, transport: 'http', url: 'http://127.0.0.1:9/' } }),
    effects: 'select name as marker from troupe.mcp_servers',
  },
  {
    name: 'models.createProvider',
    input: (_, name) => ({ body: { kind: 'demo', name } }),
    effects: 'select name as marker from troupe.llm_providers',
  },
  {
    name: 'models.createModel',
    input: ({ provider: providerId }, modelId) => ({ params: { providerId }, body: { modelId } }),
    effects: 'select model_id as marker from troupe.llm_models',
  },
  {
    name: 'networks.create',
    input: (_, name) => ({ body: networkNamed(name) }),
    effects: 'select name as marker from troupe.networks',
  },
  {
    name: 'networks.copy',
    input: ({ network }, name) => ({ params: { network }, body: { name } }),
    effects: 'select name as marker from troupe.networks',
  },
  {
    name: 'networks.addAgent',
    prepare: async (ask, _, marker) => {
      const { id: network } = await ask('networks.create', { body: networkNamed(`of ${marker}`) });
      return { network: network! };
    },
    input: (_, key, { network }) => ({ params: { network }, body: { key, prompt: 'p' } }),
    effects: 'select key as marker from troupe.network_agents',
  },
  {
    name: 'networks.publish',
    prepare: async (ask, _, marker) => {
      const { id: network } = await ask('networks.create', { body: networkNamed(`of ${marker}`) });
      return { network: network! };
    },
    input: (_, notes, { network }) => ({ params: { network }, body: { notes } }),
    effects: 'select notes as marker from troupe.network_versions',
  },
  {
    name: 'plans.create',
    input: ({ agent: agentId }, name) => ({ params: { agentId }, body: { name, runAfter: '1 day' } }),
    effects: 'select name as marker from troupe.plans',
    tidy: 'delete from troupe.plans',
  },
  {
    name: 'tools.create',
    input: (_, name) => ({ body: { name, kind: 'static', output: 1 } }),
    effects: 'select name as marker from troupe.tools',
  },
  {
    name: 'triggers.create',
    input: (_, name) => ({
      body: {
        name,
        collection: 'spaces',
        events: ['create'],
        enabled: false,
        action: { type: 'webhook', url: 'http://127.0.0.1:9/' },
      },
    }),
    effects: 'select name as marker from troupe.triggers',
    tidy: 'delete from troupe.triggers',
  },
  {
    name: 'access.createKey',
    input: (_, name) => ({ body: { name } }),
    effects: 'select name as marker from troupe.api_keys',
  },
  {
    name: 'access.createProject',
    input: (_, name) => ({ body: { name } }),
    effects: 'select name as marker from troupe.projects',
  },
];
