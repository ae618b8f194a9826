import { z } from 'zod';
import { type Json, json } from './json.ts';

export const messageRole = z.enum(['user', 'assistant', 'tool_call', 'tool_result', 'system']);
export type MessageRole = z.infer<typeof messageRole>;

export const textContent = z.object({ text: z.string() });
export const toolCallContent = z.object({ id: z.string(), name: z.string(), arguments: json });
export const toolResultContent = z.object({
  result: json.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});
export type TextContent = z.infer<typeof textContent>;
export type ToolCallContent = { id: string; name: string; arguments: Json };
export type ToolResultContent = z.infer<typeof toolResultContent>;
