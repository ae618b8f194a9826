/**
 * W5, Troupe only: the cost of an action through each door, against a tool call in a session.
 * Every run makes twenty actions of one kind, so that the request that starts it hardly counts:
 * - session: the agent calls a tool; network: an agent of a network calls a tool;
 * - route: two agents of a network hand over to each other; space: the agent posts a message.
 * The doors take turns, so that a change of the machine's speed meets all of them. A whole server runs in this process;
 * places are created beforehand, so that only messages and runs are measured.
 */
import { availableParallelism } from 'node:os';
import type { Invoked, PostedMessage, PostedSpaceMessage } from '@troupe/protocol';
import { createModels, type Model, type ModelRequest, migrate } from '@troupe/server';
import { tool } from '@troupe/server/parts';
import { openServer, type TestServer } from '@troupe/testing';
import { Counters } from '../counters.ts';
import { type DoorCost, type Doors, WANTED_WINDOWS } from '../results.ts';
import { history, TOOL_DESCRIPTION, TOOL_NAME } from '../scenario.ts';
import type { Job } from '../worker.ts';

const ACTIONS = 20;
const CONCURRENT_RUNS = 16;
/** Bounds the time of one round where the machine is slow. */
const MAX_RUNS = 160;
const TEXT = history(1)[0]!.text;
const MAX_RUN_MS = 60_000;

/** Starts one run in a place that no run has used, and returns the run's id. */
type StartRun = () => Promise<string>;
interface Door {
  name: string;
  /** Outside the measurement. */
  prepare(): Promise<StartRun>;
}

export async function measureDoors(job: Job): Promise<Doors> {
  await migrate(job.databaseUrl);
  const counters = await Counters.open({ ...job, cores: availableParallelism() });
  const lookup = tool({ name: TOOL_NAME, effect: 'idempotent', execute: () => TEXT });
  const server = await openServer({
    postgresUrl: job.databaseUrl,
    databaseUrl: job.databaseUrl,
    models: () => createModels({ demo: () => model }),
    code: [lookup],
  });
  try {
    const doors = await createDoors(server);
    // One round warms up and shows how many runs fit into the time.
    const began = performance.now();
    for (const door of doors) await runAll(server, door, CONCURRENT_RUNS);
    const msPerRun = (performance.now() - began) / (doors.length * CONCURRENT_RUNS);
    const fitting = Math.floor((job.seconds * 1_000) / WANTED_WINDOWS / msPerRun);
    const runs = Math.min(MAX_RUNS, Math.max(CONCURRENT_RUNS, fitting));
    const result: Doors = { doors: {} };
    for (let round = 0; round < WANTED_WINDOWS; round++) {
      for (const door of doors) {
        result.doors[door.name] ??= [];
        result.doors[door.name]!.push(await measureRound(server, counters, door, runs));
      }
    }
    return result;
  } finally {
    await server.close();
  }
}

async function measureRound(
  server: TestServer,
  counters: Counters,
  door: Door,
  runs: number,
): Promise<DoorCost> {
  const starts = await prepareAll(door, runs);
  const before = await counters.read();
  await playAll(server, starts);
  const spent = counters.between(before, await counters.read());
  const actions = runs * ACTIONS;
  return {
    actions,
    appCpuMs: spent.appCpuMs / actions,
    postgresCpuMs: spent.postgresCpuMs / actions,
    walBytes: spent.walBytes / actions,
    foreignPercent: spent.foreignPercent,
  };
}

async function runAll(server: TestServer, door: Door, runs: number): Promise<void> {
  await playAll(server, await prepareAll(door, runs));
}

async function prepareAll(door: Door, runs: number): Promise<StartRun[]> {
  const starts: StartRun[] = [];
  for (let run = 0; run < runs; run++) starts.push(await door.prepare());
  return starts;
}

