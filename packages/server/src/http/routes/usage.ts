import { usageEndpoints } from '@troupe/protocol';
import { putBudget, readBudgets, readUsage, removeBudget } from '../../overview/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentBudget } from '../present/budget.ts';

export function usageRoutes(endpoints: Endpoints): void {
  endpoints.serve(usageEndpoints.read, ({ services, caller, query }) =>
    readUsage(services.db, caller.project, query),
  );
  endpoints.serve(usageEndpoints.budgets, async ({ services, caller }) => ({
    data: (await readBudgets(services.db, caller.project)).map(presentBudget),
  }));
  endpoints.serve(usageEndpoints.setBudget, async ({ services, caller, params, body }) =>
    presentBudget(await putBudget(services.db, services.kernel, authorOf(caller), params, body)),
  );
  endpoints.serve(usageEndpoints.deleteBudget, async ({ services, caller, params }) => {
    await removeBudget(services.db, services.kernel, authorOf(caller), params);
    return undefined;
  });
}
