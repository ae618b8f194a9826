import { z } from 'zod';
import { id, listQuery, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { keptOf } from './memories.ts';

/** For one person, and as many again for all; those that are over count until they are deleted. */
export const MOST_GOALS = 200;

export const goalStatus = z.enum(['active', 'completed', 'abandoned']);
export type GoalStatus = z.infer<typeof goalStatus>;

const description = z.string().trim().min(1).max(10_000);
/** 1 is the most important. */
const priority = z.number().int().min(1).max(5);

export const goal = z.object({
  id,
  description: z.string(),
  status: goalStatus,
  priority,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Goal = z.infer<typeof goal>;

export const newGoal = z.strictObject({
  description,
  status: goalStatus.default('active'),
  priority: priority.default(3),
});
export const goalPatch = z.strictObject({
  description: description.optional(),
  status: goalStatus.optional(),
  priority: priority.optional(),
});

const goalParams = z.object({ agentId: id, goalId: id });

export const goalEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/goals',
    tag: 'goals',
    summary: 'What an agent pursues, the most important first',
    scope: 'agents:read',
    user: true,
    params: z.object({ agentId: id }),
    query: listQuery.extend({ ...keptOf.shape, status: goalStatus.optional() }),
    status: 200,
    response: page(goal),
  }),
  create: endpoint({
    method: 'POST',
    path: '/v1/agents/{agentId}/goals',
    tag: 'goals',
    summary: 'Give an agent a goal',
    scope: 'agents:write',
    params: z.object({ agentId: id }),
    query: keptOf,
    body: newGoal,
    status: 201,
    response: goal,
    problems: ['too_many_goals'],
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/agents/{agentId}/goals/{goalId}',
    tag: 'goals',
    summary: 'Change a goal',
    scope: 'agents:write',
    params: goalParams,
    query: keptOf,
    body: goalPatch,
    status: 200,
    response: goal,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/agents/{agentId}/goals/{goalId}',
    tag: 'goals',
    summary: 'Delete a goal',
    scope: 'agents:write',
    user: true,
    params: goalParams,
    query: keptOf,
    status: 204,
  }),
} as const;
