import { z } from 'zod';
import { id, listQuery, oneLine, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { json } from './json.ts';

/** How many an agent may have that have yet to run. */
export const MOST_PLANS = 200;

export const planStatus = z.enum(['pending', 'completed', 'canceled']);
export type PlanStatus = z.infer<typeof planStatus>;

const planName = z.string().trim().min(1).max(200).regex(oneLine);
const instruction = z.string().max(20_000);
const when = {
  runAfter: z
    .string()
    .max(50)
    .describe('How long from now: `30 minutes`, `2 hours`, `1 day`, `1 week`; at most a year.'),
  scheduledAt: timestamp.describe('When, once.'),
  cron: z.string().max(200).describe('When, again and again: five fields, read in `timeZone`.'),
  timeZone: z.string().max(64).describe('For `cron`, as IANA names it: `Europe/Zurich`. Absent: UTC.'),
};

export const plan = z.object({
  id,
  agentId: id,
  entityId: id,
  name: planName,
  instruction,
  runAfter: z.string().nullable(),
  scheduledAt: timestamp.nullable(),
  cron: z.string().nullable(),
  timeZone: z.string().nullable(),
  status: planStatus.describe(
    '`pending`: it will run. `completed`: it has, for the last time. `canceled`: it will not.',
  ),
  nextRunAt: timestamp.nullable().describe('When it runs next.'),
  nextRuns: z.array(timestamp).describe('The next times, five at most.'),
  lastRunAt: timestamp.nullable(),
  lastRunId: id.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Plan = z.infer<typeof plan>;

const agentParams = z.object({ agentId: id });
const planParams = z.object({ agentId: id, planId: id });
const base = '/v1/agents/{agentId}/plans';
const problems = [
  'plan_without_time',
  'plan_with_two_times',
  'plan_never_runs',
  'plan_time_invalid',
] as const;

export const planEndpoints = {
  create: endpoint({
    method: 'POST',
    path: base,
    tag: 'plans',
    summary: 'Plan a run of an agent',
    description:
      'Exactly one of `runAfter`, `scheduledAt` and `cron`; a time that is past is refused. The run begins in no space; the agent enters one to speak.',
    scope: 'agents:write',
    params: agentParams,
    body: z.strictObject({
      name: planName,
      instruction: instruction.default(''),
      runAfter: when.runAfter.optional(),
      scheduledAt: when.scheduledAt.optional(),
      cron: when.cron.optional(),
      timeZone: when.timeZone.optional(),
    }),
    status: 201,
    response: plan,
    problems: ['name_taken', 'too_many_plans', 'agent_archived', ...problems],
  }),
  list: endpoint({
    method: 'GET',
    path: base,
    tag: 'plans',
    summary: 'Plans of an agent, newest first',
    scope: 'agents:read',
    params: agentParams,
    query: listQuery.extend({ status: planStatus.optional() }),
    status: 200,
    response: page(plan),
  }),
  listAll: endpoint({
    method: 'GET',
    path: '/v1/plans',
    tag: 'plans',
    summary: 'Plans of all agents, newest first',
    scope: 'agents:read',
    query: listQuery.extend({ status: planStatus.optional() }),
    status: 200,
    response: page(plan),
  }),
  get: endpoint({
    method: 'GET',
    path: `${base}/{planId}`,
    tag: 'plans',
    summary: 'One plan',
    scope: 'agents:read',
    params: planParams,
    status: 200,
    response: plan,
  }),
  update: endpoint({
    method: 'PATCH',
    path: `${base}/{planId}`,
    tag: 'plans',
    summary: 'Change a plan; a new time makes it pending again',
    scope: 'agents:write',
    params: planParams,
    body: z.strictObject({
      name: planName.optional(),
      instruction: instruction.optional(),
      runAfter: when.runAfter.optional(),
      scheduledAt: when.scheduledAt.optional(),
      cron: when.cron.optional(),
      timeZone: when.timeZone.optional(),
    }),
    status: 200,
    response: plan,
    problems: ['name_taken', 'too_many_plans', ...problems],
  }),
  cancel: endpoint({
    method: 'POST',
    path: `${base}/{planId}/cancel`,
    tag: 'plans',
    summary: 'Cancel a plan; a run that has begun goes on',
    scope: 'agents:write',
    params: planParams,
    status: 200,
    response: plan,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: `${base}/{planId}`,
    tag: 'plans',
    summary: 'Delete a plan',
    scope: 'agents:write',
    params: planParams,
    status: 204,
  }),
} as const;

/** How much a service may tell, as JSON. */
export const MOST_PAYLOAD_BYTES = 65_536;

export const serviceTrigger = z.strictObject({
  serviceName: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .regex(oneLine)
    .describe('What calls, as the agent reads it.'),
  payload: json.describe('What it has to tell, as JSON; at most 64 KB.').default(null),
});

export const serviceEndpoints = {
  trigger: endpoint({
    method: 'POST',
    path: '/v1/agents/{agentId}/trigger',
    tag: 'agents',
    summary: 'Start a run of an agent from a service',
    description: 'It begins in no space; the agent enters one of its spaces to speak.',
    scope: 'agents:write',
    params: agentParams,
    body: serviceTrigger,
    status: 201,
    response: z.object({ runId: id, agentEntityId: id, status: z.literal('queued') }),
    problems: ['agent_archived', 'model_not_found', 'payload_too_large'],
  }),
} as const;
