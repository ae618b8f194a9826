import { z } from 'zod';
import { id, inAddress, metadata, timestamp, wholeNumber } from './common.ts';
import { type Json, json } from './json.ts';

export const messageRole = z.enum(['user', 'assistant', 'tool_call', 'tool_result', 'system']);
export type MessageRole = z.infer<typeof messageRole>;

/** What becomes of a message to a session that is at work. */
export const busyPolicy = z.enum(['queue', 'steer', 'interrupt', 'reject']);
export type BusyPolicy = z.infer<typeof busyPolicy>;

export const reasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high']);
export type ReasoningEffort = z.infer<typeof reasoningEffort>;

/** What a message was posted with. Null: nothing was said, and it is as the session or the agent has it. */
export const askedWith = z.object({
  modelId: id.nullable(),
  reasoningEffort: reasoningEffort.nullable(),
  policy: busyPolicy.nullable(),
});
export type AskedWith = z.infer<typeof askedWith>;

const imagePart = z
  .strictObject({
    type: z.literal('image'),
    /** An address, or the picture itself in base64 together with its media type: one of the two. */
    url: z
      .url({ protocol: /^https?$/ })
      .max(4000)
      .optional(),
    base64: z.base64().min(1).max(6_000_000).optional(),
    mediaType: z.enum(['image/png', 'image/jpeg', 'image/webp', 'image/gif']).optional(),
  })
  .refine(
    ({ url, base64, mediaType }) => (url === undefined) !== (base64 === undefined) && (!base64 || mediaType),
    'needs either a url, or base64 with its mediaType',
  );

export const contentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().min(1).max(1_000_000) }),
  imagePart,
]);
export type ContentPart = z.infer<typeof contentPart>;

const textMeaning =
  'What is said. A model reads it before the parts, unless the text parts together say the same (spaces and line breaks aside): then it reads it once, as the parts have it.';
const partsMeaning = 'Pictures, and text between them, in their order. A model reads them after the text.';

/** The text is always there; parts come to it, where a message is more than text. */
export const textContent = z.object({
  text: z.string().describe(textMeaning),
  parts: z.array(contentPart).optional().describe(partsMeaning),
});
export const toolCallContent = z.object({ id: z.string(), name: z.string(), arguments: json });
export const toolResultContent = z.object({
  result: json.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  calledWith: json
    .optional()
    .describe(
      'The arguments that it was really called with, where a person changed them. The model is told.',
    ),
});
export type TextContent = z.infer<typeof textContent>;
export type ToolCallContent = { id: string; name: string; arguments: Json };
export type ToolResultContent = z.infer<typeof toolResultContent>;

/** What somebody says: text, parts or both. The text may be empty where there are parts. */
export const saidContent = z
  .strictObject({
    text: z.string().max(1_000_000).describe(textMeaning),
    parts: z.array(contentPart).max(32).optional().describe(partsMeaning),
  })
  .refine(({ text, parts }) => text.trim() !== '' || (parts?.length ?? 0) > 0, 'says nothing');

/** What a message of this role may be changed to. */
export const contentOfRole = {
  user: saidContent,
  assistant: saidContent,
  system: saidContent,
  tool_call: z.strictObject(toolCallContent.shape),
  tool_result: z.strictObject(toolResultContent.shape),
} as const satisfies Record<MessageRole, z.ZodType>;

/** Which of them it has to be is known with the message. */
export const editedContent = z.union([
  contentOfRole.user,
  contentOfRole.tool_call,
  contentOfRole.tool_result,
]);
export type EditedContent = z.infer<typeof editedContent>;

const fields = {
  id,
  sessionId: id.nullable().describe('Null in a thread that is no session, such as that of a fork.'),
  sequence: z.number().int().positive().describe('Its number in the thread, without gaps.'),
  toolCallId: z.string().nullable().describe('The call, for the roles `tool_call` and `tool_result`.'),
  senderId: id
    .nullable()
    .describe('Who said it: a person, or the entity of the agent. Nobody says what a tool answers.'),
  runId: id.nullable().describe('The run that said it, or that answers it.'),
  step: z.number().int().nullable().describe('The step of that run.'),
  metadata,
  createdAt: timestamp,
};

/** What a person said. */
export const userMessage = z.object({
  ...fields,
  role: z.literal('user'),
  content: textContent,
  ...askedWith.shape,
});

/** What the content is depends on the role. */
export const message = z.discriminatedUnion('role', [
  userMessage,
  z.object({ ...fields, role: messageRole.extract(['assistant', 'system']), content: textContent }),
  z.object({ ...fields, role: z.literal('tool_call'), content: toolCallContent }),
  z.object({ ...fields, role: z.literal('tool_result'), content: toolResultContent }),
]);
export type Message = z.infer<typeof message>;

export const messageQuery = z.strictObject({
  after: inAddress(wholeNumber.nonnegative()).describe('Those after this sequence.').optional(),
  before: inAddress(wholeNumber.positive())
    .describe('Those before this sequence, the last of them.')
    .optional(),
  limit: inAddress(wholeNumber.min(1).max(1000)).prefault(200),
});
