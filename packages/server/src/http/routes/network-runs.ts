import { networkEndpoints } from '@troupe/protocol';
import { checkInstruction, invokeNetwork, listNetworkRuns, promptOf } from '../../doors/networks/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { fromCursor, pageOf } from '../present/cursor.ts';
import { presentNetworkRun } from '../present/network-run.ts';
import { traceparentIn } from '../traceparent.ts';

/** A request with a key that is not answered within a minute counts as lost: sent again, it would start another run. */
const LONGEST_ONCE_MS = 50_000;

/** Running networks, and asking what they would do; editing them is in networks.ts. */
export function networkRunRoutes(endpoints: Endpoints): void {
  endpoints.serve(networkEndpoints.invoke, async ({ services, caller, params, body, context }) => {
    const once = context.req.header('idempotency-key') !== undefined;
    const timeoutMs = once ? Math.min(body.timeoutMs, LONGEST_ONCE_MS) : body.timeoutMs;
    const metadata = { ...body.metadata, ...traceparentIn(context) };
    const invocation = { ...body, timeoutMs, metadata };
    const run = await invokeNetwork(services, caller.project, params.network, invocation);
    return presentNetworkRun(run);
  });
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
