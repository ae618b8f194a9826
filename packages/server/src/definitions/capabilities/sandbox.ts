import { snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

export const sandbox: CapabilityEntry = {
  id: 'sandbox',
  name: 'Sandbox',
  description: 'Runs code where it can do no harm.',
  status: 'available',
  icon: 'box',
  category: 'execution',
  prompt:
    'With run_code you can run JavaScript: to calculate, to check, to work on data. It has the language and nothing else: no network, no modules, no timers. console.log is shown to you, and so is the value of the last expression; with await at the top, return the result. files.read(path), files.readBytes(path), files.write(path, content), files.list(path) and files.delete(path) are the files of this conversation; what is written is kept only if the code ends without an error.',
  tools: [
    snapshotTool.parse({
      name: 'run_code',
      description: 'Runs JavaScript in a sandbox and tells its output and result.',
      provider: 'builtin',
      effect: 'once',
      timeoutMs: 90_000,
      inputSchema: {
        type: 'object',
        properties: {
          code: { type: 'string', minLength: 1, maxLength: 200_000 },
          language: { enum: ['javascript'] },
        },
        required: ['code'],
        additionalProperties: false,
      },
    }),
  ],
  config: z.strictObject({
    timeLimitMs: z
      .number()
      .int()
      .min(100)
      .max(30_000)
      .describe('How long one call may take; left out: 5,000.')
      .optional(),
  }),
};
