import { networkEndpoints } from '@troupe/protocol';
import {
  addNetworkAgent,
  applyDefinition,
  copyNetwork,
  createNetwork,
  getDefinition,
  getGraph,
  getNetwork,
  listNetworkAgents,
  listNetworks,
  listNetworkTools,
  removeNetwork,
  removeNetworkAgent,
  setNetworkTools,
  updateNetwork,
  updateNetworkAgent,
} from '../../definitions/networks/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';

export function networkRoutes(endpoints: Endpoints): void {
  endpoints.serve(networkEndpoints.create, ({ services, caller, body }) =>
    createNetwork(services.db, authorOf(caller), body),
  );
  endpoints.serve(networkEndpoints.list, ({ services, caller, query }) =>
    listNetworks(services.db, caller.project, query),
  );
  endpoints.serve(networkEndpoints.get, ({ services, caller, params }) =>
    getNetwork(services.db, caller.project, params.network),
  );
  endpoints.serve(networkEndpoints.update, ({ services, caller, params, body }) =>
    updateNetwork(services.db, authorOf(caller), params.network, body),
  );
  endpoints.serve(networkEndpoints.remove, async ({ services, caller, params }) => {
    await removeNetwork(services.db, authorOf(caller), params.network);
    return undefined;
  });
  endpoints.serve(networkEndpoints.definition, ({ services, caller, params, query }) =>
    getDefinition(services.db, caller.project, params.network, { names: query.names === 'true' }),
  );
  endpoints.serve(networkEndpoints.apply, ({ services, caller, params, query, body }) =>
    applyDefinition(services.db, authorOf(caller), {
      idOrName: params.network,
      definition: body,
      dryRun: query.dryRun === 'true',
      updatedAt: query.updatedAt,
      against: query.against,
    }),
  );
  endpoints.serve(networkEndpoints.copy, ({ services, caller, params, body }) =>
    copyNetwork(services.db, authorOf(caller), params.network, body.name),
  );
  endpoints.serve(networkEndpoints.graph, ({ services, caller, params }) =>
    getGraph(services.db, caller.project, params.network),
  );
  endpoints.serve(networkEndpoints.addAgent, ({ services, caller, params, body }) =>
    addNetworkAgent(services.db, authorOf(caller), params.network, body),
  );
  endpoints.serve(networkEndpoints.agents, ({ services, caller, params }) =>
    listNetworkAgents(services.db, caller.project, params.network),
  );
  endpoints.serve(networkEndpoints.updateAgent, ({ services, caller, params, body }) =>
    updateNetworkAgent(services.db, authorOf(caller), params, body),
  );
  endpoints.serve(networkEndpoints.removeAgent, async ({ services, caller, params }) => {
    await removeNetworkAgent(services.db, authorOf(caller), params);
    return undefined;
  });
  endpoints.serve(networkEndpoints.setAgentTools, ({ services, caller, params, body }) =>
    updateNetworkAgent(services.db, authorOf(caller), params, body),
  );
  endpoints.serve(networkEndpoints.setAgentRoutes, ({ services, caller, params, body }) =>
    updateNetworkAgent(services.db, authorOf(caller), params, body),
  );
  endpoints.serve(networkEndpoints.tools, ({ services, caller, params }) =>
    listNetworkTools(services.db, caller.project, params.network),
  );
  endpoints.serve(networkEndpoints.setTools, ({ services, caller, params, body }) =>
    setNetworkTools(services.db, authorOf(caller), params.network, body.tools),
  );
}
