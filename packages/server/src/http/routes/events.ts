import {
  type Endpoint,
  type Event,
  type QueryOf,
  runEndpoints,
  sessionEndpoints,
  spaceEndpoints,
} from '@troupe/protocol';
import { authorize } from '../../access/index.ts';
import { notFound } from '../../base/index.ts';
import { requireMember } from '../../doors/spaces/index.ts';
import {
  eventsAfter,
  eventsBefore,
  findRunLog,
  findSessionLog,
  findSpaceLog,
  type ThreadLog,
} from '../../store/index.ts';
import { likePatterns, presentEvent } from '../../stream/index.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { lastEventId, streamAnswer, wantsStream } from '../event-stream.ts';

/** What happened in a session, in a space or in a run: as a list, or live. */
export function eventRoutes(endpoints: Endpoints): void {
  endpoints.serve(sessionEndpoints.events, (call) => {
    const { caller, params, services } = call;
    const { agentId: agent, sessionId: session } = params;
    return answer(sessionEndpoints.events, call, async () => {
      const log = await findSessionLog(services.db, caller.project, {
        agent,
        session,
        entity: caller.entityId,
      });
      if (!log) throw notFound('session');
      return log;
    });
  });
  endpoints.serve(runEndpoints.events, (call) => {
    const { caller, services } = call;
    const run = call.params.runId.toLowerCase();
    const find = async () => {
      const log = await findRunLog(services.db, caller.project, { run, entity: caller.entityId });
      if (!log) throw notFound('run');
      const { runs, calls } = log;
      return {
        ...log,
        runs: runs.filter(({ id }) => id === run),
        calls: calls.filter(({ runId }) => runId === run),
      };
    };
    return answer(runEndpoints.events, call, find, { run });
  });
  endpoints.serve(spaceEndpoints.events, (call) => {
    const { caller, services } = call;
    const space = call.params.spaceId;
    const find = async () => {
      const log = await findSpaceLog(services.db, caller.project, { space, entity: caller.entityId });
      if (!log) throw notFound('space');
      return log;
    };
    // Members come and go while somebody reads.
    return answer(spaceEndpoints.events, call, find, {
      mayStay: () => requireMember(services, caller, space),
    });
  });
}

async function answer(
  endpoint: Endpoint,
  {
    query,
    services,
    context,
  }: Pick<Call<Endpoint>, 'services' | 'context'> & { query: QueryOf<typeof sessionEndpoints.events> },
  find: () => Promise<ThreadLog>,
  { run, mayStay }: { run?: string; mayStay?: () => Promise<void> } = {},
): Promise<Response | { data: Event[]; lastSequence: number }> {
  const { db, stream } = services;
  const live = wantsStream(context);
  const after = (live ? lastEventId(context) : null) ?? query.after ?? 0;
  const log = await find();
  if (live) {
    const { headers } = context.req.raw;
    const opened = stream.open(log, {
      // Beyond the end, as after a restored backup: from the end on, or everything that comes would be passed over.
      after: Math.min(after, log.lastSequence),
      types: query.types,
      run,
      mayStay: async () => {
        authorize(await services.access.authenticate(headers), endpoint);
        await mayStay?.();
      },
    });
    return streamAnswer(opened);
  }
  const filter = { types: likePatterns(query.types), run: run ?? null };
  const { before, limit } = query;
  const found =
    before === undefined
      ? await eventsAfter(db, log.thread, after, limit, filter)
      : await eventsBefore(db, log.thread, { after, before }, limit, filter);
  return {
    data: found.map((stored) => presentEvent(stored, log)),
    lastSequence: Math.max(log.lastSequence, found.at(-1)?.seq ?? 0),
  };
}
