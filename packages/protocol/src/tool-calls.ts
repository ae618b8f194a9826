import { z } from 'zod';
import { timestamp } from './common.ts';

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

export const toolCall = z.object({
  id: z.string(),
  step: z.number().int(),
  tool: z.string(),
  arguments: z.json(),
  /** What an approval is bound to. */
  argumentsHash: z.string(),
  effect: toolEffect,
  status: toolCallStatus,
  waitsFor: waitsFor.nullable(),
  output: z.json(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  attempt: z.number().int(),
  deadline: timestamp.nullable(),
  createdAt: timestamp,
  settledAt: timestamp.nullable(),
  /** Who settled it, where somebody outside did: `user:…`, `key:…`, `dev`. */
  settledBy: z.string().nullable(),
});
export type ToolCall = z.infer<typeof toolCall>;
