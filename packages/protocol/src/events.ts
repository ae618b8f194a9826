import { z } from 'zod';
import { id, inAddress, timestamp, wholeNumber } from './common.ts';
import { jsonObject } from './json.ts';
import { waitsFor } from './tool-calls.ts';

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
  data: jsonObject.describe(
    'An event that comes with a message carries its `messageId` and its `sequence` among the messages; read the message for the rest. These are `message.created`, with the `role`; `tool.started` and `tool.waiting`, for the call; `tool.completed` and `tool.failed`, for the result. Messages of calls and results have no `message.created`. The `id` of `tool.*` is that of the call. `tool.started` with `again` and `tool.approved` come without a message: the call has its own already.',
  ),
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

/** The last frame where the server stops or the reader may read no longer; the stream ends after it. */
export const disconnecting = z.object({ retryMs: z.number().int().nonnegative() });
export type Disconnecting = z.infer<typeof disconnecting>;

/** What a stream sends, by the word after `event:`. */
export const eventFrames = [
  {
    name: 'Connected',
    event: 'connected',
    description: 'First, and once. Sets `retry`.',
    schema: connected,
  },
  {
    name: 'Event',
    event: 'the type of the event, such as run.completed',
    description: 'The only frames with an `id`, which is the sequence: what Last-Event-ID resumes from.',
    schema: event,
  },
  {
    name: 'Delta',
    event: 'message.delta, step.generating or tool.delta',
    description: 'What the model is writing. Live only: without an `id`, never stored, never sent again.',
    schema: delta,
  },
  {
    name: 'Disconnecting',
    event: 'disconnecting',
    description: 'Last: come back after `retryMs`, from the last `id`. Sets `retry`.',
    schema: disconnecting,
  },
] as const;

/** What can be asked for. */
const known: readonly string[] = [...eventTypes, ...delta.shape.type.options];

function isKnownType(word: string): boolean {
  if (!word.endsWith('*')) return known.includes(word);
  return known.some((type) => type.startsWith(word.slice(0, -1)));
}

/** Those of the same noun; where there is no such noun, the nouns. */
function knownNear(word: string): string {
  const noun = word.split('.', 1)[0]!.replace('*', '');
  const near = known.filter((type) => type.startsWith(`${noun}.`));
  const nouns = new Set(known.map((type) => `${type.split('.', 1)[0]}.*`));
  return `there are ${[...(near.length > 0 ? near : nouns)].join(', ')}`;
}

export const eventQuery = z.strictObject({
  /** Everything after this sequence. */
  after: inAddress(wholeNumber.nonnegative()).optional(),
  types: z
    .string()
    .max(1000)
    .regex(/^[a-z_.*]+(,[a-z_.*]+)*$/, 'must be types of events, separated by commas')
    .superRefine((given, context) => {
      for (const word of given.split(',')) {
        const message = isKnownType(word)
          ? null
          : `has "${word}", which is no type of event: ${knownNear(word)}`;
        if (message) context.addIssue({ code: 'custom', message });
      }
    })
    .describe(
      'Only these types, separated by commas; `run.*` means all that begin with `run.`. A type that there is not is refused.',
    )
    .optional(),
  /** For a list: how many. */
  limit: inAddress(wholeNumber.min(1).max(1000)).prefault(200),
});
