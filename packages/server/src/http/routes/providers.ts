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

export function providerRoutes(endpoints: Endpoints): void {
  endpoints.serve(modelEndpoints.createProvider, ({ services, caller, body }) =>
    createProvider(services.db, authorOf(caller), services, body),
  );
  endpoints.serve(modelEndpoints.listProviders, ({ services, caller, query }) =>
    listProviders(services.db, caller.project, services, query),
  );
  endpoints.serve(modelEndpoints.getProvider, ({ services, caller, params }) =>
    getProvider(services.db, caller.project, services, params.providerId),
  );
  endpoints.serve(modelEndpoints.updateProvider, ({ services, caller, params, body }) =>
    updateProvider(services.db, authorOf(caller), services, { id: params.providerId, patch: body }),
  );
  endpoints.serve(modelEndpoints.deleteProvider, async ({ services, caller, params }) => {
    await deleteProvider(services.db, authorOf(caller), params.providerId);
    return undefined;
  });
}
