import { z } from 'zod';
import { alsoNamed } from './common.ts';
import { json, jsonObject } from './json.ts';
import { toolEffect, waitsFor } from './tool-calls.ts';

/** A model to call, in the order of preference; the rest of the list are fallbacks. Prices in millionths of a currency unit per token. */
export const snapshotModel = z.strictObject({
  provider: z.string().min(1),
  model: z.string().min(1),
  maxOutputTokens: z.number().int().positive().default(4096),
  inputPrice: z.number().nonnegative().default(0),
  outputPrice: z.number().nonnegative().default(0),
  /** For tokens that the provider's cache had, and for those put there; absent: the price of any input. */
  cacheReadPrice: z.number().nonnegative().optional(),
  cacheWritePrice: z.number().nonnegative().optional(),
  /** What it reads at once, its answer included; absent: not known. */
  contextTokens: z.number().int().positive().optional(),
  /** Whether it accepts images; absent: the default of its provider kind. */
  imageInput: z.boolean().optional(),
});
export type SnapshotModel = z.infer<typeof snapshotModel>;

export const snapshotTool = z.strictObject({
  name: z.string().min(1).max(128),
  description: z.string().default(''),
  /** Which tool port executes it; `builtin`, `http`, `code`, … */
  provider: z.string().min(1),
  inputSchema: jsonObject.default({ type: 'object' }),
  effect: toolEffect
    .describe(
      'What may happen where the outcome of a call is unknown: `pure` runs again, `idempotent` runs again with the same key, `once` never by itself.',
    )
    .default('once'),
  /** Set where somebody outside settles the call; the worker then never executes it (an approved call excepted). */
  waitsFor: waitsFor.optional(),
  timeoutMs: z.number().int().positive().default(60_000),
  /** How long an outside settlement may take. */
  deadlineMs: z
    .number()
    .int()
    .positive()
    .default(24 * 3_600_000),
  /** Whether calls are shown in the space where they are made; absent: no. */
  shown: z
    .strictObject({
      when: z.enum(['always', 'result']),
      input: z.boolean(),
      output: z.boolean(),
      customUI: z.string().optional(),
    })
    .optional(),
  config: jsonObject.default({}),
});
export type SnapshotTool = z.infer<typeof snapshotTool>;

export const snapshotLimits = z.strictObject({
  steps: z.number().int().positive().max(1000).describe('Model calls of a run.').default(25),
  toolCalls: z.number().int().nonnegative().max(10_000).describe('Tool calls of a run.').default(200),
  fanOut: z.number().int().positive().max(1000).describe('Tool calls in one answer.').default(32),
  wallMs: z
    .number()
    .int()
    .positive()
    .max(30 * 86_400_000)
    .describe('How long a run may take in all, waiting included.')
    .default(7 * 86_400_000),
  tokens: z.number().int().positive().describe('Tokens of the whole run; left out: no limit.').optional(),
  chainDepth: z
    .number()
    .int()
    .positive()
    .max(100)
    .describe('How many runs may have caused one another in a row.')
    .default(8),
  concurrentRuns: z
    .number()
    .int()
    .positive()
    .describe('Runs of this agent at the same time; left out: no limit.')
    .optional(),
  messageBytes: z
    .number()
    .int()
    .positive()
    .max(16_777_216)
    .describe('How large an answer may be.')
    .default(1_048_576),
  toolOutputBytes: z
    .number()
    .int()
    .positive()
    .max(16_777_216)
    .describe('How large the result of a tool may be; a larger one is an error of the call.')
    .default(262_144),
  modelTimeoutMs: z.number().int().positive().describe('How long one model call may take.').default(600_000),
  modelStallMs: z
    .number()
    .int()
    .positive()
    .describe('A model that sends nothing for so long is given up.')
    .default(120_000),
  modelTries: z
    .number()
    .int()
    .positive()
    .max(20)
    .describe('Tries per model before the next of the list.')
    .default(3),
  retryBackoffMs: z
    .number()
    .int()
    .nonnegative()
    .describe('The pause before the second try; it grows with each.')
    .default(500),
  historyMessages: z
    .number()
    .int()
    .positive()
    .max(2000)
    .describe(
      'Messages after which the oldest are summarised, even if they fit the context. Omitted: no limit.',
    )
    .optional(),
});
export type SnapshotLimits = z.infer<typeof snapshotLimits>;

