import { type Invoked, networkEndpoints, type RunStatus } from '@troupe/protocol';
import { authorize } from '../../access/index.ts';
import { type IdRange, notFound, readPageById } from '../../base/index.ts';
import {
  checkInstruction,
  getNetworkRun,
  invokedRun,
  invokeNetwork,
  listNetworkRuns,
  promptOf,
  waitForNetworkRun,
} from '../../doors/networks/index.ts';
import { findRunLog } from '../../store/index.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { lastEventId, streamAnswer, wantsStream } from '../event-stream.ts';
import { presentNetworkRun } from '../present/network-run.ts';
import { presentPage } from '../present/page.ts';
import { traceparentIn } from '../traceparent.ts';

/** A repeat is told that the request is under way for this long at most. */
const LONGEST_ONCE_MS = 50_000;

/** Running networks, and asking what they would do; editing them is in networks.ts. */
export function networkRunRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    networkEndpoints.invoke,
    async (call) => {
      const { services, caller, params, body, context } = call;
      // Refused before anything is done.
      lastEventId(context);
      const metadata = { ...body.metadata, ...traceparentIn(context) };
      const asked = { ...body, ...waiting(call), metadata };
      return presentNetworkRun(await invokeNetwork(services, caller.project, params.network, asked));
    },
    {
      again: async (call) =>
        presentNetworkRun(await invokedRun(call.services, call.caller.project, waiting(call))),
      instead: async (call, answer) => (isFollowed(call) ? followed(call, answer) : answer),
    },
  );
  endpoints.serve(networkEndpoints.runs, async ({ services, caller, params, query }) => {
    const list = (range: IdRange) => listNetworkRuns(services, caller.project, params.network, range);
    return presentPage(await readPageById(query, list), presentNetworkRun);
  });
  endpoints.serve(networkEndpoints.run, async ({ services, caller, params, query }) => {
    const asked = { run: params.runId, waitMs: query.waitMs };
    return presentNetworkRun(await waitForNetworkRun(services, caller.project, params.network, asked));
  });
  endpoints.serve(networkEndpoints.check, ({ services, caller, params, body }) =>
    checkInstruction(services.db, caller.project, params.network, body),
  );
  endpoints.serve(networkEndpoints.prompt, async ({ services, caller, params, body }) => {
    const { messages, ...told } = await promptOf(services.db, caller.project, params.network, body);
    return { ...told, messages: messages.map((message) => ({ ...message })) as never };
  });
}

type Invoking = Call<typeof networkEndpoints.invoke>;

/** The run, and for how long its end is waited for. Whoever follows it waits by himself. */
function waiting(call: Invoking) {
  const { id, body, context } = call;
  const once = context.req.header('idempotency-key') !== undefined;
  const timeoutMs = once ? Math.min(body.timeoutMs, LONGEST_ONCE_MS) : body.timeoutMs;
  return { id, timeoutMs, mode: isFollowed(call) ? ('stream' as const) : body.mode };
}

function isFollowed({ body, context }: Invoking): boolean {
  return body.mode === 'stream' || wantsStream(context);
}

/** The events of the run that was started, then what came of it. Sent again with the same key, it is the same run. */
async function followed({ services, caller, context }: Invoking, answer: Response): Promise<Response> {
  const { id: run } = (await answer.json()) as Invoked;
  const log = await findRunLog(services.db, caller.project, { run, entity: null });
  if (!log) throw notFound('run');
  const { headers } = context.req.raw;
  const frames = services.stream.open(log, {
    after: Math.min(lastEventId(context) ?? 0, log.lastSequence),
    run,
    mayStay: async () => authorize(await services.access.authenticate(headers), networkEndpoints.invoke),
    last: async () => {
      const ended = presentNetworkRun(await getNetworkRun(services.db, caller.project, run));
      // It may have been taken up again.
      if (!isRunEnd(ended.status)) return null;
      // Afterwards: all that led to this end is within it.
      const now = await findRunLog(services.db, caller.project, { run, entity: null });
      return { type: 'invoked', data: ended, upTo: now?.lastSequence ?? 0 };
    },
  });
  return streamAnswer(frames, answer.status);
}

function isRunEnd(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled';
}
