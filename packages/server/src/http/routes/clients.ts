import { clientEndpoints } from '@troupe/protocol';
import { deleteClient, listClients, registerClient, touchClient } from '../../access/index.ts';
import type { Endpoints } from '../endpoint.ts';

export function clientRoutes(endpoints: Endpoints): void {
  endpoints.serve(clientEndpoints.register, ({ services, caller, body }) =>
    registerClient(services.db, caller, body),
  );
  endpoints.serve(clientEndpoints.list, ({ services, caller, query }) =>
    listClients(services.db, caller, query),
  );
  endpoints.serve(clientEndpoints.seen, ({ services, caller, params }) =>
    touchClient(services.db, caller, params.clientId),
  );
  endpoints.serve(clientEndpoints.remove, async ({ services, caller, params }) => {
    await deleteClient(services.db, caller, params.clientId);
    return undefined;
  });
}
