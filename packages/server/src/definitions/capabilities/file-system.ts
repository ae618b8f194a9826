import { snapshotTool } from '@troupe/protocol';
import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

const path = { type: 'string', minLength: 1, maxLength: 1000, description: 'Such as /notes/plan.md.' };

function tool(
  name: string,
  description: string,
  effect: 'pure' | 'idempotent',
  properties: Record<string, unknown>,
  required: string[],
) {
  return snapshotTool.parse({
    name,
    description,
    provider: 'builtin',
    effect,
    timeoutMs: 30_000,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  });
}

export const fileSystem: CapabilityEntry = {
  id: 'file_system',
  name: 'Files',
  description: 'Reads and writes files of the session.',
  status: 'available',
  icon: 'hard-drive',
  category: 'execution',
  prompt:
    'You have files of your own in this conversation, which the person you talk with can see too. Paths begin with /; directories come into being with the files in them. Keep in files what is long or needed later, and read a file before you change it.',
  tools: [
    tool(
      'read_file',
      'What is in a file. Text comes as it is, anything else as base64. A long file comes in parts: ask again with nextOffset as the offset.',
      'pure',
      {
        path,
        encoding: { enum: ['utf-8', 'base64'] },
        offset: { type: 'integer', minimum: 0, description: 'In bytes.' },
        limit: { type: 'integer', minimum: 1, maximum: 65536, description: 'In bytes.' },
      },
      ['path'],
    ),
    tool(
      'write_file',
      'Writes a file, or writes it anew: the content is all that will be in it.',
      'idempotent',
      { path, content: { type: 'string' }, encoding: { enum: ['utf-8', 'base64'] } },
      ['path', 'content'],
    ),
    tool('list_directory', 'What is in a directory. Without a path: in /.', 'pure', { path }, []),
    tool(
      'grep_files',
      'Lines of files that match a regular expression (RE2).',
      'pure',
      {
        pattern: { type: 'string', minLength: 1 },
        path_pattern: { type: 'string', minLength: 1, description: 'Such as *.md or /notes/**.' },
      },
      ['pattern'],
    ),
    tool('stat_file', 'Size, type and times of a file, or what a directory holds.', 'pure', { path }, [
      'path',
    ]),
    tool(
      'delete_file',
      'Deletes a file; with recursive, a directory with all that is in it.',
      'idempotent',
      { path, recursive: { type: 'boolean' } },
      ['path'],
    ),
  ],
  config: z.strictObject({}),
};
