import { type JsonObject, snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

const DAY_MS = 86_400_000;

export const delegationConfig = z.strictObject({
  depth: z.number().int().min(1).max(10).describe('How deep tasks may be nested.').default(3),
  tasks: z.number().int().min(1).max(1000).describe('How many may follow from one message.').default(100),
  waitMs: z
    .number()
    .int()
    .min(1)
    .max(30 * DAY_MS)
    .describe('How long the result of a task is waited for.')
    .default(DAY_MS),
  questionMs: z
    .number()
    .int()
    .min(1)
    .max(30 * DAY_MS)
    .describe('How long a question of a sub-agent waits for its answer.')
    .default(7 * DAY_MS),
  questions: z.number().int().min(0).max(100).describe('How many a sub-agent may ask in a task.').default(10),
  repeats: z.number().int().min(1).max(20).default(2),
});

function tool(name: string, description: string, properties: JsonObject, required: string[]) {
  return snapshotTool.parse({
    name,
    description,
    provider: 'delegation',
    // However often it is tried, the ids are the same.
    effect: 'idempotent',
    timeoutMs: 30_000,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  });
}

const text = (description: string) => ({ type: 'string', minLength: 1, maxLength: 100_000, description });
const subAgentId = { type: 'string', description: 'The `subAgentId` that you were given.' };
const background = {
  type: 'boolean',
  description:
    'True: go on at once; you are told of the result later. Otherwise the result of this call is the result of the task.',
};

export const delegation: CapabilityEntry = {
  id: 'delegation',
  name: 'Delegation',
  description: 'Hands work to other agents and to tools, and gets back what they bring.',
  status: 'available',
  icon: 'users',
  category: 'collaboration',
  prompt:
    'You can give work to sub-agents. Give each a task that stands on its own, with create_agent: the sub-agent knows nothing of ' +
    'this conversation but the instruction. Give several at once where they do not depend on each other. A sub-agent may ask ' +
    'something: you then get its question with the status "waiting". Answer it with reply_to_agent if what was said here ' +
    'answers it; otherwise ask the person in your own words and end your turn, and reply when they have answered. The person talks ' +
    'to you only, and sees what you say, not what the sub-agents find: tell them. With reactivate_agent a sub-agent that has ended goes on ' +
    'from where it was.',
  tools: [
    tool(
      'create_agent',
      'Gives a task to a new sub-agent.',
      {
        type: text('The name of the agent that does it, such as "researcher" or "general".'),
        instruction: text('What is to be done, all that it needs to know, and what the result must have.'),
        background,
      },
      ['type', 'instruction'],
    ),
    tool(
      'reactivate_agent',
      'Gives more to do to a sub-agent that has ended. It remembers what it did.',
      { subAgentId, instruction: text('What is to be done now.'), background },
      ['subAgentId', 'instruction'],
    ),
    tool(
      'reply_to_agent',
      'Answers what a sub-agent asked. It goes on with the answer.',
      { subAgentId, content: text('The answer.') },
      ['subAgentId', 'content'],
    ),
    tool(
      'create_task',
      'Calls one of your other tools in the background. You are told of the result later.',
      {
        tool: text('The name of the tool.'),
        args: { type: 'object', description: 'Its arguments.' },
      },
      ['tool', 'args'],
    ),
  ],
  config: delegationConfig,
};
