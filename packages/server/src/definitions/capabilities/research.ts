import { snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

const text = (maxLength: number, description: string) => ({ type: 'string', maxLength, description });

export const research: CapabilityEntry = {
  id: 'research',
  name: 'Research',
  description: 'Looks into a question step by step, with notes that it keeps.',
  status: 'available',
  icon: 'search',
  category: 'knowledge',
  prompt: `When a question needs research, work step by step:
1. Break it into questions that pages can answer. Look at list_findings first: something may be known from before.
2. For each, search with web_search, and read the best pages themselves with web_fetch; a piece of a page in a list of results is no
   source.
3. Note what you find with note_finding as soon as you have it: one claim each, with the address of the page and the words that support
   it. Findings stay with the session; what you only read does not.
4. Look for a second source where a claim matters, and for sources that say otherwise. Note both, and how sure you are.
5. Answer from list_findings. Cite the address of the source after every claim, say which questions stay open, and make nothing up.`,
  includes: ['web_search', 'web_fetch', 'file_system'],
  tools: [
    snapshotTool.parse({
      name: 'note_finding',
      description: 'Notes one thing that you found out, with its source, for later in this session.',
      provider: 'builtin',
      effect: 'idempotent',
      timeoutMs: 10_000,
      inputSchema: {
        type: 'object',
        properties: {
          claim: { ...text(4_000, 'What is so, in a sentence or two.'), minLength: 1 },
          question: text(1_000, 'Which question it answers.'),
          source: text(4_000, 'The address of the page that says so.'),
          quote: text(8_000, 'The words of the page that support it.'),
          confidence: { enum: ['low', 'medium', 'high'], description: 'Default: medium.' },
        },
        required: ['claim', 'source'],
        additionalProperties: false,
      },
    }),
    snapshotTool.parse({
      name: 'list_findings',
      description: 'Everything noted in this session, in the order in which it was noted.',
      provider: 'builtin',
      effect: 'pure',
      timeoutMs: 10_000,
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    }),
  ],
  config: z.strictObject({}),
};
