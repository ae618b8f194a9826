import { z } from 'zod';
import { id, timestamp } from './common.ts';

export const spanKind = z.enum(['queue', 'model', 'tool', 'wait', 'attempt', 'takeover', 'task']);
export type SpanKind = z.infer<typeof spanKind>;

/** A stretch of a run's time. */
export const span = z.object({
  kind: spanKind.describe(
    '`queue`: no worker had it. `model`: the call that was answered. `attempt`: one that failed. `tool`: a call that the worker executed. `wait`: one that somebody outside had to settle. `task`: one that began a run. `takeover`: when another worker had to take it over.',
  ),
  name: z.string().describe('The model or the tool; of a wait, the tool that waits.'),
  step: z.int().nullable(),
  callId: z.string().nullable(),
  runId: id.nullable().describe('The run that the call began.'),
  taskId: id.nullable(),
  attempt: z.int().nullable(),
  worker: id.nullable().describe('The incarnation of the worker that had it.'),
  waitsFor: z.string().nullable().describe('Of a wait: whom it waited for.'),
  agentKey: z.string().nullable().describe('In a network: the agent whose step it is.'),
  startedAt: timestamp,
  firstTokenAt: timestamp.nullable(),
  endedAt: timestamp.nullable().describe('Null while it goes on.'),
  status: z.enum(['running', 'completed', 'failed', 'canceled', 'expired', 'in_doubt']),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});
export type Span = z.infer<typeof span>;

export const timelineChild = z.object({
  runId: id,
  callId: z.string().nullable().describe('The call of this run that began it.'),
  taskId: id.nullable(),
  name: z.string().nullable().describe('Of its agent, or of the task.'),
  agentId: id.nullable(),
  networkId: id.nullable(),
  status: z.string(),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
});
export type TimelineChild = z.infer<typeof timelineChild>;

export const timeline = z.object({
  runId: id,
  status: z.string(),
  startedAt: timestamp.describe('When the run was made.'),
  endedAt: timestamp.nullable(),
  spans: z.array(span).describe('By their beginning.'),
  children: z
    .array(timelineChild)
    .describe('Runs that its calls began, and those of its tasks; each has a timeline of its own.'),
  cut: z
    .boolean()
    .describe('There is more than is told here: the first 5,000 spans or the first 500 children.'),
  now: timestamp,
});
export type Timeline = z.infer<typeof timeline>;
