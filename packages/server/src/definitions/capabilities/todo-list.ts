import { snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

export const todoList: CapabilityEntry = {
  id: 'todo_list',
  name: 'To-do list',
  description: 'Writes down what is to be done and ticks it off.',
  status: 'available',
  icon: 'list-checks',
  category: 'utilities',
  prompt:
    'For work of three steps or more, keep a to-do list with write_todos: write it before you begin, have exactly one item in progress, and mark an item as completed as soon as it is. The list is written as a whole each time. For a simple question you need none.',
  tools: [
    snapshotTool.parse({
      name: 'write_todos',
      description: 'Writes the whole to-do list anew.',
      provider: 'builtin',
      effect: 'idempotent',
      timeoutMs: 10_000,
      inputSchema: {
        type: 'object',
        properties: {
          todos: {
            type: 'array',
            maxItems: 200,
            items: {
              type: 'object',
              properties: {
                content: {
                  type: 'string',
                  minLength: 1,
                  maxLength: 1000,
                  description: 'What is to be done.',
                },
                activeForm: {
                  type: 'string',
                  minLength: 1,
                  maxLength: 1000,
                  description: 'The same while it is done: "Writing the tests".',
                },
                status: { enum: ['pending', 'in_progress', 'completed'] },
              },
              required: ['content', 'status'],
              additionalProperties: false,
            },
          },
        },
        required: ['todos'],
        additionalProperties: false,
      },
    }),
    snapshotTool.parse({
      name: 'read_todos',
      description: 'The to-do list as it is now.',
      provider: 'builtin',
      effect: 'pure',
      timeoutMs: 10_000,
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    }),
  ],
  config: z.strictObject({}),
};
