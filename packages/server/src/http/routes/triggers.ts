import { type Endpoint, type Trigger, triggerEndpoints } from '@troupe/protocol';
import type { Caller } from '../../access/index.ts';
import {
  applyTriggers,
  createTrigger,
  deleteTrigger,
  enableTrigger,
  findingsOf,
  getDelivery,
  getTrigger,
  listDeliveries,
  listTriggers,
  redeliverMany,
  redeliverOne,
  testTrigger,
  testUnsaved,
  updateTrigger,
} from '../../triggers/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import { presentDelivery, presentDeliveryDetails, presentTrigger } from '../present/trigger.ts';
import type { Services } from '../services.ts';

/** Rules, and what became of what they told. */
export function triggerRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    triggerEndpoints.create,
    async ({ services, caller, body }) =>
      presented(services, caller, await createTrigger(services.db, authorOf(caller), body)),
    { again },
  );
  endpoints.serve(triggerEndpoints.list, async ({ services, caller, query }) => {
    const page = await listTriggers(services.db, caller.project, query);
    const findings = await findingsOf(services.db, caller.project, page.data);
    const data = page.data.map((row, at) => ({ row, findings: findings[at]! }));
    return presentPage({ ...page, data }, (one) => presentTrigger(one.row, one.findings));
  });
  endpoints.serve(triggerEndpoints.apply, async ({ services, caller, body }) => ({
    data: await applyTriggers(services.db, authorOf(caller), body),
  }));
  endpoints.serve(triggerEndpoints.testUnsaved, ({ services, caller, body }) =>
    testUnsaved(services.db, caller.project, body.trigger, body.limit),
  );
  endpoints.serve(triggerEndpoints.get, async ({ services, caller, params }) =>
    presented(services, caller, await getTrigger(services.db, caller.project, params.trigger)),
  );
  endpoints.serve(triggerEndpoints.update, async ({ services, caller, params, body }) =>
    presented(services, caller, await updateTrigger(services.db, authorOf(caller), params.trigger, body)),
  );
  endpoints.serve(triggerEndpoints.remove, async ({ services, caller, params }) => {
    await deleteTrigger(services.db, authorOf(caller), params.trigger);
    return undefined;
  });
  endpoints.serve(
    triggerEndpoints.enable,
    async ({ services, caller, params }) =>
      presented(services, caller, await enableTrigger(services.db, authorOf(caller), params.trigger)),
    { again },
  );
  endpoints.serve(triggerEndpoints.test, ({ services, caller, params, body }) =>
    testTrigger(services.db, caller.project, params.trigger, body.limit),
  );
  endpoints.serve(triggerEndpoints.deliveries, async ({ services, caller, query }) =>
    presentPage(await listDeliveries(services.db, caller.project, query), presentDelivery),
  );
  endpoints.serve(
    triggerEndpoints.redeliverMany,
    async ({ services, caller, body }) => ({
      redelivered: await redeliverMany(services.db, authorOf(caller), body),
    }),
    { again: async (_, { count }) => ({ redelivered: count! }) },
  );
  endpoints.serve(triggerEndpoints.delivery, async ({ services, caller, params }) =>
    presentDeliveryDetails(await getDelivery(services.db, caller.project, params.deliveryId)),
  );
  endpoints.serve(
    triggerEndpoints.redeliver,
    async ({ services, caller, params }) =>
      presentDelivery(await redeliverOne(services.db, authorOf(caller), params.deliveryId)),
    {
      again: async ({ services, caller }, { target }) => {
        const { before, document, log, ...row } = await getDelivery(services.db, caller.project, target);
        return presentDelivery(row);
      },
    },
  );
}

/** The trigger that was created or enabled, as it is now. */
async function again({ services, caller }: Call<Endpoint>, { target }: { target: string }) {
  return presented(services, caller, await getTrigger(services.db, caller.project, target));
}

async function presented(
  { db }: Services,
  { project }: Caller,
  row: Parameters<typeof presentTrigger>[0],
): Promise<Trigger> {
  const [findings] = await findingsOf(db, project, [row]);
  return presentTrigger(row, findings!);
}
