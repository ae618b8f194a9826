import { goalEndpoints } from '@troupe/protocol';
import { createGoal, deleteGoal, listGoals, updateGoal } from '../../memories/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { keptAsked } from './memories.ts';

export function goalRoutes(endpoints: Endpoints): void {
  endpoints.serve(goalEndpoints.list, ({ services, caller, params, query: { user, ...query } }) =>
    listGoals(services.db, keptAsked(caller, params.agentId, user), query),
  );
  endpoints.serve(goalEndpoints.create, ({ services, caller, params, query, body }) =>
    createGoal(services.db, keptAsked(caller, params.agentId, query.user), body),
  );
  endpoints.serve(goalEndpoints.update, ({ services, caller, params, query, body }) =>
    updateGoal(services.db, keptAsked(caller, params.agentId, query.user), params.goalId, body),
  );
  endpoints.serve(goalEndpoints.remove, async ({ services, caller, params, query }) => {
    await deleteGoal(services.db, keptAsked(caller, params.agentId, query.user), params.goalId);
    return undefined;
  });
}
