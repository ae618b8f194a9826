import { accessEndpoints } from '@troupe/protocol';
import type { Endpoints } from '../endpoint.ts';
import { presentKey } from '../present/access.ts';
import { presentPage } from '../present/page.ts';

export function keyRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    accessEndpoints.createKey,
    async ({ caller, body, services }) => {
      const { key, ...row } = await services.access.keys.create(caller, body);
      return { ...presentKey(row), key };
    },
    {
      again: async ({ caller, services }, { target }) => {
        const { key, ...row } = await services.access.keys.reissue(caller, target);
        return { ...presentKey(row), key };
      },
    },
  );
  endpoints.serve(accessEndpoints.listKeys, async ({ caller, query, services }) =>
    presentPage(await services.access.keys.list(caller, query), presentKey),
  );
  endpoints.serve(accessEndpoints.revokeKey, async ({ caller, params, services }) => {
    await services.access.keys.revoke(caller, params.keyId);
    return undefined;
  });
}
