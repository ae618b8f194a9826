import { modelEndpoints } from '@troupe/protocol';
import {
  createProvider,
  deleteProvider,
  getProvider,
  listProviders,
  updateProvider,
} from '../../definitions/models/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentProvider } from '../present/model.ts';
import { presentPage } from '../present/page.ts';

export function providerRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    modelEndpoints.createProvider,
    async ({ services, caller, body }) =>
      presentProvider(await createProvider(services.db, authorOf(caller), services, body), services),
    {
      again: async ({ services, caller }, { target }) =>
        presentProvider(await getProvider(services.db, caller.project, target), services),
    },
  );
  endpoints.serve(modelEndpoints.listProviders, async ({ services, caller, query }) =>
    presentPage(await listProviders(services.db, caller.project, query), (row) =>
      presentProvider(row, services),
    ),
  );
  endpoints.serve(modelEndpoints.getProvider, async ({ services, caller, params }) =>
    presentProvider(await getProvider(services.db, caller.project, params.providerId), services),
  );
  endpoints.serve(modelEndpoints.updateProvider, async ({ services, caller, params, body }) => {
    const change = { id: params.providerId, patch: body };
    return presentProvider(await updateProvider(services.db, authorOf(caller), services, change), services);
  });
  endpoints.serve(modelEndpoints.deleteProvider, async ({ services, caller, params }) => {
    await deleteProvider(services.db, authorOf(caller), params.providerId);
    return undefined;
  });
}
