import { type Endpoint, networkEndpoints } from '@troupe/protocol';
import {
  archiveNetwork,
  diffVersionsOfNetwork,
  exportNetwork,
  getVersionOfNetwork,
  importNetwork,
  listVersionsOfNetwork,
  publishNetwork,
  rollBackNetwork,
  validateNetwork,
} from '../../definitions/networks/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { presentNetwork, presentNetworkVersion, presentWholeNetworkVersion } from '../present/network.ts';
import { presentPage } from '../present/page.ts';
import { againNetwork } from './networks.ts';

export function networkVersionRoutes(endpoints: Endpoints): void {
  endpoints.serve(networkEndpoints.validate, ({ services, caller, params }) =>
    validateNetwork(services.db, caller.project, params.network),
  );
  endpoints.serve(
    networkEndpoints.publish,
    async ({ services, caller, params, body }) => {
      const { created, ...row } = await publishNetwork(services.db, authorOf(caller), params.network, body);
      return { ...presentNetworkVersion(row), created };
    },
    { again: async (call, effect) => ({ ...(await againVersion(call, effect)), created: true }) },
  );
  endpoints.serve(networkEndpoints.versions, async ({ services, caller, params, query }) =>
    presentPage(
      await listVersionsOfNetwork(services.db, caller.project, params.network, query),
      presentNetworkVersion,
    ),
  );
  endpoints.serve(networkEndpoints.version, async ({ services, caller, params }) =>
    presentWholeNetworkVersion(
      await getVersionOfNetwork(services.db, caller.project, params.network, params.version),
    ),
  );
  endpoints.serve(networkEndpoints.diff, ({ services, caller, params, query }) =>
    diffVersionsOfNetwork(services.db, caller.project, params.network, query),
  );
  endpoints.serve(
    networkEndpoints.rollback,
    async ({ services, caller, params, body }) =>
      presentNetworkVersion(
        await rollBackNetwork(services.db, authorOf(caller), params.network, body.version),
      ),
    { again: againVersion },
  );
  endpoints.serve(
    networkEndpoints.archive,
    async ({ services, caller, params, body }) =>
      presentNetwork(await archiveNetwork(services.db, authorOf(caller), params.network, body.archived)),
    { again: againNetwork },
  );
  endpoints.serve(networkEndpoints.export, ({ services, caller, params }) =>
    exportNetwork(services.db, caller.project, params.network, params.version),
  );
  endpoints.serve(
    networkEndpoints.import,
    async ({ services, caller, body }) =>
      presentNetwork(await importNetwork(services.db, authorOf(caller), body)),
    { again: againNetwork },
  );
}

/** The version that was published or made the current one, as it is now. */
async function againVersion(
  { services, caller }: Call<Endpoint>,
  { target, version }: { target: string; version?: number },
) {
  return presentNetworkVersion(await getVersionOfNetwork(services.db, caller.project, target, version!));
}
