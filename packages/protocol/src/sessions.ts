import { z } from 'zod';
import { id, isFree, listQuery, metadata, oneLine, page, tags, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { event, eventFrames, eventQuery } from './events.ts';
import { busyPolicy, message, messageQuery, reasoningEffort, saidContent, userMessage } from './messages.ts';

export const sessionStatus = z.enum(['pending', 'running', 'waiting', 'failed']);
export type SessionStatus = z.infer<typeof sessionStatus>;

const title = z.string().trim().min(1).max(200).regex(oneLine);

export const session = z.object({
  id,
  agentId: id,
  entityId: id.describe('Who it belongs to.'),
  threadId: id.describe('Where its messages and events are numbered.'),
  title: title
    .nullable()
    .describe('Null until there is a message: then its first sentence, unless one was given.'),
  tags,
  modelId: id
    .nullable()
    .describe('The model of its answers, unless a message names another. Null: the one of the agent.'),
  status: sessionStatus.describe(
    '`pending`: ready for a message. `running`: a run is at work. `waiting`: a run waits for somebody outside. `failed`: the last run failed; retry or fork.',
  ),
  policy: busyPolicy.describe(
    'What becomes of a message that comes while it is at work, unless the message says otherwise.',
  ),
  metadata,
  error: z
    .object({ code: z.string(), message: z.string(), runId: id })
    .nullable()
    .describe('Why it is `failed`, and the run that failed; null where it is not.'),
  createdAt: timestamp,
  updatedAt: timestamp.describe('When one of its own fields was changed last.'),
  expiresAt: timestamp
    .nullable()
    .describe(
      'When it is deleted with everything in it; after its runs have ended. Null: by the retention rules.',
    ),
  lastActivityAt: timestamp.describe('When anything happened in it last: a message, or a change of a run.'),
  startedAt: timestamp.nullable().describe('When its first run began.'),
  finishedAt: timestamp.nullable().describe('Where it failed: when.'),
});
export type Session = z.infer<typeof session>;

export const newSession = z.strictObject({
  title: title.nullable().describe('Null: made of the first message.').default(null),
  tags: tags.default([]),
  modelId: id.nullable().describe('Null: the model of the agent.').default(null),
  policy: busyPolicy
    .describe(
      'What becomes of a message to the session while it is at work: `queue` answers it next, `steer` shows it to the run at work, `interrupt` stops that run first, `reject` refuses it.',
    )
    .default('queue'),
  metadata: metadata.default({}),
  expiresAt: timestamp
    .nullable()
    .describe('When it is deleted with everything in it. Null: by the retention rules.')
    .default(null),
  user: z
    .string()
    .min(1)
    .max(500)
    .regex(oneLine)
    .refine(isFree, 'is reserved')
    .describe('Who it belongs to, by their name in the system of the caller; only a secret key may say so.')
    .optional(),
});

export const newMessage = z.strictObject({
  id: id.describe('Chosen by the caller, so that sending it again stores it once.').optional(),
  role: z
    .literal('user')
    .describe('Nobody else can speak here; for callers that say so with every message.')
    .optional(),
  content: saidContent,
  policy: busyPolicy
    .describe('What becomes of it where the session is at work. Default: the policy of the session.')
    .optional(),
  modelId: id.describe('The model of this answer alone.').optional(),
  reasoningEffort: reasoningEffort
    .describe('How much the model is to think before this answer; left out, the provider decides.')
    .optional(),
  metadata: metadata.default({}),
});

/** `queued`: it waits until the runs before it have ended. `duplicate`: it was there already, and nothing was done. */
export const postOutcome = z.enum(['started', 'queued', 'steered', 'interrupted', 'duplicate']);

/** The message as it is stored, and the run that answers it. */
export const postedMessage = userMessage.extend({
  run: z.object({ id, outcome: postOutcome }).nullable(),
});
export type PostedMessage = z.infer<typeof postedMessage>;

const agentParams = z.object({ agentId: id });
const sessionParams = z.object({ agentId: id, sessionId: id });
const base = '/v1/agents/{agentId}/sessions';

/** How a run is taken up again; may be left out. */
export const retry = z
  .strictObject({
    modelId: id.optional().describe('Another model for this run, now and whenever it is taken up again.'),
  })
  .prefault({});
export const retryMeaning =
  'The steps already taken stay. What follows runs with what a new message would run with now: the agent as it is, and the model that is named here, else by the message (as long as there is such a model and it is not disabled), else by the session, the agent or the project.';

export const sessionEndpoints = {
  create: endpoint({
    method: 'POST',
    path: base,
    tag: 'sessions',
    summary: 'Open a session with an agent',
    scope: 'sessions:write',
    user: true,
    params: agentParams,
    body: newSession,
    status: 201,
    response: session,
    problems: ['agent_archived', 'model_not_found'],
  }),
  list: endpoint({
    method: 'GET',
    path: base,
    tag: 'sessions',
    summary: 'Sessions of an agent, newest first',
    scope: 'sessions:read',
    user: true,
    params: agentParams,
    query: listQuery.extend({
      status: sessionStatus.optional(),
      tag: z.string().max(64).regex(oneLine).optional(),
      user: z.string().max(500).regex(oneLine).optional(),
    }),
    status: 200,
    response: page(session),
  }),
  listAll: endpoint({
    method: 'GET',
    path: '/v1/sessions',
    tag: 'sessions',
    summary: 'Sessions of all agents, those that were spoken to last first',
    description:
      'With `status`, `tag` or `search`, a page may have few, or none, and a `nextCursor` from where it goes on.',
    scope: 'sessions:read',
    user: true,
    query: listQuery.extend({
      agentId: id.optional(),
      status: sessionStatus.optional(),
      tag: z.string().max(64).regex(oneLine).optional(),
      user: z.string().max(500).regex(oneLine).optional(),
      search: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .regex(oneLine)
        .describe('Something in the title, or how the id begins.')
        .optional(),
    }),
    status: 200,
    response: page(session),
  }),
  get: endpoint({
    method: 'GET',
    path: `${base}/{sessionId}`,
    tag: 'sessions',
    summary: 'One session',
    scope: 'sessions:read',
    user: true,
    params: sessionParams,
    status: 200,
    response: session,
  }),
  update: endpoint({
    method: 'PATCH',
    path: `${base}/{sessionId}`,
    tag: 'sessions',
    summary: 'Change a session; fields that are left out stay, null clears',
    description:
      'Null makes `tags` and `metadata` empty, takes the title away, and leaves the model to the agent.',
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    body: z.strictObject({
      title: title.nullable().optional(),
      tags: tags.nullable().optional(),
      modelId: id.nullable().optional(),
      policy: busyPolicy.optional(),
      metadata: metadata.nullable().optional(),
      expiresAt: timestamp.nullable().optional(),
    }),
    status: 200,
    response: session,
    problems: ['model_not_found'],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: `${base}/{sessionId}`,
    tag: 'sessions',
    summary: 'Delete a session with all its messages, events and runs',
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    status: 204,
  }),
  cancel: endpoint({
    method: 'POST',
    path: `${base}/{sessionId}/cancel`,
    tag: 'sessions',
    summary: 'Stop whatever the session is doing',
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    status: 200,
    response: session,
  }),
  retry: endpoint({
    method: 'POST',
    path: `${base}/{sessionId}/retry`,
    tag: 'sessions',
    summary: 'Take the failed run up again',
    description: `For a session that is \`failed\`. A run that failed while others waited behind it does not fail the session, and its message stays without an answer: take that one up with \`POST /v1/runs/{runId}/retry\`. ${retryMeaning}`,
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    body: retry,
    status: 200,
    response: session,
    problems: ['not_failed', 'model_not_found'],
  }),
  fork: endpoint({
    method: 'POST',
    path: `${base}/{sessionId}/fork`,
    tag: 'sessions',
    summary: 'A new session that begins with the messages up to one of this',
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    body: z.strictObject({ messageId: id, title: title.nullable().default(null) }),
    status: 201,
    response: session,
    problems: ['message_not_found'],
  }),
  postMessage: endpoint({
    method: 'POST',
    path: `${base}/{sessionId}/messages`,
    tag: 'messages',
    summary: 'Say something; the answer comes as events and messages',
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    body: newMessage,
    bodyBytes: 8_388_608,
    status: 201,
    response: postedMessage,
    problems: ['session_failed', 'session_busy', 'message_id_taken', 'model_not_found', 'agent_archived'],
  }),
  listMessages: endpoint({
    method: 'GET',
    path: `${base}/{sessionId}/messages`,
    tag: 'messages',
    summary: 'Messages in their order',
    scope: 'sessions:read',
    user: true,
    params: sessionParams,
    query: messageQuery.extend({
      search: z
        .string()
        .trim()
        .min(1)
        .max(1000)
        .describe(
          'Only the messages that match these words best, at most `limit`. Beginnings of words match too.',
        )
        .optional(),
    }),
    status: 200,
    response: z.object({ data: z.array(message), lastSequence: z.number().int().nonnegative() }),
  }),
  events: endpoint({
    method: 'GET',
    path: `${base}/{sessionId}/events`,
    tag: 'events',
    summary: 'What happened: as a list, or live with Accept: text/event-stream',
    description:
      'A stream begins with a frame `connected`, then sends everything after `Last-Event-ID` or `after`, then what happens. Frames without an id are live pieces of text and are never sent again.',
    scope: 'sessions:read',
    user: true,
    params: sessionParams,
    query: eventQuery,
    frames: eventFrames,
    status: 200,
    response: z.object({ data: z.array(event), lastSequence: z.number().int().nonnegative() }),
  }),
} as const;
