import { entityEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';

export function entityRoutes(endpoints: Endpoints): void {
  endpoints.serve(entityEndpoints.create, ({ services, caller, body }) =>
    services.access.entities.create(caller, body),
  );
  endpoints.serve(entityEndpoints.list, ({ services, caller, query }) =>
    services.access.entities.list(caller, query),
  );
  endpoints.serve(entityEndpoints.get, ({ services, caller, params }) =>
    services.access.entities.get(caller, params.entityId),
  );
  endpoints.serve(entityEndpoints.me, ({ services, caller }) => services.access.entities.me(caller));
  endpoints.serve(entityEndpoints.update, ({ services, caller, params, body }) =>
    services.access.entities.update(caller, params.entityId, body),
  );
  endpoints.serve(entityEndpoints.remove, async ({ services, caller, params }) => {
    await services.access.entities.remove(caller, params.entityId);
    return undefined;
  });
}
