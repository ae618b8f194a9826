import { inboxEndpoints } from '@troupe/protocol';
import { z } from 'zod';
import { readPage } from '../../base/index.ts';
import { decideCall, listWaiting, takeResults } from '../../runs/index.ts';
import { settlerOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentPage } from '../present/page.ts';
import { presentWaitingCall } from '../present/waiting-call.ts';

const position = z.object({ runId: z.uuid(), callId: z.string().max(200) });

export function inboxRoutes(endpoints: Endpoints): void {
  endpoints.serve(inboxEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const page = await readPage(
      { limit, cursor },
      {
        position,
        read: (after, limit) => listWaiting(services, caller, { ...filter, after: after ?? null, limit }),
        positionOf: ({ runId, callId }) => ({ runId, callId }),
      },
    );
    return presentPage(page, presentWaitingCall);
  });
  endpoints.serve(inboxEndpoints.decide, ({ services, caller, params, body }) =>
    decideCall(services, caller, params, body, settlerOf(caller)),
  );
  endpoints.serve(inboxEndpoints.results, ({ services, caller, params, body }) =>
    takeResults(services, caller, params.runId, 'results' in body ? body.results : [body], settlerOf(caller)),
  );
}
