import { z } from 'zod';
import { id, inAddress, listQuery, oneLine, page, timestamp, wholeNumber } from './common.ts';
import { endpoint } from './endpoint.ts';
import { event, eventFrames, eventQuery } from './events.ts';
import { json, jsonObject } from './json.ts';
import { editedContent, message, messageQuery } from './messages.ts';
import { prompt } from './prompts.ts';
import { newSession, retry, retryMeaning, session } from './sessions.ts';
import { timeline } from './timelines.ts';
import { toolCall } from './tool-calls.ts';

export const runStatus = z.enum([
  'queued',
  'running',
  'waiting_tool',
  'waiting_reply',
  'completed',
  'failed',
  'canceled',
]);
export type RunStatus = z.infer<typeof runStatus>;

export const cancelReason = z.enum(['user', 'absorbed', 'timeout', 'budget', 'superseded', 'parent']);
export type CancelReason = z.infer<typeof cancelReason>;

export const runError = z.object({
  code: z.string().describe('For programs; never changes.'),
  message: z.string(),
  retryable: z.boolean().describe('Whether it may go well another time.').optional(),
});
export type RunError = z.infer<typeof runError>;

export const usage = z.object({
  inputTokens: z.number().int().nonnegative().describe('Read by the model, cached ones included.'),
  outputTokens: z.number().int().nonnegative().describe('Written by the model, its thoughts included.'),
});
export type Usage = z.infer<typeof usage>;

/** Stored in millionths, so that sums are exact; on the wire in units, as prices are. */
const cost = z
  .number()
  .nonnegative()
  .describe(
    "What it cost, in units of the currency that the models' prices are in (which are per million tokens), to six places.",
  );

export const run = z.object({
  id,
  agentId: id.nullable().describe('The agent that works; null where it is gone.'),
  entityId: id.nullable().describe('Who speaks in it: the entity of the agent.'),
  sessionId: id.nullable().describe('Null for a run that is of no session, such as a fork.'),
  spaceId: id.nullable().describe('The space of the message that started it.'),
  activeSpaceId: id.nullable().describe('The space that it speaks in now.'),
  networkId: id.nullable().describe('The network that it is a run of; null for others.'),
  networkVersion: z.number().int().nullable().describe('The version of that network.'),
  door: z.string().describe('The way of working: `session`, `space`, `network` or `task`.'),
  threadId: id,
  status: runStatus.describe(
    '`waiting_tool` and `waiting_reply` hold no process: somebody outside has to act.',
  ),
  step: z.number().int().describe('The step it is at: how many model calls were answered.'),
  attempt: z
    .number()
    .int()
    .describe('Tries of the model in the step it is at that failed so far; 0 once one succeeds.'),
  takeovers: z
    .number()
    .int()
    .describe(
      'How often another worker had to take it over in all, since the one that had it was gone or hung.',
    ),
  triggerType: z.string().describe('What began it, such as `message`.'),
  triggerMessageId: id.nullable().describe('The message that it answers.'),
  trigger: jsonObject.describe(
    'What began it. `space_message`: the message with its space and sender. `plan`: the plan. `service`: the `serviceName` and the `payload`. `task`: the `agent`, and the `network` where it is of one; of a sub-agent or a tool in the background, the `taskId`. Empty for a person who was not where it began.',
  ),
  chainDepth: z
    .number()
    .int()
    .describe('How many runs of agents lie between it and what a person, a plan or a service began.'),
  forkedFrom: z
    .object({ runId: id, step: z.number().int() })
    .nullable()
    .describe(
      'For a fork: the run it was made of, and after which of its steps. What came before has the same sequences in both.',
    ),
  usage: usage.describe('Tokens of all its steps.'),
  cost,
  outcome: json.describe(
    'What it ended with. Of a session: `text`, and `output` where the agent has a schema for its answers.',
  ),
  error: runError.nullable().describe('Why it failed.'),
  cancelReason: cancelReason
    .nullable()
    .describe(
      '`user`: somebody canceled it. `absorbed`: another run answers its message too. `timeout`, `budget`: a limit. `superseded`: a message interrupted it. `parent`: the call that waited for it was settled without it.',
    ),
  parentRunId: id
    .nullable()
    .describe('The run whose call began it and waits for it; null where nobody’s call does.'),
  parentCallId: z.string().nullable().describe('That call: it is settled when this run ends.'),
  taskId: id.nullable().describe('The task that it works on.'),
  absorbedBy: id.nullable().describe('The run that took it over.'),
  metadata: jsonObject.describe(
    '`waitState`, where it waits for a reply: for whom, since when, and what came.',
  ),
  waitsForCode: z
    .array(z.string())
    .nullable()
    .describe('Of a run in the queue that no worker can take: the functions that one must have.'),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  completedAt: timestamp.nullable(),
  canceledAt: timestamp.nullable(),
});
export type Run = z.infer<typeof run>;

