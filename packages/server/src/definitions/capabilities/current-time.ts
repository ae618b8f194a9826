import { snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

export const currentTime: CapabilityEntry = {
  id: 'current_time',
  name: 'Current time',
  description: 'Tells the date and the time, in any time zone.',
  status: 'available',
  icon: 'clock',
  category: 'utilities',
  prompt: '',
  tools: [
    snapshotTool.parse({
      name: 'current_time',
      description: 'The current date and time.',
      provider: 'builtin',
      effect: 'pure',
      timeoutMs: 5_000,
      inputSchema: {
        type: 'object',
        properties: {
          timezone: {
            type: 'string',
            description: 'An IANA time zone such as Europe/Berlin. Without it: UTC.',
          },
        },
        additionalProperties: false,
      },
    }),
  ],
  config: z.strictObject({}),
};
