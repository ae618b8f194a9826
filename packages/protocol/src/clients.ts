import { z } from 'zod';
import { id, listQuery, oneLine, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { jsonObject } from './json.ts';

export const client = z.object({
  id,
  entityId: id.describe('Whose program it is.'),
  clientKey: z
    .string()
    .describe('Chosen by the program: registering again under it changes the same client.'),
  clientType: z.string().nullable().describe('Such as web, mobile, node or device.'),
  displayName: z.string().nullable(),
  capabilities: jsonObject.describe(
    'What it can do, such as the tools that it executes; free for the caller.',
  ),
  online: z.boolean().describe('Whether it was heard of within the last minute.'),
  lastSeenAt: timestamp,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Client = z.infer<typeof client>;

const clientParams = z.object({ clientId: id });

export const clientEndpoints = {
  register: endpoint({
    method: 'POST',
    path: '/v1/clients',
    tag: 'clients',
    summary: 'Register a program of a person, or change what is known of it',
    scope: 'spaces:write',
    user: true,
    body: z.strictObject({
      clientKey: z.string().min(1).max(200).regex(oneLine),
      clientType: z.string().min(1).max(50).regex(oneLine).nullable().default(null),
      displayName: z.string().min(1).max(200).regex(oneLine).nullable().default(null),
      capabilities: jsonObject.default({}),
      entityId: id.describe('Whose it is; only a key may say so, and must.').optional(),
    }),
    status: 200,
    response: client,
    problems: ['client_key_taken', 'entity_not_found'],
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/clients',
    tag: 'clients',
    summary: 'Clients, newest first; a person sees their own',
    scope: 'spaces:read',
    user: true,
    query: listQuery.extend({ entityId: id.optional() }),
    status: 200,
    response: page(client),
  }),
  seen: endpoint({
    method: 'POST',
    path: '/v1/clients/{clientId}/seen',
    tag: 'clients',
    summary: 'Say that a client is there; online for a minute from then on',
    scope: 'spaces:write',
    user: true,
    params: clientParams,
    status: 200,
    response: client,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/clients/{clientId}',
    tag: 'clients',
    summary: 'Forget a client',
    scope: 'spaces:write',
    user: true,
    params: clientParams,
    status: 204,
  }),
} as const;
