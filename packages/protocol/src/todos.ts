import { z } from 'zod';
import { id, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

export const todo = z.object({
  content: z.string(),
  /** How it is called while it is done: "Writing the tests". */
  activeForm: z.string().optional(),
  status: z.enum(['pending', 'in_progress', 'completed']),
});
export type Todo = z.infer<typeof todo>;

export const todoEndpoints = {
  get: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/sessions/{sessionId}/todos',
    tag: 'todos',
    summary: "The agent's to-do list in a session, as it is now",
    scope: 'sessions:read',
    user: true,
    params: z.object({ agentId: id, sessionId: id }),
    status: 200,
    response: z.object({ todos: z.array(todo), updatedAt: timestamp.nullable() }),
  }),
} as const;
