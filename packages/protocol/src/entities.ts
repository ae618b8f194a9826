import { z } from 'zod';
import { id, isFree, listQuery, metadata, oneLine, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

export const entityType = z.enum(['human', 'agent']);
export type EntityType = z.infer<typeof entityType>;

const externalId = z.string().min(1).max(500).regex(oneLine).refine(isFree, 'is reserved');
const displayName = z.string().trim().min(1).max(200).regex(oneLine);

export const entity = z.object({
  id,
  type: entityType,
  externalId: z
    .string()
    .nullable()
    .describe('A person’s name in the system of the caller, as tokens have it.'),
  displayName: z.string().nullable(),
  agentId: id.nullable().describe('The agent that it speaks for; null for a person.'),
  metadata,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Entity = z.infer<typeof entity>;

export const erasure = z.object({
  entityId: id,
  status: z.enum(['running', 'done']),
  counts: z
    .record(z.string(), z.number().int().nonnegative())
    .describe('What was deleted or blanked, by kind: `sessions`, `messages`, `runs`, `spaceMessages`, …'),
  requestedAt: timestamp,
  finishedAt: timestamp.nullable(),
});
export type Erasure = z.infer<typeof erasure>;

const entityParams = z.object({ entityId: id });

export const entityEndpoints = {
  create: endpoint({
    method: 'POST',
    path: '/v1/entities',
    tag: 'entities',
    summary: 'Register a person',
    description:
      'Agents have theirs from the start. A person who comes with a token for the first time is registered too.',
    scope: 'spaces:write',
    body: z.strictObject({
      externalId,
      displayName: displayName.nullable().default(null),
      metadata: metadata.default({}),
    }),
    status: 201,
    response: entity,
    problems: ['external_id_taken'],
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/entities',
    tag: 'entities',
    summary: 'People and agents, newest first',
    scope: 'spaces:read',
    query: listQuery.extend({
      type: entityType.optional(),
      externalId: z.string().max(500).optional(),
      agentId: id.optional(),
    }),
    status: 200,
    response: page(entity),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/entities/{entityId}',
    tag: 'entities',
    summary: 'One entity',
    scope: 'spaces:read',
    params: entityParams,
    status: 200,
    response: entity,
  }),
  me: endpoint({
    method: 'GET',
    path: '/v1/me',
    tag: 'entities',
    summary: 'The person that a token names',
    scope: 'spaces:read',
    user: true,
    status: 200,
    response: entity,
    problems: ['nobody_named'],
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/entities/{entityId}',
    tag: 'entities',
    summary: 'Change an entity; fields that are left out stay, null clears',
    description: 'An agent is shown under its own name: change that of the agent.',
    scope: 'spaces:write',
    params: entityParams,
    body: z.strictObject({
      displayName: displayName.nullable().optional(),
      metadata: metadata.nullable().optional(),
    }),
    status: 200,
    response: entity,
    problems: ['entity_of_agent'],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/entities/{entityId}',
    tag: 'entities',
    summary: 'Delete a person who has said nothing and owns nothing',
    scope: 'spaces:write',
    params: entityParams,
    status: 204,
    problems: ['entity_in_use', 'entity_of_agent'],
  }),
  erase: endpoint({
    method: 'POST',
    path: '/v1/entities/{entityId}/erase',
    tag: 'entities',
    summary: 'Erase a person with everything that belongs to them',
    description:
      'Deletes their sessions, runs, files, memories, goals and clients, removes them from spaces and blanks what they said there. A job does it in batches; repeating the request returns the same erasure. The audit log keeps the receipt.',
    scope: 'admin',
    params: entityParams,
    status: 202,
    response: erasure,
    problems: ['entity_of_agent'],
  }),
  erasure: endpoint({
    method: 'GET',
    path: '/v1/entities/{entityId}/erasure',
    tag: 'entities',
    summary: 'The receipt of an erasure',
    scope: 'admin',
    params: entityParams,
    status: 200,
    response: erasure,
  }),
} as const;
