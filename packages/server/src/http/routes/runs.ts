import { runEndpoints } from '@troupe/protocol';
import {
  cancelRun,
  continueRun,
  forkRun,
  getRunDetails,
  listRuns,
  retryRun,
} from '../../doors/sessions/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { fromCursor, toCursor } from '../present/cursor.ts';
import { presentCall, presentListedRun, presentRun, presentStep } from '../present/run.ts';
import { presentSession } from '../present/session.ts';

export function runRoutes(endpoints: Endpoints): void {
  endpoints.serve(runEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const { runs, next } = await listRuns(services, caller, { ...filter, before: fromCursor(cursor), limit });
    return { data: runs.map(presentListedRun), nextCursor: next && toCursor(next) };
  });
  endpoints.serve(runEndpoints.get, async ({ services, caller, params }) => {
    const { run, steps, calls } = await getRunDetails(services, caller, params.runId);
    return { ...presentRun(run), steps: steps.map(presentStep), calls: calls.map(presentCall) };
  });
  endpoints.serve(runEndpoints.cancel, async ({ services, caller, params }) =>
    presentRun(await cancelRun(services, caller, params.runId)),
  );
  endpoints.serve(runEndpoints.retry, async ({ services, caller, params, body }) =>
    presentRun(await retryRun(services, caller, params.runId, body)),
  );
  endpoints.serve(runEndpoints.fork, async ({ services, caller, params, body }) =>
    presentRun(await forkRun(services, caller, params.runId, body)),
  );
  endpoints.serve(runEndpoints.continue, async ({ services, caller, params, body }) =>
    presentSession(await continueRun(services, caller, params.runId, body, authorOf(caller))),
  );
}