export const runStep = z.object({
  step: z.number().int(),
  provider: z.string().describe('The id of a provider, or the name of one without a row.'),
  model: z.string().describe('What the provider calls the model that answered.'),
  attempt: z.number().int().describe('Which try of the model it was, from 1 on.'),
  startedAt: timestamp,
  firstTokenAt: timestamp.nullable().describe('When the first piece of the answer came.'),
  finishedAt: timestamp,
  usage,
  cost,
  finishReason: z
    .string()
    .describe(
      'Why the model stopped: `stop`, `tool_calls`, `length`, `content_filter` or `other`; `error` if every model failed and the run continued without an answer.',
    ),
  agentKey: z.string().nullable().describe('In a network: the agent that took it.'),
  decision: json.describe(
    'In a network: the decisions and their verdicts, a list of `{ type, tool?, agent?, call?, status, code? }`; of tasks, one `{ type: "TASK_GROUP", tasks }` with a list of these. Of a step that summarised the conversation: `{ type: "COMPACTION", messages, upTo, by }`.',
  ),
});
export type RunStep = z.infer<typeof runStep>;

const runParams = z.object({ runId: id });

export const door = z.enum(['session', 'space', 'network', 'task']);
export type DoorName = z.infer<typeof door>;

const isStatus = (word: string) => runStatus.safeParse(word).success;
const statuses = z
  .string()
  .max(200)
  .refine((given) => given.split(',').every(isStatus), {
    error: `must be statuses, separated by commas: ${runStatus.options.join(', ')}`,
  });

/** A run in a list, with what it was asked. */
export const listedRun = run.extend({
  asked: z
    .string()
    .nullable()
    .describe('The first 200 characters of what it was asked; null where that is no text.'),
});
export type ListedRun = z.infer<typeof listedRun>;

