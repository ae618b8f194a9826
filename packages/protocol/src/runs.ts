import { z } from 'zod';
import { id, listQuery, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { event, eventFrames, eventQuery } from './events.ts';
import { editedContent, message, messageQuery } from './messages.ts';
import { newSession, session } from './sessions.ts';
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

export const cancelReason = z.enum(['user', 'absorbed', 'timeout', 'budget', 'superseded']);
export type CancelReason = z.infer<typeof cancelReason>;

export const runError = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean().optional(),
});
export type RunError = z.infer<typeof runError>;

export const usage = z.object({
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
});
export type Usage = z.infer<typeof usage>;

export const run = z.object({
  id,
  agentId: id.nullable(),
  sessionId: id.nullable(),
  threadId: id,
  status: runStatus,
  step: z.number().int(),
  attempt: z.number().int(),
  takeovers: z.number().int(),
  triggerType: z.string(),
  triggerMessageId: id.nullable(),
  /** For a fork: the run it was made of, and after which of its steps. What came before has the same sequences in both. */
  forkedFrom: z.object({ runId: id, step: z.number().int() }).nullable(),
  usage,
  /** In millionths of a currency unit. */
  cost: z.number(),
  /** Of a session: `text`, and `output` where the agent has a schema for its answers. */
  outcome: z.json(),
  error: runError.nullable(),
  cancelReason: cancelReason.nullable(),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  completedAt: timestamp.nullable(),
  canceledAt: timestamp.nullable(),
});
export type Run = z.infer<typeof run>;

export const runStep = z.object({
  step: z.number().int(),
  provider: z.string(),
  model: z.string(),
  attempt: z.number().int(),
  startedAt: timestamp,
  firstTokenAt: timestamp.nullable(),
  finishedAt: timestamp,
  usage,
  cost: z.number(),
  finishReason: z.string(),
});
export type RunStep = z.infer<typeof runStep>;

const runParams = z.object({ runId: id });

export const runEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/runs',
    tag: 'runs',
    summary: 'Runs, newest first',
    scope: 'runs:read',
    query: listQuery.extend({
      status: runStatus.optional(),
      agentId: id.optional(),
      sessionId: id.optional(),
    }),
    status: 200,
    response: page(run),
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
    scope: 'runs:write',
    user: true,
    params: runParams,
    status: 200,
    response: run,
    problems: ['not_failed'],
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
    problems: ['step_not_found', 'step_not_settled', 'edit_not_in_fork', 'edit_does_not_fit'],
  }),
  continue: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/continue',
    tag: 'runs',
    summary:
      'A new session that begins with the messages up to the end of a run, to go on talking from there',
    description:
      'For a fork above all, which is no session by itself. It belongs to `user`, else to whom the session belongs that the run, or what it was forked from, is of.',
    scope: 'sessions:write',
    params: runParams,
    body: newSession.pick({ title: true, user: true }),
    status: 201,
    response: session,
    problems: ['run_at_work', 'agent_archived', 'run_without_agent'],
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
} as const;
