import { z } from 'zod';
import { id, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

/** How much a thread keeps. A tool writes smaller files than a person: what a model writes passes through its answers. */
export const FILE_LIMITS = {
  fileBytes: 10_485_760,
  toolFileBytes: 1_048_576,
  files: 1_000,
  totalBytes: 67_108_864,
} as const;

export const file = z.object({
  path: z.string(),
  size: z.number().int().nonnegative(),
  type: z.string(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type File = z.infer<typeof file>;

const params = z.object({ agentId: id, sessionId: id });
/** What it may be is decided in one place, for people and for tools. */
const path = z.string().min(1).max(4_000);
const base = '/v1/agents/{agentId}/sessions/{sessionId}/files';

export const fileEndpoints = {
  list: endpoint({
    method: 'GET',
    path: base,
    tag: 'files',
    summary: 'The files of a session, by path',
    description: 'With `path`: those below that directory.',
    scope: 'sessions:read',
    user: true,
    params,
    query: z.strictObject({ path: path.optional() }),
    status: 200,
    response: z.object({
      data: z.array(file),
      /** Of all files of the session, wherever they are. */
      totals: z.object({ files: z.number().int(), bytes: z.number().int() }),
    }),
    problems: ['path_invalid'],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: base,
    tag: 'files',
    summary: 'Delete a file, or with `recursive=true` all files of a directory',
    scope: 'sessions:write',
    user: true,
    params,
    query: z.strictObject({ path, recursive: z.enum(['true', 'false']).default('false') }),
    status: 204,
    problems: ['path_invalid', 'file_not_found', 'is_a_directory'],
  }),
  read: endpoint({
    method: 'GET',
    path: `${base}/content`,
    tag: 'files',
    summary: 'What is in a file, to the byte',
    scope: 'sessions:read',
    user: true,
    params,
    query: z.strictObject({ path }),
    status: 200,
    responseTypes: ['application/octet-stream'],
    problems: ['path_invalid', 'file_not_found', 'is_a_directory'],
  }),
  write: endpoint({
    method: 'PUT',
    path: `${base}/content`,
    tag: 'files',
    summary: 'Write a file, or write it anew: the body is what will be in it',
    scope: 'sessions:write',
    user: true,
    params,
    query: z.strictObject({ path }),
    body: z
      .custom<Uint8Array | string>((given) => given instanceof Uint8Array || typeof given === 'string')
      .meta({ type: 'string', format: 'binary' }),
    bodyTypes: ['application/octet-stream', 'text/plain'],
    bytes: true,
    bodyBytes: FILE_LIMITS.fileBytes,
    status: 200,
    response: file,
    problems: ['path_invalid', 'is_a_directory', 'not_a_directory', 'too_many_files', 'files_full'],
  }),
} as const;
