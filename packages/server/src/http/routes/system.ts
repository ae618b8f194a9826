import { systemEndpoints } from '@troupe/protocol';
import { isAnsweredByDemo } from '../../agents/index.ts';
import { listWorkers, readClock, readDeadJobs, readOverview, readQueue } from '../../store/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentOverview, presentQueue, presentWorker } from '../present/system.ts';

export function systemRoutes(endpoints: Endpoints): void {
  endpoints.serve(systemEndpoints.get, async ({ services, caller }) => {
    const { db, access, server } = services;
    const { kind, entityId, scopes } = caller;
    const [{ id, name }, demo, now] = await Promise.all([
      access.projects.get(caller),
      isAnsweredByDemo(db, caller.project),
      readClock(db),
    ]);
    return {
      ...server,
      keyless: kind === 'dev',
      demo,
      project: { id, name },
      caller: { kind, entityId, scopes: scopes && [...scopes] },
      now: now.toISOString(),
    };
  });
  endpoints.serve(systemEndpoints.overview, async ({ services, caller }) =>
    presentOverview(await readOverview(services.db, caller.project)),
  );
  endpoints.serve(systemEndpoints.workers, async ({ services, caller }) => {
    await services.access.projects.requireOperator(caller, 'Workers are for whoever runs the server to see.');
    const workers = await listWorkers(services.db);
    return { data: workers.map(presentWorker), now: (await readClock(services.db)).toISOString() };
  });
  endpoints.serve(systemEndpoints.queue, async ({ services, caller, query }) => {
    const [queue, isOperator] = await Promise.all([
      readQueue(services.db, caller.project, query.limit),
      services.access.projects.isOperator(caller),
    ]);
    return presentQueue(queue, isOperator ? await readDeadJobs(services.db, query.limit) : null);
  });
}
