import { type ChangedCollection, changedCollection, systemEndpoints } from '@troupe/protocol';
import { authorize } from '../../access/index.ts';
import { isAnsweredByDemo } from '../../definitions/models/index.ts';
import { listWorkers, readClock, readDeadJobs, readOverview, readQueue } from '../../store/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { onlyLive, streamAnswer, wantsStream } from '../event-stream.ts';
import { presentOverview, presentQueue, presentWorker } from '../present/system.ts';

export function systemRoutes(endpoints: Endpoints): void {
  endpoints.serve(systemEndpoints.get, async ({ services, caller }) => {
    const { db, access, server } = services;
    const { kind, entityId, keyId, scopes } = caller;
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
      caller: { kind, entityId, keyId, scopes: scopes && [...scopes] },
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
  endpoints.serve(systemEndpoints.changes, ({ services, caller, query, context }) => {
    if (!wantsStream(context)) throw onlyLive('Ask for the lists themselves for JSON.');
    const named = query.collections?.split(',') as ChangedCollection[] | undefined;
    const { headers } = context.req.raw;
    const mayStay = async () =>
      authorize(await services.access.authenticate(headers), systemEndpoints.changes);
    const collections = new Set(named ?? changedCollection.options);
    return streamAnswer(
      services.followers.watchers.open({ project: caller.project, collections }, { mayStay }),
    );
  });
}
