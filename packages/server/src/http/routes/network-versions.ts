import { networkEndpoints } from '@troupe/protocol';
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
import type { Endpoints } from '../endpoint.ts';
import { presentNetwork, presentNetworkVersion, presentWholeNetworkVersion } from '../present/network.ts';
import { presentPage } from '../present/page.ts';

export function networkVersionRoutes(endpoints: Endpoints): void {
  endpoints.serve(networkEndpoints.validate, ({ services, caller, params }) =>
    validateNetwork(services.db, caller.project, params.network),
  );
  endpoints.serve(networkEndpoints.publish, async ({ services, caller, params, body }) => {
    const { created, ...row } = await publishNetwork(services.db, authorOf(caller), params.network, body);
    return { ...presentNetworkVersion(row), created };
  });
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
  endpoints.serve(networkEndpoints.rollback, async ({ services, caller, params, body }) =>
    presentNetworkVersion(await rollBackNetwork(services.db, authorOf(caller), params.network, body.version)),
  );
  endpoints.serve(networkEndpoints.archive, async ({ services, caller, params, body }) =>
    presentNetwork(await archiveNetwork(services.db, authorOf(caller), params.network, body.archived)),
  );
  endpoints.serve(networkEndpoints.export, ({ services, caller, params }) =>
    exportNetwork(services.db, caller.project, params.network, params.version),
  );
  endpoints.serve(networkEndpoints.import, async ({ services, caller, body }) =>
    presentNetwork(await importNetwork(services.db, authorOf(caller), body)),
  );
}
