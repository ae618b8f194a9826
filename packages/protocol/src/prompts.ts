import { z } from 'zod';
import { id } from './common.ts';
import { json, jsonObject } from './json.ts';
import { contentPart, reasoningEffort } from './messages.ts';

/** What a model was given at a step, as the runtime gave it: what the provider's own format makes of it comes after. */
export const promptMessage = z.discriminatedUnion('role', [
  z.object({
    role: z.literal('user'),
    text: z.string(),
    name: z.string().optional(),
    parts: z.array(contentPart).describe('All that the model sees, the text included.').optional(),
  }),
  z.object({ role: z.literal('system'), text: z.string(), name: z.string().optional() }),
  z.object({
    role: z.literal('assistant'),
    text: z.string(),
    calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: json })),
    reasoningParts: json.describe('What the same model gave with its calls and wants back.').optional(),
  }),
  z.object({
    role: z.literal('tool'),
    callId: z.string(),
    name: z.string(),
    output: json,
    isError: z.boolean(),
    parts: z.array(contentPart).describe('Images of the result, for models that accept them.').optional(),
  }),
]);
export type PromptMessage = z.infer<typeof promptMessage>;

export const prompt = z.object({
  runId: id,
  step: z.int().positive(),
  provider: z.string().describe('As in the step.'),
  model: z.string(),
  agentKey: z.string().nullable().describe('In a network: the agent that was asked.'),
  system: z.string(),
  messages: z.array(promptMessage),
  tools: z.array(z.object({ name: z.string(), description: z.string(), inputSchema: jsonObject })),
  settings: z.object({
    toolChoice: z.enum(['auto', 'none']),
    maxOutputTokens: z.int(),
    reasoningEffort: reasoningEffort.nullable(),
    answerSchema: jsonObject.nullable(),
  }),
  exact: z.boolean().describe('It is what was sent, to the letter.'),
  why: z.array(z.string()).describe('Where it is not exact: what may have been different.'),
});
export type Prompt = z.infer<typeof prompt>;
