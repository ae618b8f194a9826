import { planEndpoints, serviceEndpoints } from '@troupe/protocol';
import { triggerAgent } from '../../doors/spaces/index.ts';
import { cancelPlan, createPlan, deletePlan, getPlan, listPlans, updatePlan } from '../../plans/index.ts';
import { getRun } from '../../runs/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import { presentPlan } from '../present/plan.ts';

/** What begins runs that no message began: plans, and services. */
export function planRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    planEndpoints.create,
    async ({ services, caller, params, body }) =>
      presentPlan(await createPlan(services.db, authorOf(caller), params.agentId, body)),
    { again },
  );
  endpoints.serve(planEndpoints.list, async ({ services, caller, params, query }) =>
    presentPage(await listPlans(services.db, caller.project, params.agentId, query), presentPlan),
  );
  endpoints.serve(planEndpoints.listAll, async ({ services, caller, query }) =>
    presentPage(await listPlans(services.db, caller.project, null, query), presentPlan),
  );
  endpoints.serve(planEndpoints.get, async ({ services, caller, params }) =>
    presentPlan(await getPlan(services.db, caller.project, params)),
  );
  endpoints.serve(planEndpoints.update, async ({ services, caller, params, body }) =>
    presentPlan(await updatePlan(services.db, authorOf(caller), params, body)),
  );
  endpoints.serve(
    planEndpoints.cancel,
    async ({ services, caller, params }) =>
      presentPlan(await cancelPlan(services.db, authorOf(caller), params)),
    { again },
  );
  endpoints.serve(planEndpoints.remove, async ({ services, caller, params }) => {
    await deletePlan(services.db, authorOf(caller), params);
    return undefined;
  });
  endpoints.serve(
    serviceEndpoints.trigger,
    ({ services, caller, params, body, id }) =>
      triggerAgent(services, caller.project, params.agentId, { ...body, id }),
    {
      again: async ({ services, caller }, { target }) => {
        const { id: runId, entityId } = await getRun(services, caller, target);
        return { runId, agentEntityId: entityId!, status: 'queued' as const };
      },
    },
  );
}

/** The plan that was created or canceled, as it is now. */
async function again(
  { services, caller, params }: Call<typeof planEndpoints.create | typeof planEndpoints.cancel>,
  { target: planId }: { target: string },
) {
  return presentPlan(await getPlan(services.db, caller.project, { agentId: params.agentId, planId }));
}
