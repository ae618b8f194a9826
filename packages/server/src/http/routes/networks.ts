import { type Endpoint, networkEndpoints } from '@troupe/protocol';
import {
  addNetworkAgent,
  applyDefinition,
  copyNetwork,
  createNetwork,
  getDefinition,
  getGraph,
  getNetwork,
  getNetworkAgent,
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
import type { Call, Endpoints } from '../endpoint.ts';
import { presentNetwork } from '../present/network.ts';
import { presentPage } from '../present/page.ts';

/** The network that was created or changed, as it is now. */
export async function againNetwork({ services, caller }: Call<Endpoint>, { target }: { target: string }) {
  return presentNetwork(await getNetwork(services.db, caller.project, target));
}

export function networkRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    networkEndpoints.create,
    async ({ services, caller, body }) =>
      presentNetwork(await createNetwork(services.db, authorOf(caller), body)),
    { again: againNetwork },
  );
  endpoints.serve(networkEndpoints.list, async ({ services, caller, query }) =>
    presentPage(await listNetworks(services.db, caller.project, query), presentNetwork),
  );
  endpoints.serve(networkEndpoints.get, async ({ services, caller, params }) =>
    presentNetwork(await getNetwork(services.db, caller.project, params.network)),
  );
  endpoints.serve(networkEndpoints.update, async ({ services, caller, params, body }) =>
    presentNetwork(await updateNetwork(services.db, authorOf(caller), params.network, body)),
  );
  endpoints.serve(networkEndpoints.remove, async ({ services, caller, params }) => {
    await removeNetwork(services.db, authorOf(caller), params.network);
    return undefined;
  });
  endpoints.serve(networkEndpoints.definition, ({ services, caller, params, query }) =>
    getDefinition(services.db, caller.project, params.network, { names: query.names === 'true' }),
  );
  endpoints.serve(networkEndpoints.apply, async ({ services, caller, params, query, body }) => {
    const { network, ...applied } = await applyDefinition(services.db, authorOf(caller), {
      idOrName: params.network,
      definition: body,
      dryRun: query.dryRun === 'true',
      updatedAt: query.updatedAt,
      against: query.against,
    });
    return { network: network && presentNetwork(network), ...applied };
  });
  endpoints.serve(
    networkEndpoints.copy,
    async ({ services, caller, params, body }) =>
      presentNetwork(await copyNetwork(services.db, authorOf(caller), params.network, body.name)),
    { again: againNetwork },
  );
  endpoints.serve(networkEndpoints.graph, async ({ services, caller, params }) => {
    const { network, ...graph } = await getGraph(services.db, caller.project, params.network);
    return { network: presentNetwork(network), ...graph };
  });
  endpoints.serve(
    networkEndpoints.addAgent,
    ({ services, caller, params, body }) =>
      addNetworkAgent(services.db, authorOf(caller), params.network, body),
    {
      again: ({ services, caller, body }, { target }) =>
        getNetworkAgent(services.db, caller.project, { network: target, key: body.key }),
    },
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
