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
  /** Who it belongs to. */
  entityId: id,
  threadId: id,
  title: title.nullable(),
  tags,
  /** Null: the agent's. */
  modelId: id.nullable(),
  status: sessionStatus,
  policy: busyPolicy,
  metadata,
  /** Why it is `failed`, and the run that failed; null where it is not. */
  error: z.object({ code: z.string(), message: z.string(), runId: id }).nullable(),
  createdAt: timestamp,
  /** When one of its own fields was changed last. */
  updatedAt: timestamp,
  /** When anything happened in it last: a message, or a change of a run. */
  lastActivityAt: timestamp,
  startedAt: timestamp.nullable(),
  finishedAt: timestamp.nullable(),
});
export type Session = z.infer<typeof session>;

export const newSession = z.strictObject({
  title: title.nullable().default(null),
  tags: tags.default([]),
  modelId: id.nullable().default(null),
  policy: busyPolicy.default('queue'),
  metadata: metadata.default({}),
  /** Who it belongs to, by their name in the caller's own system; only a secret key may say so. */
  user: z.string().min(1).max(500).regex(oneLine).refine(isFree, 'is reserved').optional(),
});

export const newMessage = z.strictObject({
  /** Chosen by the caller, so that sending it again stores it once. */
  id: id.optional(),
  /** Nobody else can speak here; for callers that say so with every message. */
  role: z.literal('user').optional(),
  content: saidContent,
  /** Default: the session's. */
  policy: busyPolicy.optional(),
  modelId: id.optional(),
  reasoningEffort: reasoningEffort.optional(),
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
    description:
      'For a session that is `failed`. A run that failed while others waited behind it does not fail the session, and its message stays without an answer: take that one up with `POST /v1/runs/{runId}/retry`.',
    scope: 'sessions:write',
    user: true,
    params: sessionParams,
    status: 200,
    response: session,
    problems: ['not_failed'],
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
    query: messageQuery,
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
