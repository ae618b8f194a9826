import { z } from 'zod';
import { id, timestamp } from './common.ts';
import { jsonObject } from './json.ts';
import { waitsFor } from './runs.ts';

/** Types that are stored. Additions are free; a rename is a new major version. */
export const eventTypes = [
  ...['session.started', 'session.completed', 'session.failed', 'session.canceled'],
  ...['step.started', 'step.generated', 'step.error'],
  ...['message.created', 'message.failed'],
  ...['tool.started', 'tool.completed', 'tool.failed', 'tool.waiting', 'tool.approved'],
  ...['run.queued', 'run.started', 'run.waiting_tool', 'run.waiting_reply', 'run.resumed'],
  ...['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'],
  ...['budget.warning', 'budget.exhausted'],
] as const;

export const event = z.object({
  id,
  sequence: z.number().int().positive(),
  type: z.string(),
  threadId: id,
  sessionId: id.optional(),
  runId: id.optional(),
  step: z.number().int().optional(),
  /** `message.created` carries `messageId`, `role` and `sequence`; read the message for the rest. */
  data: jsonObject,
  createdAt: timestamp,
});
export type Event = z.infer<typeof event>;

/** Live frames without an id: what a model is writing right now. Never stored. */
export const delta = z.object({
  type: z.enum(['message.delta', 'step.generating', 'tool.delta']),
  runId: id,
  step: z.number().int(),
  /** Where in the text of this step this piece begins; a piece that begins at 0 replaces all before it. */
  offset: z.number().int().nonnegative(),
  text: z.string(),
  callId: z.string().optional(),
  name: z.string().optional(),
});
export type Delta = z.infer<typeof delta>;

/** The first frame of every stream. */
export const connected = z.object({
  lastSequence: z.number().int().nonnegative(),
  /** Runs at work or waiting here. */
  runs: z.array(z.object({ id, status: z.string() })),
  /** Calls that wait for somebody outside to settle them. */
  calls: z.array(
    z.object({ id: z.string(), runId: id, tool: z.string(), waitsFor, deadline: timestamp.nullable() }),
  ),
});
export type Connected = z.infer<typeof connected>;

export const eventQuery = z.strictObject({
  /** Everything after this sequence. */
  after: z.coerce.number().int().nonnegative().optional(),
  /** Only these types, separated by commas; `run.*` means all that begin so. */
  types: z
    .string()
    .max(1000)
    .regex(/^[a-z_.*]+(,[a-z_.*]+)*$/)
    .optional(),
  /** For a list: how many. */
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});
