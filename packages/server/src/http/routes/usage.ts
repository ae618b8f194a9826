import { usageEndpoints } from '@troupe/protocol';
import { readUsage } from '../../overview/index.ts';
import { listBudgets } from '../../store/index.ts';
import type { Endpoints } from '../endpoint.ts';

const MILLIONTHS = 1_000_000;

export function usageRoutes(endpoints: Endpoints): void {
  endpoints.serve(usageEndpoints.read, ({ services, caller, query }) =>
    readUsage(services.db, caller.project, query),
  );
  endpoints.serve(usageEndpoints.budgets, async ({ services, caller }) => {
    const budgets = await listBudgets(services.db, caller.project);
    const inUnits = (unit: string, amount: number) => (unit === 'cost' ? amount / MILLIONTHS : amount);
    return {
      data: budgets.map(({ amount, spent, reserved, ...budget }) => ({
        ...budget,
        amount: inUnits(budget.unit, amount),
        spent: inUnits(budget.unit, spent),
        reserved: inUnits(budget.unit, reserved),
      })),
    };
  });
}