async function playAll({ kernel }: TestServer, starts: StartRun[]): Promise<void> {
  const queue = starts.values();
  const lanes = Array.from({ length: CONCURRENT_RUNS }, async () => {
    for (const start of queue) {
      const ended = await kernel.ended(await start(), { timeoutMs: MAX_RUN_MS });
      if (ended.status !== 'completed') throw new Error(`A run ended as ${JSON.stringify(ended)}.`);
    }
  });
  await Promise.all(lanes);
}

/** Knows its door by the tools it is given, and how far the run is by the step. */
const model: Model = {
  async generate({ tools, messages, step }: ModelRequest) {
    const has = (name: string) => tools.some((one) => one.name === name);
    const action = (): [string, object] => {
      if (has('send_message')) return ['send_message', { text: TEXT }];
      if (!has('route_to_agent') || has(TOOL_NAME)) return [TOOL_NAME, {}];
      return ['route_to_agent', { agent: step % 2 === 1 ? 'second' : 'first' }];
    };
    const isLast = step > ACTIONS;
    const chosen = !isLast
      ? action()
      : has('respond')
        ? (['respond', { payload: TEXT }] as const)
        : undefined;
    const call = chosen && { id: `call_${step}_${messages.length}`, name: chosen[0], arguments: chosen[1] };
    return {
      text: call ? '' : TEXT,
      calls: call ? [{ ...call, arguments: { ...call.arguments } }] : [],
      finishReason: call ? 'tool_calls' : 'stop',
      usage: { inputTokens: 0, outputTokens: 0 },
    };
  },
};

async function createDoors({ url }: TestServer): Promise<Door[]> {
  const post = async <Body>(path: string, body: object): Promise<Body> => {
    const response = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${await response.text()}`);
    return (await response.json()) as Body;
  };
  const create = (path: string, body: object) => post<{ id: string }>(path, body);

  await create('/tools', {
    name: TOOL_NAME,
    kind: 'code',
    function: TOOL_NAME,
    description: TOOL_DESCRIPTION,
    effect: 'idempotent',
  });
  const limits = { steps: ACTIONS + 5 };
  const agent = await create('/agents', { name: 'Bench', tools: [TOOL_NAME], limits });
  const poster = await create('/agents', { name: 'Poster', limits });
  const person = await create('/entities', { externalId: 'person', displayName: 'Person' });
  const network = async (name: string, definition: object) => {
    const { id } = await create('/networks', { name, policy: { maxSteps: ACTIONS + 5 }, ...definition });
    await post(`/networks/${id}/publish`, {});
    return id;
  };
  const calling = await network('Calling', {
    tools: [{ key: TOOL_NAME }],
    agents: [
      { key: 'first', isDefault: true, prompt: 'Call the tool.', tools: [TOOL_NAME], allowRespond: true },
    ],
  });
  const routing = await network('Routing', {
    agents: [
      { key: 'first', isDefault: true, prompt: 'Hand over.', routes: ['second'], allowRespond: true },
      { key: 'second', prompt: 'Hand over.', routes: ['first'], allowRespond: true },
    ],
  });
  const invoke = (id: string) => async () => async () =>
    (await post<Invoked>(`/networks/${id}/invoke`, { input: TEXT, mode: 'background' })).id;

  return [
    {
      name: 'session',
      async prepare() {
        const { id } = await create(`/agents/${agent.id}/sessions`, {});
        const path = `/agents/${agent.id}/sessions/${id}/messages`;
        return async () => (await post<PostedMessage>(path, { content: { text: TEXT } })).run!.id;
      },
    },
    { name: 'network', prepare: invoke(calling) },
    { name: 'route', prepare: invoke(routing) },
    {
      name: 'space',
      async prepare() {
        const members = [{ entityId: person.id }, { agentId: poster.id }];
        const { id } = await create('/spaces', { name: 'Bench', members });
        const said = { content: { text: TEXT }, senderId: person.id };
        return async () => {
          const { runs } = await post<PostedSpaceMessage>(`/spaces/${id}/messages`, said);
          return runs[0]!.id;
        };
      },
    },
  ];
}
