import { z } from 'zod';
import { id, inAddress, timestamp, wholeNumber } from './common.ts';
import { json, jsonObject } from './json.ts';
import { waitsFor } from './tool-calls.ts';

/** Types that are stored. Additions are free; a rename is a new major version. */
export const eventTypes = [
  ...['session.started', 'session.completed', 'session.failed', 'session.canceled'],
  ...['step.started', 'step.generated', 'step.error'],
  ...['message.created', 'message.failed'],
  ...['tool.started', 'tool.completed', 'tool.failed', 'tool.waiting', 'tool.approved'],
  ...['run.queued', 'run.started', 'run.waiting_tool', 'run.waiting_reply', 'run.resumed'],
  ...['run.completed', 'run.failed', 'run.canceled', 'run.absorbed', 'run.refused'],
  ...['agent.active', 'agent.inactive'],
  ...['space.updated', 'space.member.joined', 'space.member.left', 'space.read'],
  ...['route.taken', 'decision.refused'],
  ...['task.created', 'task.updated', 'task.waiting'],
  ...['budget.warning', 'budget.exhausted'],
  'context.compacted',
] as const;

export const event = z.object({
  id,
  sequence: z
    .number()
    .int()
    .positive()
    .describe('Its number in the thread, without gaps: what Last-Event-ID and `after` mean.'),
  type: z
    .string()
    .describe('Such as `run.completed`. There may be new ones: pass over those that you do not know.'),
  threadId: id,
  sessionId: id.describe('Absent in a thread that is no session.').optional(),
  spaceId: id.describe('Absent in a thread that is no space.').optional(),
  runId: id.describe('The run it is of.').optional(),
  step: z.number().int().describe('The step of that run.').optional(),
  data: jsonObject.describe(
    'An event that comes with a message carries its `messageId` and its `sequence` among the messages; read the message for the rest. These are `message.created`, one for each message, with the `role`; `tool.started` and `tool.waiting`, for the call; `tool.completed` and `tool.failed`, for the result. The `id` of `tool.*` is that of the call. `tool.waiting` has the `tool`, `waitsFor`, the `deadline` at which it expires, and the `runId` if the call started a run. `tool.approved` has `edited` if a person changed the arguments. `tool.started` with `again` and `tool.approved` have no message of their own: the message of the call already exists. `budget.warning` and `budget.exhausted` have the id of the `budget` and its `policy`; a warning also has its `unit`, `amount` and `spent`. `context.compacted` has the number of `messages` that a summary replaced, the sequence `upTo` which it covers, and the model that it was written `by`: null if every model failed and the summary is a digest of first sentences, with the `code` and `message` of the failure.',
  ),
  createdAt: timestamp,
});
export type Event = z.infer<typeof event>;

/** Live frames without an id: what a model is writing right now. Never stored. */
export const delta = z.object({
  type: z
    .enum(['message.delta', 'step.generating', 'tool.delta'])
    .describe(
      '`message.delta`: the answer. `step.generating`: the reasoning of the model. Every generation that streams begins with one, whose text is empty until the model sends reasoning. `tool.delta`: the arguments of a call.',
    ),
  runId: id,
  step: z.number().int(),
  offset: z
    .number()
    .int()
    .nonnegative()
    .describe(
      'Where in the text of this step this piece begins; a piece that begins at 0 replaces all before it.',
    ),
  text: z.string().describe('The piece.'),
  callId: z.string().describe('The call that is being written, for `tool.delta`.').optional(),
  name: z.string().describe('The tool of that call.').optional(),
  streamId: id
    .describe('In a space: the id that the message will have. It takes the place of what was live.')
    .optional(),
  entityId: id.describe('In a space: who speaks.').optional(),
});
export type Delta = z.infer<typeof delta>;

/** A live frame of a space: somebody is typing, or has stopped. Never stored. */
export const typing = z.object({
  entityId: id.describe('Who.'),
  name: z.string().nullable(),
  typing: z.boolean().describe('False: they have stopped.'),
});
export type Typing = z.infer<typeof typing>;

/** The first frame of every stream. */
export const connected = z.object({
  lastSequence: z.number().int().nonnegative().describe('The last event that there is.'),
  runs: z.array(z.object({ id, status: z.string() })).describe('Runs at work or waiting here.'),
  /** Calls that wait for somebody outside to settle them. */
  calls: z.array(
    z.object({
      id: z.string(),
      runId: id,
      tool: z.string(),
      waitsFor,
      deadline: timestamp.nullable(),
      arguments: json.describe('In a space, where the tool shows them there.').optional(),
    }),
  ),
  activeAgents: z
    .array(z.object({ runId: id, entityId: id, agentName: z.string().nullable() }))
    .describe('In a space: agents at work there.')
    .optional(),
});
export type Connected = z.infer<typeof connected>;

/** The last frame where the server stops or the reader may read no longer; the stream ends after it. */
export const disconnecting = z.object({
  retryMs: z.number().int().nonnegative().describe('Come back after so many milliseconds.'),
});
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

/** What the stream of a space sends. */
export const spaceEventFrames = [
  ...eventFrames,
  {
    name: 'Typing',
    event: 'space.typing',
    description: 'Who is typing, or has stopped. Live only: without an `id`, never stored, never sent again.',
    schema: typing,
  },
] as const;

/** What can be asked for. */
const known: readonly string[] = [...eventTypes, ...delta.shape.type.options, 'space.typing'];

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
  after: inAddress(wholeNumber.nonnegative()).describe('Everything after this sequence.').optional(),
  before: inAddress(wholeNumber.positive())
    .describe('For a list: those before this sequence, the last of them. A stream passes it over.')
    .optional(),
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
  limit: inAddress(wholeNumber.min(1).max(1000)).describe('For a list: how many.').prefault(200),
});
