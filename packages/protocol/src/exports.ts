import { z } from 'zod';
import { id } from './common.ts';
import { endpoint } from './endpoint.ts';

const LINES =
  'Lines of JSON: a header, a line `{ table, row }` for each row, and `{ end, rows }`; a file without the last line is not complete. All rows are of one moment.';
const responseTypes = ['application/x-ndjson'] as const;

export const exportEndpoints = {
  project: endpoint({
    method: 'GET',
    path: '/v1/export',
    tag: 'project',
    summary: 'Export the project',
    description: `${LINES} Without keys, secrets and runs that have not ended. \`troupe import\` makes a project of it on another server.`,
    scope: 'admin',
    status: 200,
    responseTypes,
  }),
  person: endpoint({
    method: 'GET',
    path: '/v1/entities/{entityId}/export',
    tag: 'entities',
    summary: 'Export everything that belongs to a person',
    description: LINES,
    scope: 'admin',
    params: z.object({ entityId: id }),
    status: 200,
    responseTypes,
  }),
  me: endpoint({
    method: 'GET',
    path: '/v1/me/export',
    tag: 'entities',
    summary: 'Export everything that belongs to the person of the token',
    description: LINES,
    scope: 'sessions:read',
    user: true,
    status: 200,
    responseTypes,
    problems: ['nobody_named'],
  }),
  session: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/sessions/{sessionId}/export',
    tag: 'sessions',
    summary: 'Export a session',
    description: LINES,
    scope: 'sessions:read',
    user: true,
    params: z.object({ agentId: id, sessionId: id }),
    status: 200,
    responseTypes,
  }),
} as const;
