import { networkEndpoints } from '@troupe/protocol';
import { checkInstruction, invokeNetwork, listNetworkRuns, promptOf } from '../../doors/networks/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { fromCursor, pageOf } from '../present/cursor.ts';
import { presentNetworkRun } from '../present/network-run.ts';

/** Running networks, and asking what they would do; editing them is in networks.ts. */
export function networkRunRoutes(endpoints: Endpoints): void {
  endpoints.serve(networkEndpoints.invoke, async ({ services, caller, params, body }) =>
    presentNetworkRun(await invokeNetwork(services, caller.project, params.network, body)),
  );
  endpoints.serve(networkEndpoints.runs, async ({ services, caller, params, query }) => {
    const { limit, cursor } = query;
    const asked = { before: fromCursor(cursor), limit: limit + 1 };
    return pageOf(
      await listNetworkRuns(services, caller.project, params.network, asked),
      limit,
      presentNetworkRun,
    );
  });
  endpoints.serve(networkEndpoints.check, ({ services, caller, params, body }) =>
    checkInstruction(services.db, caller.project, params.network, body),
  );
  endpoints.serve(networkEndpoints.prompt, async ({ services, caller, params, body }) => {
    const { messages, ...told } = await promptOf(services.db, caller.project, params.network, body);
    return { ...told, messages: messages.map((message) => ({ ...message })) as never };
  });
}
