import { z } from 'zod';
import { type Json, json } from './json.ts';

export const messageRole = z.enum(['user', 'assistant', 'tool_call', 'tool_result', 'system']);
export type MessageRole = z.infer<typeof messageRole>;

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

/** The text is always there; parts are what a model sees instead, where a message is more than text. */
export const textContent = z.object({ text: z.string(), parts: z.array(contentPart).optional() });
export const toolCallContent = z.object({ id: z.string(), name: z.string(), arguments: json });
export const toolResultContent = z.object({
  result: json.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});
export type TextContent = z.infer<typeof textContent>;
export type ToolCallContent = { id: string; name: string; arguments: Json };
export type ToolResultContent = z.infer<typeof toolResultContent>;
