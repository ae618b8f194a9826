import { z } from 'zod';
import { id, listQuery, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { json } from './json.ts';
import { toolCall, waitsFor } from './tool-calls.ts';

/** A call that goes on only when somebody says how. */
export const waitingCall = z.object({
  runId: id,
  callId: z.string(),
  agentId: id.nullable(),
  agentName: z.string().nullable(),
  network: z
    .object({ id, name: z.string(), version: z.number().int() })
    .nullable()
    .describe(
      'The network that the run is one of, as it was called when the run began; null for other runs.',
    ),
  agentKey: z.string().nullable().describe('The agent of that network that made the call.'),
  rootRunId: id
    .nullable()
    .describe('Where calls of other runs led to this run: the run that it all began with. Null for others.'),
  taskId: id.nullable().describe('The task that the run works on.'),
  sessionId: id.nullable(),
  spaceId: id.nullable().describe('The space that sees it, and whose members may answer.'),
  step: z.number().int(),
  tool: z.string(),
  arguments: json,
  /** What an approval is bound to: it must be given back, so that nobody approves what they did not see. */
  argumentsHash: z.string(),
  waitsFor,
  /** Why, where something went wrong: a call whose outcome a crash left unknown. */
  error: toolCall.shape.error,
  deadline: timestamp.nullable(),
  createdAt: timestamp,
});
export type WaitingCall = z.infer<typeof waitingCall>;

const callParams = z.object({ runId: id, callId: z.string().min(1).max(200) });
const message = z.string().trim().min(1).max(2_000);

/** `approve`, `reject`: a call that needs approval. `retry`, `complete`, `fail`: a call whose outcome is in doubt. */
export const callDecision = z.discriminatedUnion('decision', [
  z.strictObject({
    decision: z.literal('approve'),
    argumentsHash: z.string().max(100),
    /** To be called with these instead. */
    arguments: json.optional(),
  }),
  z.strictObject({ decision: z.literal('reject'), reason: message.optional() }),
  z.strictObject({ decision: z.literal('retry') }),
  z.strictObject({ decision: z.literal('complete'), output: json }),
  z.strictObject({ decision: z.literal('fail'), reason: message }),
]);
export type CallDecision = z.infer<typeof callDecision>;

/** What no shape fits says itself what is wrong with it; "invalid input" would leave that to guessing. */
function resultProblem(given: unknown): string {
  const has = (name: string) => typeof given === 'object' && given !== null && name in given;
  if (has('result') && has('error')) return 'has both `result` and `error`; give one of them';
  if (!has('callId')) return 'needs the `callId`, and `result` or `error`';
  if (!has('result') && !has('error')) return 'needs `result` (null where there is none) or `error`';
  return has('result')
    ? 'takes `callId`, a text, and `result`, JSON, and nothing else'
    : 'takes `callId`, a text, and `error` with `message` and, if wanted, `code`, and nothing else';
}

/** What a client's tool gave, or why it failed. */
export const toolResult = z.union(
  [
    z.strictObject({ callId: z.string().min(1).max(200), result: json }),
    z.strictObject({
      callId: z.string().min(1).max(200),
      error: z.strictObject({ code: z.string().min(1).max(100).default('tool_error'), message }),
    }),
  ],
  { error: ({ input }) => resultProblem(input) },
);
export type ToolResult = z.infer<typeof toolResult>;

const settled = z.object({
  /** What the run is doing now. */
  status: z.string(),
  /** Calls of it that still wait. */
  openCalls: z.number().int().nonnegative(),
});

export const inboxEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/inbox',
    tag: 'inbox',
    summary: 'Calls that wait for somebody, those of the oldest run first',
    description:
      'Without `waitsFor`: calls that wait for a person (`approval`, `person` and `answer`). `answer` is a question of a sub-agent: `POST /v1/tasks/{taskId}/answer` answers it.',
    scope: 'runs:read',
    user: true,
    query: listQuery.extend({
      waitsFor: waitsFor.exclude(['reply']).optional(),
      agentId: id.optional(),
      sessionId: id.describe('Its own, and those of sub-agents at work for it.').optional(),
      runId: id.optional(),
    }),
    status: 200,
    response: page(waitingCall),
  }),
  decide: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/calls/{callId}/decision',
    tag: 'inbox',
    summary: 'Approve or reject a call, or settle one whose outcome is in doubt',
    description:
      'An approval is for these arguments of this call, once. Whoever comes second is told what the first one decided. A person may do it for their own sessions, unless the agent has `approvers: "keys"`.',
    scope: 'runs:write',
    user: true,
    params: callParams,
    body: callDecision,
    bodyBytes: 8_388_608,
    status: 200,
    response: settled,
    problems: [
      'call_not_found',
      'call_not_open',
      'wrong_settlement',
      'arguments_changed',
      'arguments_invalid',
      'output_too_large',
    ],
  }),
  results: endpoint({
    method: 'POST',
    path: '/v1/runs/{runId}/tool-results',
    tag: 'inbox',
    summary: 'What the tools of a client gave; all of them are taken, or none',
    description:
      'The run goes on when the last call that it waits for is settled. Sending the same again changes nothing and is answered in the same way.',
    scope: 'runs:write',
    user: true,
    params: z.object({ runId: id }),
    body: z.union([z.strictObject({ results: z.array(toolResult).min(1).max(1000) }), toolResult], {
      error: ({ input }) =>
        typeof input === 'object' && input !== null && 'results' in input
          ? 'takes `results`, 1 to 1,000 of them, and nothing beside them'
          : resultProblem(input),
    }),
    bodyBytes: 33_554_432,
    status: 200,
    response: settled,
    problems: ['call_not_found', 'call_not_open', 'wrong_settlement', 'result_invalid', 'output_too_large'],
  }),
} as const;
