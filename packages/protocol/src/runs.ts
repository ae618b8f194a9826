import { z } from 'zod';

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
