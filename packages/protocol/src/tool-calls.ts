import { z } from 'zod';
import { timestamp } from './common.ts';
import { json } from './json.ts';

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
export const waitsFor = z.enum(['client', 'approval', 'person', 'task', 'reply', 'answer']);
export type WaitsFor = z.infer<typeof waitsFor>;

export const toolCall = z.object({
  id: z.string(),
  step: z.number().int().describe('The step whose answer asked for it.'),
  tool: z.string(),
  arguments: json,
  argumentsHash: z.string().describe('What an approval is bound to.'),
  edited: z
    .boolean()
    .describe(
      'A person changed the arguments when they approved it; the message of the call has the old ones.',
    ),
  effect: toolEffect.describe(
    'What may happen where its outcome is unknown: `pure` runs again, `idempotent` runs again with the same key, `once` never by itself.',
  ),
  status: toolCallStatus.describe(
    '`in_doubt`: it began, and a crash left its outcome unknown. `expired`: nobody settled it in time.',
  ),
  waitsFor: waitsFor.nullable().describe('Who outside settles it; null where the worker executes it.'),
  output: json,
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  attempt: z.number().int().describe('How often it was begun.'),
  deadline: timestamp.nullable().describe('When a call that waits for somebody expires.'),
  createdAt: timestamp,
  settledAt: timestamp.nullable().describe('When it was known how it ended.'),
  settledBy: z
    .string()
    .nullable()
    .describe('Who settled it, where somebody outside did: `user:…`, `key:…`, `dev`.'),
});
export type ToolCall = z.infer<typeof toolCall>;
