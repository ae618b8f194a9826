import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';

/** Values go in and never come out. */
export function secretRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.listSecrets, ({ caller, query, services }) =>
    services.access.secrets.list(caller, query),
  );
  endpoints.serve(accessEndpoints.putSecret, ({ caller, params, body, services }) =>
    services.access.secrets.put(caller, params.name, body.value),
  );
  endpoints.serve(accessEndpoints.deleteSecret, async ({ caller, params, services }) => {
    await services.access.secrets.delete(caller, params.name);
    return undefined;
  });
}
