import { entityEndpoints } from '@troupe/protocol';
import { getErasure, requestErasure } from '../../lifecycle/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentEntity, presentErasure } from '../present/access.ts';
import { presentPage } from '../present/page.ts';

export function entityRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    entityEndpoints.create,
    async ({ services, caller, body, id }) =>
      presentEntity(await services.access.entities.create(caller, { ...body, id })),
    {
      again: async ({ services, caller }, { target }) =>
        presentEntity(await services.access.entities.get(caller, target)),
    },
  );
  endpoints.serve(entityEndpoints.list, async ({ services, caller, query }) =>
    presentPage(await services.access.entities.list(caller, query), presentEntity),
  );
  endpoints.serve(entityEndpoints.get, async ({ services, caller, params }) =>
    presentEntity(await services.access.entities.get(caller, params.entityId)),
  );
  endpoints.serve(entityEndpoints.me, async ({ services, caller }) =>
    presentEntity(await services.access.entities.me(caller)),
  );
  endpoints.serve(entityEndpoints.update, async ({ services, caller, params, body }) =>
    presentEntity(await services.access.entities.update(caller, params.entityId, body)),
  );
  endpoints.serve(entityEndpoints.remove, async ({ services, caller, params }) => {
    await services.access.entities.remove(caller, params.entityId);
    return undefined;
  });
  endpoints.serve(entityEndpoints.erase, async ({ services, caller, params }) => {
    const erasure = await requestErasure(services.db, authorOf(caller), params.entityId);
    services.access.forgetPeople();
    return presentErasure(erasure);
  });
  endpoints.serve(entityEndpoints.erasure, async ({ services, caller, params }) =>
    presentErasure(await getErasure(services.db, caller.project, params.entityId)),
  );
}