export const runEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/runs',
    tag: 'runs',
    summary: 'Runs, newest first',
    scope: 'runs:read',
    description:
      'A search reads 2,000 of the runs that the other filters leave for each page: a page may have few, or none, and a `nextCursor` from where it goes on. Those whose id begins so are all on the first page.',
    query: listQuery.extend({
      status: statuses.describe('One or several, separated by commas.').optional(),
      agentId: id.optional(),
      sessionId: id.optional(),
      networkId: id.optional(),
      spaceId: id.describe('The space of the message that started it.').optional(),
      door: door.optional(),
      triggerType: z
        .string()
        .max(100)
        .regex(
          /^[a-z_]+$/,
          'must be a word such as message, space_message, plan, service, network, task or fork',
        )
        .describe('What began it, such as `message`, `plan`, `service` or `fork`.')
        .optional(),
      parentRunId: id.describe('Those that calls of this run began.').optional(),
      task: id.describe('Those that worked on this task.').optional(),
      since: timestamp.describe('Those that were made then or later.').optional(),
      until: timestamp.describe('Those that were made before.').optional(),
      search: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .regex(oneLine)
        .describe(
          'The id or how it begins, the code of the error, or something in the beginning of what it was asked.',
        )
        .optional(),
    }),
    status: 200,
    response: page(listedRun),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/runs/{runId}',
    tag: 'runs',
    summary: 'One run with its steps and calls',
    scope: 'runs:read',
    user: true,
    params: runParams,
    status: 200,
    response: run.extend({ steps: z.array(runStep), calls: z.array(toolCall) }),
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/cancel',
    tag: 'runs',
    summary: 'Cancel a run',
    scope: 'runs:write',
    user: true,
    params: runParams,
    status: 200,
    response: run,
    problems: ['run_ended'],
  }),
  retry: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/retry',
    tag: 'runs',
    summary: 'Take a failed run up again',
    description: `Any run that failed or was canceled, also where its session has gone on since: it waits for its turn, and answers the message that it was started by. ${retryMeaning}`,
    scope: 'runs:write',
    user: true,
    params: runParams,
    body: retry,
    status: 200,
    response: run,
    problems: ['not_failed', 'model_not_found', 'run_purged', 'task_went_on'],
  }),
  fork: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/fork',
    tag: 'runs',
    summary: 'Go on from any step in a thread of its own',
    description:
      'The fork takes over all messages up to the step, under the same sequences, with the content of `edits` in the place of theirs. Content must fit the role of the message: `{ text, parts? }` for user, assistant and system, `{ id, name, arguments }` for tool_call (its id stays), `{ result, error }` for tool_result.',
    scope: 'runs:write',
    params: runParams,
    body: z.strictObject({
      step: z.number().int().nonnegative().max(2_147_483_647),
      edits: z
        .array(z.strictObject({ sequence: z.number().int().positive(), content: editedContent }))
        .max(100)
        .refine(
          (edits) => new Set(edits.map(({ sequence }) => sequence)).size === edits.length,
          'edits a message twice',
        )
        .default([]),
    }),
    status: 201,
    response: run,
    problems: [
      'step_not_found',
      'step_not_settled',
      'edit_not_in_fork',
      'edit_does_not_fit',
      'run_of_space',
      'run_of_network',
      'run_purged',
    ],
  }),
  continue: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/continue',
    tag: 'runs',
    summary:
      'A new session that begins with the messages up to the end of a run, to go on talking from there',
    description:
      'For a fork above all, which is no session by itself. It belongs to `user`, else to whom the session belongs that the run, or what it was forked from, is of. From that session it also takes `modelId`, `policy`, `tags` and `metadata`, and the title where none is given.',
    scope: 'sessions:write',
    params: runParams,
    body: newSession.pick({ title: true, user: true }),
    status: 201,
    response: session,
    problems: ['run_at_work', 'agent_archived', 'run_without_agent', 'run_of_space', 'run_of_network'],
  }),
  messages: endpoint({
    method: 'GET',
    path: '/v1/runs/{runId}/messages',
    tag: 'runs',
    summary: 'The messages of the thread that a run works in, in their order',
    description:
      'Of a fork: what it took over and what it says. Of a run of a session: those of the session. With `of=run` only what the run was asked and what it said.',
    scope: 'runs:read',
    user: true,
    params: runParams,
    query: messageQuery.extend({ of: z.enum(['thread', 'run']).default('thread') }),
    status: 200,
    response: z.object({ data: z.array(message), lastSequence: z.number().int().nonnegative() }),
  }),
  events: endpoint({
    method: 'GET',
    path: '/v1/runs/{runId}/events',
    tag: 'runs',
    summary: 'What happened in a run: as a list, or live with Accept: text/event-stream',
    description:
      'Those events of the thread that are of this run. A stream is that of a session: `connected`, then everything after `Last-Event-ID` or `after`, then what happens; it stays open when the run has ended, which may be taken up again.',
    scope: 'runs:read',
    user: true,
    params: runParams,
    query: eventQuery,
    status: 200,
    response: z.object({ data: z.array(event), lastSequence: z.number().int().nonnegative() }),
    frames: eventFrames,
  }),
  timeline: endpoint({
    method: 'GET',
    path: '/v1/runs/{runId}/timeline',
    tag: 'runs',
    summary: 'Where the time of a run went: in the queue, in models, in tools, waiting',
    scope: 'runs:read',
    user: true,
    params: runParams,
    status: 200,
    response: timeline,
  }),
  prompt: endpoint({
    method: 'GET',
    path: '/v1/runs/{runId}/steps/{step}/prompt',
    tag: 'runs',
    summary: 'What the model was given at a step',
    description:
      'Made again from what is stored, by what made it then; `exact` says whether all of it still is as it was. The step after the last one of a run that has not been completed is what it is asked now, or was asked when it failed.',
    scope: 'runs:read',
    params: runParams.extend({ step: inAddress(wholeNumber.min(1).max(2_147_483_647)) }),
    status: 200,
    response: prompt,
    problems: ['step_not_found'],
  }),
} as const;