/** What an answer must look like, and how many answers a model may give until one does. */
export const answerFormat = z.strictObject({
  schema: jsonObject,
  tries: z.number().int().positive().max(10).default(3),
});
export type AnswerFormat = z.infer<typeof answerFormat>;

/** How a conversation that outgrows the context of its model is summarised. */
export const compactionSettings = z.strictObject({
  threshold: z
    .number()
    .min(0.1)
    .max(0.95)
    .describe(
      'Share of the room for the conversation above which the oldest messages are summarised. Default 0.8.',
    )
    .optional(),
  keepLast: z
    .number()
    .int()
    .nonnegative()
    .max(1000)
    .describe('Messages that stay verbatim, as long as they take at most half of the threshold. Default 20.')
    .optional(),
  prompt: z
    .string()
    .min(1)
    .max(20_000)
    .describe('Instructions for the model that writes the summary, instead of the built-in ones.')
    .optional(),
});

export const agentSnapshot = z.strictObject({
  kind: z.literal('agent'),
  name: z.string().min(1),
  prompt: z.string().default(''),
  models: z.array(snapshotModel).min(1),
  tools: z.array(snapshotTool).default([]),
  limits: snapshotLimits.prefault({}),
  /** What becomes of a `once` call whose outcome a crash left unknown: tell the model, or wait for a person. */
  inDoubt: z.enum(['tell', 'wait']).default('tell'),
  /** Absent: anyone who can reach the session. */
  approvers: z.literal('keys').optional(),
  /** Absent: the answer is free text. */
  answer: answerFormat.optional(),
  /** Absent: the defaults. `models` write the summaries; absent: the models of the agent. */
  compaction: compactionSettings.extend({ models: z.array(snapshotModel).min(1).optional() }).optional(),
  /** Whether it may wait for replies in a space. */
  replyWaiting: z.literal(true).optional(),
  config: jsonObject.default({}),
});
export type AgentSnapshot = z.infer<typeof agentSnapshot>;
export type AgentSnapshotInput = z.input<typeof agentSnapshot>;

/** A parameter of a tool, and who gives it. */
export const snapshotParam = alsoNamed(
  // Snapshots that were compiled under the former name stay as they are.
  { default: 'defaultValue' },
  z.strictObject({
    name: z.string(),
    source: z.enum(['agent', 'system', 'default']),
    required: z.boolean(),
    defaultValue: json.optional(),
    schema: jsonObject,
  }),
);
export type SnapshotParam = z.infer<typeof snapshotParam>;

export const networkGraph = z.strictObject({
  defaultAgent: z.string().nullable(),
  agents: z.array(
    z.strictObject({
      key: z.string(),
      displayName: z.string().nullable(),
      description: z.string(),
      prompt: z.string(),
      models: z.array(snapshotModel).min(1),
      allowRespond: z.boolean(),
      /** Absent: no. */
      allowTaskGroup: z.literal(true).optional(),
      equippedTools: z.array(z.string()),
      allowedRoutes: z.array(z.string()),
      metadata: jsonObject,
    }),
  ),
  tools: z.array(
    z.strictObject({ key: z.string(), description: z.string(), params: z.array(snapshotParam) }),
  ),
  adjacency: z.array(z.strictObject({ from: z.string(), to: z.string() })),
  policy: jsonObject,
  response: z.strictObject({
    schema: jsonObject.nullable(),
    guidance: z.string().nullable(),
    example: json.nullable(),
  }),
  logPolicy: jsonObject,
  /** For checks without a search. */
  validation: z.strictObject({
    allowedTools: z.record(z.string(), z.array(z.string())),
    allowedRoutes: z.record(z.string(), z.array(z.string())),
    canRespond: z.record(z.string(), z.boolean()),
  }),
});
export type NetworkGraph = z.infer<typeof networkGraph>;

/** What a network is compiled to: for the kernel it is as an agent's, with all its tools and the models of its default agent. */
export const networkSnapshot = z.strictObject({
  ...agentSnapshot.omit({ kind: true, approvers: true, answer: true, compaction: true, replyWaiting: true })
    .shape,
  kind: z.literal('network'),
  network: networkGraph,
});
export type NetworkSnapshot = z.infer<typeof networkSnapshot>;
