import { z } from 'zod';
import { id, inAddress, name, timestamp, wholeNumber } from './common.ts';
import { endpoint, scope } from './endpoint.ts';
import { waitsFor } from './tool-calls.ts';

// What a console asks for beside the things themselves: who is asking and of what, how things stand, who works, and what waits.

export const system = z.object({
  version: z.string().describe('Of the server.'),
  mode: z.enum(['dev', 'serve']).describe('How the process was started that answers.'),
  keyless: z.boolean().describe('This caller needed no key.'),
  demo: z
    .boolean()
    .describe(
      'Agents of the project that name no model are answered by the demo model: nobody chose another.',
    ),
  project: z.object({ id, name }),
  caller: z.object({
    kind: z
      .enum(['key', 'user', 'dev'])
      .describe('`key`: a secret key. `user`: a token of a person. `dev`: nothing, from this machine.'),
    entityId: id.nullable().describe('The person, where it is one: they reach what belongs to them.'),
    keyId: z.string().nullable().describe('The key, by its id, where there is one.'),
    scopes: z.array(scope).nullable().describe('Null: everything.'),
  }),
  now: timestamp.describe('The clock of the database, by which all times here are.'),
});
export type System = z.infer<typeof system>;

const count = z.int().nonnegative();

export const overview = z.object({
  running: count.describe('Runs at work.'),
  queued: count.describe('Runs in the queue, those that wait for their turn or for later included.'),
  waiting: z.object({
    runs: count.describe('Runs that wait for somebody outside.'),
    calls: z.record(waitsFor, count).describe('Their calls, by what these wait for.'),
  }),
  oldestQueuedMs: z
    .number()
    .nonnegative()
    .nullable()
    .describe('How long the run has been due that has been due for longest; null where none is.'),
  failed24h: count.describe('Runs that failed within the last 24 hours.'),
  inbox: count.describe('Calls that wait for a person: what `GET /v1/inbox` lists.'),
  deadDeliveries: count.describe('Deliveries of triggers that were given up.'),
  now: timestamp,
});
export type Overview = z.infer<typeof overview>;

export const worker = z.object({
  id: id.describe('Its incarnation: the id that it took when its process began.'),
  state: z
    .enum(['working', 'draining', 'silent'])
    .describe('`draining`: it takes nothing new. `silent`: no heartbeat came for longer than it may.'),
  host: z.string(),
  pid: z.int(),
  startedAt: timestamp,
  lastBeatAt: timestamp.describe('The last heartbeat.'),
  places: count.describe('How many runs it takes at once.'),
  taken: count.describe('How many of these are taken.'),
  functions: z.array(z.string()).describe('The code tools that it has.'),
});
export type Worker = z.infer<typeof worker>;

const queuedRun = z.object({
  id,
  agentId: id.nullable(),
  networkId: id.nullable(),
  door: z.string(),
  attempt: z.int(),
  dueAt: timestamp.describe('When a worker may take it.'),
  createdAt: timestamp,
  waitsForCode: z.array(z.string()).nullable().describe('The functions that no worker has.'),
});

const deadJob = z.object({
  id: z.string(),
  task: z.string().describe('What kind of job it is.'),
  attempts: z.int(),
  error: z.string().nullable(),
  createdAt: timestamp,
  lastTriedAt: timestamp.describe('About when it was tried last.'),
});

export const queue = z.object({
  due: count.describe('Runs that a worker could take now.'),
  later: count.describe('Runs that are to begin or to be tried again later.'),
  inTurn: count.describe('Runs that wait for another run of their thread.'),
  forFunctions: count.describe('Runs whose functions no worker has.'),
  byAge: z
    .array(z.object({ olderThanMs: count, runs: count }))
    .describe('Of those that are due: how many have been for at least so long.'),
  oldest: z.array(queuedRun).describe('The first of the queue: those that are due, then those of later.'),
  failedJobs: z
    .object({ total: count, newest: z.array(deadJob) })
    .nullable()
    .describe(
      'What is no run and is tried no more: timers, plans, purges, of all projects. Null for other projects than the one that is there from the start.',
    ),
  now: timestamp,
});
export type Queue = z.infer<typeof queue>;

export const changedCollection = z.enum(['runs', 'sessions', 'spaces', 'tasks', 'inbox', 'deliveries']);
export type ChangedCollection = z.infer<typeof changedCollection>;

export const changed = z.object({
  collection: changedCollection,
  ids: z
    .array(z.string())
    .describe('What has changed; absent where it is too much to name, or was deleted.')
    .optional(),
});
export type Changed = z.infer<typeof changed>;

export const systemEndpoints = {
  get: endpoint({
    method: 'GET',
    path: '/v1/system',
    tag: 'system',
    summary: 'Who is asking, of which project, and what answers',
    description: 'For anybody who has a key at all, whatever its scopes.',
    scope: null,
    user: true,
    status: 200,
    response: system,
  }),
  overview: endpoint({
    method: 'GET',
    path: '/v1/overview',
    tag: 'system',
    summary: 'How many runs are at work, queued, waiting and failed, and what waits for a person',
    scope: 'runs:read',
    status: 200,
    response: overview,
  }),
  workers: endpoint({
    method: 'GET',
    path: '/v1/workers',
    tag: 'system',
    summary: 'The workers',
    description:
      'They work for all projects: only from the project that is there from the start, which belongs to whoever runs the server.',
    scope: 'runs:read',
    status: 200,
    response: z.object({ data: z.array(worker), now: timestamp }),
  }),
  queue: endpoint({
    method: 'GET',
    path: '/v1/queue',
    tag: 'system',
    summary: 'What waits for a worker',
    scope: 'runs:read',
    query: z.strictObject({ limit: inAddress(wholeNumber.min(1).max(200)).prefault(50) }),
    status: 200,
    response: queue,
  }),
  changes: endpoint({
    method: 'GET',
    path: '/v1/changes',
    tag: 'system',
    summary: 'That lists have changed, as server-sent events',
    description:
      'For lists that stay up to date: it says which to ask for again, and sends nothing of what is in them. A few frames a second at most, each about all that happened since the one before.',
    scope: 'runs:read',
    query: z.strictObject({
      collections: z
        .string()
        .max(500)
        .refine((given) => given.split(',').every((word) => changedCollection.safeParse(word).success), {
          error: `must be collections, separated by commas: ${changedCollection.options.join(', ')}`,
        })
        .describe('Only these, separated by commas. Without it: all.')
        .optional(),
    }),
    status: 200,
    responseTypes: ['text/event-stream'],
    frames: [
      {
        name: 'ChangesResync',
        event: 'resync',
        description: 'First of all, and whenever something may have been missed: ask for every list again.',
        schema: z.object({}),
      },
      {
        name: 'Changed',
        event: 'changed',
        description: 'Something in the collection has changed.',
        schema: changed,
      },
      {
        name: 'ChangesDisconnecting',
        event: 'disconnecting',
        description: 'The server stops: come back after `retryMs`.',
        schema: z.object({ retryMs: z.number() }),
      },
    ],
  }),
} as const;
