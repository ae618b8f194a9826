import { goalStatus, type JsonObject, snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

/** `per`: whether what one person told is kept apart from what others told. It is, unless somebody says otherwise. */
export const memoryConfig = z.strictObject({
  per: z
    .enum(['person', 'agent'])
    .describe('Whose memories it writes: those of the person of the session, or one set for all.')
    .default('person'),
  inPrompt: z.boolean().describe('It is told with every step what it remembers.').default(true),
  mostInPrompt: z
    .number()
    .int()
    .min(1)
    .max(200)
    .describe('So many memories, the newest, and so many goals.')
    .default(50),
});

const key = { type: 'string', minLength: 1, maxLength: 200 };
const keys = { type: 'array', items: key, minItems: 1, maxItems: 100 };
const status = { type: 'string', enum: goalStatus.options };

function tool(
  name: string,
  description: string,
  {
    effect = 'idempotent',
    properties,
    required = [],
  }: { effect?: 'pure' | 'idempotent'; properties: JsonObject; required?: string[] },
) {
  return snapshotTool.parse({
    name,
    description,
    provider: 'builtin',
    effect,
    timeoutMs: 15_000,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  });
}

export const memory: CapabilityEntry = {
  id: 'memory',
  name: 'Memory',
  description: 'Keeps what is worth knowing, and what is to be achieved, from run to run.',
  status: 'available',
  icon: 'brain',
  category: 'knowledge',
  prompt:
    'You can remember. Write down with set_memories what will be worth knowing in later conversations, each under a short ' +
    'key, and with set_goals what you are to achieve. Correct what has changed and delete what no longer holds. Nothing ' +
    'else is kept from one conversation to the next.',
  tools: [
    tool('set_memories', 'Remembers values under keys. A key that is there already gets the new value.', {
      properties: {
        memories: {
          type: 'array',
          minItems: 1,
          maxItems: 100,
          items: {
            type: 'object',
            properties: { key, value: { type: 'string', maxLength: 10_000 } },
            required: ['key', 'value'],
            additionalProperties: false,
          },
        },
      },
      required: ['memories'],
    }),
    tool('get_memories', 'Reads what you remember: under these keys, or all.', {
      effect: 'pure',
      properties: { keys },
    }),
    tool('delete_memories', 'Forgets what is under these keys.', {
      properties: { keys },
      required: ['keys'],
    }),
    tool(
      'set_goals',
      'Sets goals. With the id of a goal, changes what is given of it; without, adds a new one.',
      {
        properties: {
          goals: {
            type: 'array',
            minItems: 1,
            maxItems: 50,
            items: {
              type: 'object',
              properties: {
                id: { type: 'string' },
                description: { type: 'string', minLength: 1, maxLength: 10_000 },
                status,
                priority: {
                  type: 'integer',
                  minimum: 1,
                  maximum: 5,
                  description: '1 is the most important.',
                },
              },
              additionalProperties: false,
            },
          },
        },
        required: ['goals'],
      },
    ),
    tool('get_goals', 'Reads your goals: those with this status, or all.', {
      effect: 'pure',
      properties: { status },
    }),
    tool('delete_goals', 'Deletes goals.', {
      properties: { goalIds: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 200 } },
      required: ['goalIds'],
    }),
  ],
  config: memoryConfig,
};
