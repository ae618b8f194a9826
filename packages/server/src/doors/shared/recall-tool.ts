import { type SnapshotTool, snapshotTool } from '@troupe/protocol';

export const RECALL = 'recall';

const TOOL = snapshotTool.parse({
  name: RECALL,
  description:
    'Reads this conversation beyond what you see: earlier messages that were summarised, and tool results that are shown in part. Give `query` to search for words, or `callId` to read the whole result of a call.',
  provider: 'builtin',
  effect: 'pure',
  timeoutMs: 30_000,
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', minLength: 1, maxLength: 1_000, description: 'Words to search for.' },
      callId: { type: 'string', minLength: 1, maxLength: 200, description: 'The call whose result to read.' },
      offset: { type: 'integer', minimum: 0, description: 'With `callId`: the character to start at.' },
    },
    additionalProperties: false,
  },
});

/** The tool that every run with a conversation of its own has. */
export function recallTools(): SnapshotTool[] {
  return [TOOL];
}
