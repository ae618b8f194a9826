import { type Api, ApiError } from '@troupe/sdk';
import { troupe } from '../../data/client.ts';
import { changeSettings, currentSettings } from '../../data/settings.ts';

// What the tour starts: the four ways of working, each with real runs on this server. Whatever model the project has answers; the prompts are
// such that the demo model can follow them too. Agents are made once and found again by their tag.

const TAG = 'demo';

export interface SessionDemo {
  agentId: string;
  sessionId: string;
}

export interface SpaceDemo {
  spaceId: string;
  entityId: string;
}

export interface NetworkDemo {
  name: string;
  runId: string;
}

export async function startSession(): Promise<SessionDemo> {
  const agent = await demoAgent('Guide', {
    systemPrompt: 'You show people around. Be brief and friendly.',
    capabilities: [{ id: 'current_time' }],
  });
  const session = await troupe.open(agent.id, { title: 'A question for the guide' });
  await session.send('What time is it?');
  return { agentId: agent.id, sessionId: session.id };
}

export async function startSpace(): Promise<SpaceDemo> {
  const line = (said: string, next?: string) =>
    `You help to plan a party. When it is your turn, say: "${said}"${next ? ` Then hand over to @${next}.` : ''} Speak only when somebody says @ and your name.`;
  const agents = await Promise.all([
    demoAgent('Planner', {
      systemPrompt: line('I would take the garden. It has room for sixty people.', 'Treasurer'),
    }),
    demoAgent('Treasurer', {
      systemPrompt: line('The garden is cheap, so enough is left for food and for music.', 'Critic'),
    }),
    demoAgent('Critic', {
      systemPrompt: line('Fine, as long as it does not rain. Let us keep something back for a tent.'),
    }),
  ]);
  const space = await troupe.spaces.create({
    body: {
      name: 'Summer party',
      members: [{ user: 'you', role: 'admin' }, ...agents.map((agent) => ({ agentId: agent.id }))],
      metadata: { demo: true },
    },
  });
  const members = await troupe.spaces.members({ params: { spaceId: space.id }, query: { type: 'human' } });
  const entityId = members.data[0]!.entityId;
  await troupe.spaces.post({
    params: { spaceId: space.id },
    body: { content: { text: '@Planner, where shall we have the summer party?' }, senderId: entityId },
  });
  // Whoever opens the space can go on talking there.
  if (currentSettings().entityId === null) changeSettings({ entityId });
  return { spaceId: space.id, entityId };
}

export async function startNetwork(): Promise<NetworkDemo> {
  const name = 'Front desk';
  const agents = [
    {
      key: 'front',
      isDefault: true,
      prompt: 'Hand every request to whoever knows.',
      routes: ['sums', 'clock'],
    },
    { key: 'sums', allowRespond: true, prompt: 'You do sums.', routes: ['front'] },
    { key: 'clock', allowRespond: true, prompt: 'You know about time.', routes: ['front'] },
  ];
  const found = await orNull(troupe.networks.get({ params: { network: name } }));
  if (!found)
    await orTaken(troupe.networks.create({ body: { name, description: 'Made by the tour.', agents } }));
  if (!found?.currentVersion)
    await troupe.networks.publish({ params: { network: name }, body: { notes: 'Made by the tour' } });
  const { id: runId } = await troupe.network(name).invoke('How much is 17*3?');
  return { name, runId };
}

export async function startTasks(): Promise<SessionDemo> {
  const agent = await demoAgent('Director', {
    systemPrompt: 'You hand work to others and tell what came of it.',
    capabilities: [{ id: 'delegation' }, { id: 'current_time' }],
  });
  const session = await troupe.open(agent.id, { title: 'Work for two sub-agents' });
  await session.send('delegate to researcher: what time is it? and delegate to general: how much is 6*7?');
  return { agentId: agent.id, sessionId: session.id };
}

type NewAgent = Omit<Parameters<typeof troupe.agents.create>[0]['body'], 'name'>;

async function demoAgent(name: string, body: NewAgent): Promise<Api.Agent> {
  const { data } = await troupe.agents.list({ query: { tag: TAG, search: name, limit: 100 } });
  const found = data.find((agent) => agent.name === name || agent.name === `${name} (demo)`);
  if (found) return found;
  const make = (called: string) => troupe.agents.create({ body: { name: called, tags: [TAG], ...body } });
  try {
    return await make(name);
  } catch (error) {
    // Somebody has an agent of this name: it is theirs, and stays as it is.
    if (error instanceof ApiError && error.code === 'name_taken') return make(`${name} (demo)`);
    throw error;
  }
}

async function orNull<Result>(promise: Promise<Result>): Promise<Result | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

async function orTaken(promise: Promise<unknown>): Promise<void> {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'name_taken')) throw error;
  }
}
