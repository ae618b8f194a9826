import { z } from 'zod';
import { id, listQuery, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

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

export const toolCallStatus = z.enum([
  'requested',
  'running',
  'completed',
  'failed',
  'canceled',
  'expired',
  'in_doubt',
]);
export type ToolCallStatus = z.infer<typeof toolCallStatus>;

/** What may happen when a call's outcome is unknown: run again freely, run again with the same key, or never by itself. */
export const toolEffect = z.enum(['pure', 'idempotent', 'once']);
export type ToolEffect = z.infer<typeof toolEffect>;

/** Who settles a call that the worker does not execute. */
export const waitsFor = z.enum(['client', 'approval', 'person', 'task']);
export type WaitsFor = z.infer<typeof waitsFor>;

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
  usage,
  /** In millionths of a currency unit. */
  cost: z.number(),
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

export const toolCall = z.object({
  id: z.string(),
  step: z.number().int(),
  tool: z.string(),
  arguments: z.json(),
  effect: toolEffect,
  status: toolCallStatus,
  waitsFor: waitsFor.nullable(),
  output: z.json(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  attempt: z.number().int(),
  deadline: timestamp.nullable(),
  createdAt: timestamp,
  settledAt: timestamp.nullable(),
});
export type ToolCall = z.infer<typeof toolCall>;

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
    scope: 'runs:write',
    params: runParams,
    body: z.strictObject({
      step: z.number().int().nonnegative().max(2_147_483_647),
      edits: z
        .array(z.strictObject({ sequence: z.number().int().positive(), content: z.json() }))
        .max(100)
        .refine(
          (edits) => new Set(edits.map(({ sequence }) => sequence)).size === edits.length,
          'edits a message twice',
        )
        .default([]),
    }),
    status: 201,
    response: run,
    problems: ['step_not_found', 'step_not_settled'],
  }),
} as const;
