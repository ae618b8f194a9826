import { z } from 'zod';
import { id, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

export const MOST_BUCKETS = 500;

const count = z.int().nonnegative();
const usageNumbers = {
  started: count.describe('Runs that were made.'),
  completed: count.describe('Runs that were completed.'),
  failed: count,
  canceled: count,
  inputTokens: count,
  outputTokens: count,
  cost: z.number().nonnegative().describe('In the unit of the prices.'),
};

export const usageBy = z.enum(['none', 'agent', 'model', 'network']);
export type UsageBy = z.infer<typeof usageBy>;
export const usageInterval = z.enum(['minute', 'hour', 'day']);
export type UsageInterval = z.infer<typeof usageInterval>;

export const usagePoint = z.object({ at: timestamp.describe('When the interval begins.'), ...usageNumbers });
export type UsagePoint = z.infer<typeof usagePoint>;

export const usageSeries = z.object({
  key: z
    .string()
    .nullable()
    .describe(
      'The id of the agent or of the network, or `provider/model`; null where it is of none, and for all together.',
    ),
  name: z.string().nullable().describe('What it is called; null where it is gone.'),
  total: z.object(usageNumbers),
  points: z.array(usagePoint).describe('One for each interval in which something happened, in their order.'),
});
export type UsageSeries = z.infer<typeof usageSeries>;

export const usageReport = z.object({
  from: timestamp.describe('Where the first interval begins.'),
  to: timestamp,
  interval: usageInterval,
  by: usageBy,
  series: z.array(usageSeries).describe('Those with the most cost, tokens and runs first; at most 50.'),
  total: z.object(usageNumbers).describe('Of everything, also of what is in no series.'),
});
export type UsageReport = z.infer<typeof usageReport>;

export const budgetUnit = z.enum(['tokens', 'cost']);
export type BudgetUnit = z.infer<typeof budgetUnit>;
export const onExhausted = z
  .enum(['stop', 'fallback', 'wait'])
  .describe('What becomes of a run that finds it empty: it is canceled, takes its next model, or waits.');
/** What a budget can be set for. */
export const budgetScope = z.enum(['project', 'agent', 'space', 'session']);
export type BudgetScope = z.infer<typeof budgetScope>;
/** Cost is kept in millionths, and whole numbers are exact up to 2^53. */
export const MOST_BUDGET = 9_000_000_000;

export const budget = z.object({
  id,
  scope: z.enum([...budgetScope.options, 'run_tree']),
  scopeId: id.describe('What it is for.'),
  name: z.string().nullable().describe('What that is called, where it has a name.'),
  unit: budgetUnit,
  amount: z.number().nonnegative().describe('Tokens, or the unit of the prices.'),
  spent: z.number().nonnegative(),
  reserved: z.number().nonnegative().describe('Lent to workers for calls under way; not spent yet.'),
  onExhausted,
  waiting: count.describe('Runs that wait for it to be raised.'),
});
export type Budget = z.infer<typeof budget>;

const budgetParams = z.object({ scope: budgetScope, scopeId: id, unit: budgetUnit });

export const usageEndpoints = {
  read: endpoint({
    method: 'GET',
    path: '/v1/usage',
    tag: 'usage',
    summary: 'Runs, tokens and cost over time',
    description:
      'Runs count where they were made and where they ended, their tokens and their cost where they ended. `by=model` has tokens and cost only, where the step was taken: a run is of no model.',
    scope: 'runs:read',
    query: z.strictObject({
      from: timestamp
        .describe('Without it: 24 hours before `to`. Taken back to where its interval begins.')
        .optional(),
      to: timestamp.describe('Without it: now.').optional(),
      interval: usageInterval.describe('In UTC.').default('hour'),
      by: usageBy.default('none'),
    }),
    status: 200,
    response: usageReport,
    problems: ['too_many_intervals'],
  }),
  budgets: endpoint({
    method: 'GET',
    path: '/v1/budgets',
    tag: 'usage',
    summary: 'Budgets, with what is spent of each',
    scope: 'runs:read',
    status: 200,
    response: z.object({ data: z.array(budget) }),
  }),
  setBudget: endpoint({
    method: 'PUT',
    path: '/v1/budgets/{scope}/{scopeId}/{unit}',
    tag: 'usage',
    summary: 'Set a budget, or change one',
    description:
      'It holds for all runs of the project, the agent, the space or the session together, those under way too, and for the tasks that these give. What was spent before it was set does not count; what is spent stays when it is changed. Runs that wait for it look again.',
    scope: 'admin',
    params: budgetParams,
    body: z.strictObject({
      amount: z
        .number()
        .nonnegative()
        .max(MOST_BUDGET)
        .describe('Tokens, whole ones, or the unit of the prices. 0 lets nothing be spent.'),
      onExhausted: onExhausted.default('stop'),
    }),
    status: 200,
    response: budget,
    problems: ['amount_not_whole'],
  }),
  deleteBudget: endpoint({
    method: 'DELETE',
    path: '/v1/budgets/{scope}/{scopeId}/{unit}',
    tag: 'usage',
    summary: 'Delete a budget',
    description: 'Runs that wait for it go on.',
    scope: 'admin',
    params: budgetParams,
    status: 204,
  }),
} as const;
