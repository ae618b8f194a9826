import { planEndpoints, serviceEndpoints } from '@troupe/protocol';
import { triggerAgent } from '../../doors/spaces/index.ts';
import { cancelPlan, createPlan, deletePlan, getPlan, listPlans, updatePlan } from '../../plans/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';

/** What begins runs that no message began: plans, and services. */
export function planRoutes(endpoints: Endpoints): void {
  endpoints.serve(planEndpoints.create, ({ services, caller, params, body }) =>
    createPlan(services.db, authorOf(caller), params.agentId, body),
  );
  endpoints.serve(planEndpoints.list, ({ services, caller, params, query }) =>
    listPlans(services.db, caller.project, params.agentId, query),
  );
  endpoints.serve(planEndpoints.listAll, ({ services, caller, query }) =>
    listPlans(services.db, caller.project, null, query),
  );
  endpoints.serve(planEndpoints.get, ({ services, caller, params }) =>
    getPlan(services.db, caller.project, params),
  );
  endpoints.serve(planEndpoints.update, ({ services, caller, params, body }) =>
    updatePlan(services.db, authorOf(caller), params, body),
  );
  endpoints.serve(planEndpoints.cancel, ({ services, caller, params }) =>
    cancelPlan(services.db, authorOf(caller), params),
  );
  endpoints.serve(planEndpoints.remove, async ({ services, caller, params }) => {
    await deletePlan(services.db, authorOf(caller), params);
    return undefined;
  });
  endpoints.serve(serviceEndpoints.trigger, ({ services, caller, params, body }) =>
    triggerAgent(services, caller.project, params.agentId, body),
  );
}
