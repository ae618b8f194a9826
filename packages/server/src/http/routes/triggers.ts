import { triggerEndpoints } from '@troupe/protocol';
import {
  applyTriggers,
  createTrigger,
  deleteTrigger,
  enableTrigger,
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
import type { Endpoints } from '../endpoint.ts';

/** Rules, and what became of what they told. */
export function triggerRoutes(endpoints: Endpoints): void {
  endpoints.serve(triggerEndpoints.create, ({ services, caller, body }) =>
    createTrigger(services.db, authorOf(caller), body),
  );
  endpoints.serve(triggerEndpoints.list, ({ services, caller, query }) =>
    listTriggers(services.db, caller.project, query),
  );
  endpoints.serve(triggerEndpoints.apply, async ({ services, caller, body }) => ({
    data: await applyTriggers(services.db, authorOf(caller), body),
  }));
  endpoints.serve(triggerEndpoints.testUnsaved, ({ services, caller, body }) =>
    testUnsaved(services.db, caller.project, body.trigger, body.limit),
  );
  endpoints.serve(triggerEndpoints.get, ({ services, caller, params }) =>
    getTrigger(services.db, caller.project, params.trigger),
  );
  endpoints.serve(triggerEndpoints.update, ({ services, caller, params, body }) =>
    updateTrigger(services.db, authorOf(caller), params.trigger, body),
  );
  endpoints.serve(triggerEndpoints.remove, async ({ services, caller, params }) => {
    await deleteTrigger(services.db, authorOf(caller), params.trigger);
    return undefined;
  });
  endpoints.serve(triggerEndpoints.enable, ({ services, caller, params }) =>
    enableTrigger(services.db, authorOf(caller), params.trigger),
  );
  endpoints.serve(triggerEndpoints.test, ({ services, caller, params, body }) =>
    testTrigger(services.db, caller.project, params.trigger, body.limit),
  );
  endpoints.serve(triggerEndpoints.deliveries, ({ services, caller, query }) =>
    listDeliveries(services.db, caller.project, query),
  );
  endpoints.serve(triggerEndpoints.redeliverMany, async ({ services, caller, body }) => ({
    redelivered: await redeliverMany(services.db, authorOf(caller), body),
  }));
  endpoints.serve(triggerEndpoints.delivery, ({ services, caller, params }) =>
    getDelivery(services.db, caller.project, params.deliveryId),
  );
  endpoints.serve(triggerEndpoints.redeliver, ({ services, caller, params }) =>
    redeliverOne(services.db, authorOf(caller), params.deliveryId),
  );
}
