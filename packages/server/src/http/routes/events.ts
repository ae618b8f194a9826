import { sessionEndpoints } from '@troupe/protocol';
import { notFound, Refusal } from '../../base/index.ts';
import { eventsAfter, findSessionLog } from '../../store/index.ts';
import { likePatterns, presentEvent } from '../../stream/index.ts';
import type { Endpoints } from '../endpoint.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // For proxies that would collect it first.
  'x-accel-buffering': 'no',
};

/** What happened in a session: as a list, or live. */
export function eventRoutes(endpoints: Endpoints): void {
  endpoints.serve(sessionEndpoints.events, async ({ caller, params, query, services, context }) => {
    const { db, stream } = services;
    const live = /\btext\/event-stream\b/i.test(context.req.header('accept') ?? '');
    const after = (live ? lastEventId(context.req.header('last-event-id')) : null) ?? query.after ?? 0;
    const { agentId: agent, sessionId: session } = params;
    const log = await findSessionLog(db, caller.project, { agent, session, entity: caller.entityId });
    if (!log) throw notFound('session');
    if (live) return new Response(stream.open(log, { after, types: query.types }), { headers: HEADERS });
    const found = await eventsAfter(db, log.thread, after, query.limit, likePatterns(query.types));
    return {
      data: found.map((stored) => presentEvent(stored, log)),
      lastSequence: Math.max(log.lastSequence, found.at(-1)?.seq ?? 0),
    };
  });
}

function lastEventId(header: string | undefined): number | null {
  if (header === undefined || header === '') return null;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw new Refusal('invalid', 'invalid_request', 'The Last-Event-ID is not the id of an event.', {
    hint: 'Send the id of the last event that you have, or none to begin at the beginning.',
    issues: [{ path: 'Last-Event-ID', message: 'must be a sequence number' }],
  });
}
