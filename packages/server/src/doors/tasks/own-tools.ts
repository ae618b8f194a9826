import { type AgentSnapshot, type SnapshotTool, snapshotTool } from '@troupe/protocol';

// What every sub-agent has beside the tools of its role.

export const FINAL_ANSWER = 'final_answer';
export const ASK_USER = 'ask_user';

const text = (description: string) => ({ type: 'string', minLength: 1, maxLength: 1_000_000, description });

const TOOLS = [
  snapshotTool.parse({
    name: FINAL_ANSWER,
    description: 'Ends your task with its result: all that whoever gave it to you gets to see.',
    provider: 'delegation',
    effect: 'idempotent',
    inputSchema: {
      type: 'object',
      properties: { result: text('The whole result.') },
      required: ['result'],
      additionalProperties: false,
    },
  }),
  snapshotTool.parse({
    name: ASK_USER,
    description:
      'Asks for something that you cannot find out yourself. The answer is the result of this call, and may take long.',
    provider: 'delegation',
    effect: 'idempotent',
    timeoutMs: 30_000,
    inputSchema: {
      type: 'object',
      properties: {
        question: { ...text('One question that can be understood without your context.'), maxLength: 10_000 },
      },
      required: ['question'],
      additionalProperties: false,
    },
  }),
];

/** A task of a tool has that tool and nothing else: nobody thinks in it. Where the role's answers fit a schema, so does the result. */
export function ownTools({ config, answer }: AgentSnapshot): SnapshotTool[] {
  if (config.toolTask === true) return [];
  if (!answer) return TOOLS;
  // References are to the root of a schema, where this one no longer is; the door looks at what comes in any case.
  const result = JSON.stringify(answer.schema).includes('"$ref"') ? {} : answer.schema;
  return TOOLS.map((tool) =>
    tool.name === FINAL_ANSWER
      ? { ...tool, inputSchema: { ...tool.inputSchema, properties: { result } } }
      : tool,
  );
}
