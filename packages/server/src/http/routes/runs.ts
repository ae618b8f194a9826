import { runEndpoints } from '@troupe/protocol';
import { fromCursor, idPosition, notFound, Refusal, toCursor } from '../../base/index.ts';
import { continueRun, getSession } from '../../doors/sessions/index.ts';
import { readTimeline } from '../../overview/index.ts';
import {
  cancelRun,
  forkRun,
  getRun,
  getRunDetails,
  getRunSeen,
  listRuns,
  retryRun,
} from '../../runs/index.ts';
import { authorOf } from '../author.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentPrompt } from '../present/prompt.ts';
import { presentCall, presentListedRun, presentRun, presentStep } from '../present/run.ts';
import { presentSession } from '../present/session.ts';

export function runRoutes(endpoints: Endpoints): void {
  endpoints.serve(runEndpoints.list, async ({ services, caller, query }) => {
    const { limit, cursor, ...filter } = query;
    const { runs, next } = await listRuns(services, caller, {
      ...filter,
      before: fromCursor(idPosition, cursor),
      limit,
    });
    return { data: runs.map(presentListedRun), nextCursor: next && toCursor(next) };
  });
  endpoints.serve(runEndpoints.get, async ({ services, caller, params }) => {
    const { run, steps, calls } = await getRunDetails(services, caller, params.runId);
    return { ...presentRun(run), steps: steps.map(presentStep), calls: calls.map(presentCall) };
  });
  endpoints.serve(runEndpoints.timeline, async ({ services, caller, params }) => {
    const { run, inSpace } = await getRunSeen(services, caller, params.runId);
    const timeline = await readTimeline(services.db, run.id, run.threadId);
    if (!timeline) throw notFound('run');
    // What an agent does in a space is told there as far as others may see it.
    return inSpace ? { ...timeline, spans: [], children: [] } : timeline;
  });
  endpoints.serve(runEndpoints.prompt, async ({ services, caller, params }) => {
    const { runId, step } = params;
    const asked = await services.past.requestAt({ project: caller.project, run: runId, step });
    if (asked === null) throw notFound('run');
    if (asked === 'step_not_found') throw stepNotFound(step);
    return presentPrompt(asked);
  });
  endpoints.serve(
    runEndpoints.cancel,
    async ({ services, caller, params }) => presentRun(await cancelRun(services, caller, params.runId)),
    {
      again: async ({ services, caller, params }) => {
        const { run } = await getRunSeen(services, caller, params.runId);
        return run.status === 'canceled' ? presentRun(run) : null;
      },
    },
  );
  endpoints.serve(
    runEndpoints.retry,
    async ({ services, caller, params, body }) =>
      presentRun(await retryRun(services, caller, params.runId, body)),
    { again: async ({ services, caller }, { target }) => presentRun(await getRun(services, caller, target)) },
  );
  endpoints.serve(
    runEndpoints.fork,
    async ({ services, caller, params, body, id }) =>
      presentRun(await forkRun(services, caller, params.runId, { ...body, id })),
    { again: async ({ services, caller }, { target }) => presentRun(await getRun(services, caller, target)) },
  );
  endpoints.serve(
    runEndpoints.continue,
    async ({ services, caller, params, body, id }) =>
      presentSession(await continueRun(services, caller, params.runId, { ...body, id }, authorOf(caller))),
    {
      again: async ({ services, caller, params }, { target: sessionId }) => {
        const { agentId } = await getRun(services, caller, params.runId);
        return presentSession(await getSession(services, caller, { agentId: agentId!, sessionId }));
      },
    },
  );
}

function stepNotFound(step: number): Refusal {
  return new Refusal('not_found', 'step_not_found', `The run took no step ${step}.`, {
    hint: 'GET /v1/runs/{runId} lists its steps.',
  });
}
