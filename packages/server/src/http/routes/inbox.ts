import { inboxEndpoints, type WaitingCall } from '@troupe/protocol';
import { z } from 'zod';
import { fromCursor, toPage } from '../../base/index.ts';
import { argumentsHash, decideCall, listWaiting, takeResults } from '../../runs/index.ts';
import type { WaitingRow } from '../../store/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';

const place = z.tuple([z.uuid(), z.string().max(200)]);

export function inboxRoutes(endpoints: Endpoints): void {
  endpoints.serve(inboxEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const from = fromCursor(place, cursor);
    const after = from ? { runId: from[0], callId: from[1] } : null;
    const rows = await listWaiting(services, caller, { ...filter, after, limit: limit + 1 });
    return toPage(rows, limit, ({ runId, callId }) => [runId, callId], present);
  });
  endpoints.serve(inboxEndpoints.decide, ({ services, caller, params, body }) =>
    decideCall(services, caller, params, body, settlerOf(caller)),
  );
  endpoints.serve(inboxEndpoints.results, ({ services, caller, params, body }) =>
    takeResults(services, caller, params.runId, 'results' in body ? body.results : [body], settlerOf(caller)),
  );
}

function present(row: WaitingRow): WaitingCall {
  return {
    ...row,
    argumentsHash: argumentsHash(row.arguments),
    deadline: row.deadline?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

function settlerOf(caller: Call<(typeof inboxEndpoints)['decide']>['caller']): string {
  const { kind, id } = authorOf(caller);
  return id === null ? kind : `${kind}:${id}`;
}
