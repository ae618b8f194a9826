import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';
import { presentSecret } from '../present/access.ts';
import { presentPage } from '../present/page.ts';

/** Values go in and never come out. */
export function secretRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.listSecrets, async ({ caller, query, services }) =>
    presentPage(await services.access.secrets.list(caller, query), presentSecret),
  );
  endpoints.serve(accessEndpoints.putSecret, async ({ caller, params, body, services }) =>
    presentSecret(await services.access.secrets.put(caller, params.name, body.value)),
  );
  endpoints.serve(accessEndpoints.deleteSecret, async ({ caller, params, services }) => {
    await services.access.secrets.delete(caller, params.name);
    return undefined;
  });
}
