import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';

export function keyRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.createKey, ({ caller, body, services }) =>
    services.access.keys.create(caller, body),
  );
  endpoints.serve(accessEndpoints.listKeys, ({ caller, query, services }) =>
    services.access.keys.list(caller, query),
  );
  endpoints.serve(accessEndpoints.revokeKey, async ({ caller, params, services }) => {
    await services.access.keys.revoke(caller, params.keyId);
    return undefined;
  });
}
