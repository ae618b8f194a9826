import { z } from 'zod';
import { id, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const days = z.number().int().min(1).max(36_500);
const deletion = z.strictObject({ deleteAfterDays: days });

const ofBoth = {
  sessions: deletion
    .describe('Sessions with everything in them, so many days after their last activity.')
    .optional(),
  runs: z
    .strictObject({
      keepResultAfterDays: days
        .describe(
          'So many days after its end, only the row of a run stays, with its answer and usage. Steps, tool calls and prompts are deleted; messages and events too, unless the run belongs to a session.',
        )
        .optional(),
      deleteAfterDays: days
        .describe(
          'So many days after its end, a run outside sessions is deleted, as are ended plans and batches. Runs in sessions are deleted with the session.',
        )
        .optional(),
    })
    .optional(),
  events: deletion.describe('Events of sessions and spaces, except the last of each.').optional(),
  files: deletion.describe('Files of sessions that have not been written for so many days.').optional(),
};

/** An agent has rules for its own sessions and runs. */
export const agentRetention = z.strictObject(ofBoth);
export type AgentRetention = z.infer<typeof agentRetention>;

export const retention = z.strictObject({
  ...ofBoth,
  deliveries: z
    .strictObject({ deleteAfterDays: days.max(30) })
    .describe('Deliveries that have ended. Without a rule: delivered after 7 days, dead after 30.')
    .optional(),
  audit: deletion.describe('Entries of the audit log.').optional(),
});
export type Retention = z.infer<typeof retention>;

export const purgeKinds = [
  'expiredSessions',
  'sessions',
  'results',
  'runs',
  'plans',
  'batches',
  'events',
  'files',
  'deliveries',
  'audit',
] as const;
export type PurgeKind = (typeof purgeKinds)[number];

export const purgePreview = z.object({
  data: z.array(
    z.object({
      kind: z
        .enum(purgeKinds)
        .describe(
          '`expiredSessions`: past their `expiresAt`. `results`: runs of which only the result stays.',
        ),
      count: z
        .number()
        .int()
        .nonnegative()
        .describe('Sessions, runs, plans, batches, batches of events, files, deliveries or entries.'),
      bytes: z.number().int().nonnegative().describe('An estimate from average row sizes.'),
      oldest: timestamp.nullable(),
      truncated: z.boolean().describe('There are more; counting stopped here.'),
    }),
  ),
});
export type PurgePreview = z.infer<typeof purgePreview>;

const agentParams = z.object({ agentId: id });
const EFFECT =
  'Replaces all rules. A rule takes effect within ten minutes. Data that a run refers to that has not ended is kept until it ends. Deleted data cannot be restored.';

export const retentionEndpoints = {
  get: endpoint({
    method: 'GET',
    path: '/v1/retention',
    tag: 'retention',
    summary: 'Retention rules of the project and of its agents',
    scope: 'admin',
    status: 200,
    response: z.object({
      project: retention,
      agents: z.array(z.object({ agentId: id, rules: agentRetention })),
    }),
  }),
  set: endpoint({
    method: 'PUT',
    path: '/v1/retention',
    tag: 'retention',
    summary: 'Set the retention rules of the project',
    description: EFFECT,
    scope: 'admin',
    body: retention,
    status: 200,
    response: retention,
  }),
  setForAgent: endpoint({
    method: 'PUT',
    path: '/v1/agents/{agentId}/retention',
    tag: 'retention',
    summary: 'Set the retention rules of an agent',
    description: `${EFFECT} An agent can only be stricter than the project: of both rules the shorter time applies. \`{}\` removes the rules of the agent.`,
    scope: 'admin',
    params: agentParams,
    body: agentRetention,
    status: 200,
    response: agentRetention,
  }),
  preview: endpoint({
    method: 'GET',
    path: '/v1/retention/preview',
    tag: 'retention',
    summary: 'Show what a purge would delete now',
    scope: 'admin',
    status: 200,
    response: purgePreview,
  }),
} as const;
