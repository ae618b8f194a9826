import { clientEndpoints } from '@troupe/protocol';
import { deleteClient, listClients, registerClient, touchClient } from '../../access/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentClient } from '../present/access.ts';
import { presentPage } from '../present/page.ts';

export function clientRoutes(endpoints: Endpoints): void {
  endpoints.serve(clientEndpoints.register, async ({ services, caller, body }) =>
    presentClient(await registerClient(services.db, caller, body)),
  );
  endpoints.serve(clientEndpoints.list, async ({ services, caller, query }) =>
    presentPage(await listClients(services.db, caller, query), presentClient),
  );
  endpoints.serve(clientEndpoints.seen, async ({ services, caller, params }) =>
    presentClient(await touchClient(services.db, caller, params.clientId)),
  );
  endpoints.serve(clientEndpoints.remove, async ({ services, caller, params }) => {
    await deleteClient(services.db, caller, params.clientId);
    return undefined;
  });
}
