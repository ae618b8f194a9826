import { z } from 'zod';
import { id } from './common.ts';
import { endpoint } from './endpoint.ts';

/** One claim that research noted, with the page that says so. */
export const finding = z.object({
  question: z.string().describe('What it answers; empty where the agent did not say.'),
  claim: z.string(),
  source: z.string(),
  quote: z.string(),
  confidence: z.string().describe('`low`, `medium` or `high`.'),
});
export type Finding = z.infer<typeof finding>;

export const findingEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/agents/{agentId}/sessions/{sessionId}/findings',
    tag: 'findings',
    summary: 'What research found in a session, in the order in which it was noted',
    scope: 'sessions:read',
    user: true,
    params: z.object({ agentId: id, sessionId: id }),
    status: 200,
    response: z.object({ findings: z.array(finding) }),
  }),
} as const;
