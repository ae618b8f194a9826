import { goalEndpoints } from '@troupe/protocol';
import { createGoal, deleteGoal, getGoal, listGoals, updateGoal } from '../../memories/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentGoal } from '../present/memory.ts';
import { presentPage } from '../present/page.ts';
import { keptAsked } from './memories.ts';

export function goalRoutes(endpoints: Endpoints): void {
  endpoints.serve(goalEndpoints.list, async ({ services, caller, params, query: { user, ...query } }) =>
    presentPage(await listGoals(services.db, keptAsked(caller, params.agentId, user), query), presentGoal),
  );
  endpoints.serve(
    goalEndpoints.create,
    async ({ services, caller, params, query, body }) =>
      presentGoal(await createGoal(services.db, keptAsked(caller, params.agentId, query.user), body)),
    {
      again: async ({ services, caller, params, query }, { target }) =>
        presentGoal(await getGoal(services.db, keptAsked(caller, params.agentId, query.user), target)),
    },
  );
  endpoints.serve(goalEndpoints.update, async ({ services, caller, params, query, body }) =>
    presentGoal(
      await updateGoal(services.db, keptAsked(caller, params.agentId, query.user), params.goalId, body),
    ),
  );
  endpoints.serve(goalEndpoints.remove, async ({ services, caller, params, query }) => {
    await deleteGoal(services.db, keptAsked(caller, params.agentId, query.user), params.goalId);
    return undefined;
  });
}
