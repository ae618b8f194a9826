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

export function networkVersionRoutes(endpoints: Endpoints): void {
  endpoints.serve(networkEndpoints.validate, ({ services, caller, params }) =>
    validateNetwork(services.db, caller.project, params.network),
  );
  endpoints.serve(networkEndpoints.publish, ({ services, caller, params, body }) =>
    publishNetwork(services.db, authorOf(caller), params.network, body),
  );
  endpoints.serve(networkEndpoints.versions, ({ services, caller, params, query }) =>
    listVersionsOfNetwork(services.db, caller.project, params.network, query),
  );
  endpoints.serve(networkEndpoints.version, ({ services, caller, params }) =>
    getVersionOfNetwork(services.db, caller.project, params.network, params.version),
  );
  endpoints.serve(networkEndpoints.diff, ({ services, caller, params, query }) =>
    diffVersionsOfNetwork(services.db, caller.project, params.network, query),
  );
  endpoints.serve(networkEndpoints.rollback, ({ services, caller, params, body }) =>
    rollBackNetwork(services.db, authorOf(caller), params.network, body.version),
  );
  endpoints.serve(networkEndpoints.archive, ({ services, caller, params, body }) =>
    archiveNetwork(services.db, authorOf(caller), params.network, body.archived),
  );
  endpoints.serve(networkEndpoints.export, ({ services, caller, params }) =>
    exportNetwork(services.db, caller.project, params.network, params.version),
  );
  endpoints.serve(networkEndpoints.import, ({ services, caller, body }) =>
    importNetwork(services.db, authorOf(caller), body),
  );
}
