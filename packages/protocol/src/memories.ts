import { z } from 'zod';
import { id, isFree, listQuery, NOBODY_NAMED, oneLine, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

/** What an agent can keep for one person, and as much again for all. */
export const MOST_MEMORIES = 1_000;

/** No part of an address could be `.` or `..`. */
export const memoryKey = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(oneLine)
  .refine((key) => key !== '.' && key !== '..', 'cannot be a key');
export const memoryValue = z.string().max(10_000);

export const memory = z.object({
  key: z.string(),
  value: z.string(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Memory = z.infer<typeof memory>;

/**
 * Whose: what an agent keeps of this person, by the name that sessions know them under. Without it, what it keeps for all.
 * A person with a token of their own reaches what is kept of them and names nobody.
 */
export const keptOf = z.strictObject({
  user: z
    .string()
    .min(1)
    .max(500)
    .regex(oneLine)
    .refine((user) => isFree(user) || user === NOBODY_NAMED, 'is reserved')
    .optional(),
});

const agentParams = z.object({ agentId: id });
const keyParams = z.object({ agentId: id, key: memoryKey });

export const memoryEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/memories',
    tag: 'memories',
    summary: 'What an agent remembers, by key',
    description: '`prefix`: keys that begin so. `search`: keys and values that contain it, in either case.',
    scope: 'agents:read',
    user: true,
    params: agentParams,
    query: listQuery.extend({
      ...keptOf.shape,
      prefix: z.string().min(1).max(200).optional(),
      search: z.string().min(1).max(200).optional(),
    }),
    status: 200,
    response: page(memory),
  }),
  setMany: endpoint({
    method: 'POST',
    path: '/v1/agents/{agentId}/memories',
    tag: 'memories',
    summary: 'Set memories: all of them, or none',
    scope: 'agents:write',
    params: agentParams,
    query: keptOf,
    body: z.strictObject({
      memories: z
        .array(z.strictObject({ key: memoryKey, value: memoryValue }))
        .min(1)
        .max(100),
    }),
    bodyBytes: 4_194_304,
    status: 200,
    response: z.object({ count: z.number().int().nonnegative() }),
    problems: ['too_many_memories'],
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/memories/{key}',
    tag: 'memories',
    summary: 'A memory',
    scope: 'agents:read',
    user: true,
    params: keyParams,
    query: keptOf,
    status: 200,
    response: memory,
  }),
  set: endpoint({
    method: 'PUT',
    path: '/v1/agents/{agentId}/memories/{key}',
    tag: 'memories',
    summary: 'Set a memory',
    scope: 'agents:write',
    params: keyParams,
    query: keptOf,
    body: z.strictObject({ value: memoryValue }),
    status: 200,
    response: memory,
    problems: ['too_many_memories'],
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/agents/{agentId}/memories/{key}',
    tag: 'memories',
    summary: 'Forget a memory',
    scope: 'agents:write',
    user: true,
    params: keyParams,
    query: keptOf,
    status: 204,
  }),
} as const;
