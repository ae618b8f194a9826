import { Hono } from 'hono';
import {
  countedHere,
  type Family,
  gauge,
  METRICS_TYPE,
  metricsText,
  RetryableError,
} from '../../base/index.ts';
import { type Load, readLoad } from '../../store/index.ts';
import { processGauges } from '../process-gauges.ts';
import type { Services } from '../services.ts';
import { shared, withinPatience } from '../shared.ts';

/** What is looked at when somebody asks. */
export type Observed = Pick<Services, 'db' | 'kernel' | 'access' | 'stream'> &
  // A process that only works has none.
  Partial<Pick<Services, 'followers'>>;

/**
 * `/metrics`: what this process counted, and what there is to do for all of them. The first is in memory; the second is
 * one statement per question, and while the database does not answer it is left out.
 */
export function metricsRoutes(observed: () => Observed | null): Hono {
  const routes = new Hono();
  const load = shared(() => withinPatience(readLoad(observed()!.db)));
  routes.get('/metrics', async (context) => {
    const now = observed();
    if (!now) throw new RetryableError('starting', 'The server is still starting.', { retryAfterMs: 1_000 });
    await now.access.authorizeMetrics(context.req.raw.headers);
    const families = [...countedHere(), ...processGauges(), ...gaugesHere(now), ...gaugesOfAll(await load())];
    return context.body(metricsText(families), 200, {
      'content-type': METRICS_TYPE,
      'cache-control': 'no-store',
    });
  });
  return routes;
}

function gaugesHere({ db, kernel, stream, followers }: Observed): Family[] {
  const pools = (of: 'total' | 'idle' | 'waiting') =>
    db.usage().map((usage) => ({ labels: { pool: usage.pool }, value: usage[of] }));
  const { worker } = kernel;
  return [
    gauge('troupe_stream_readers', 'Readers of events, in this process.', stream.readers),
    gauge('troupe_sync_readers', 'Followers of collections, in this process.', followers?.readers ?? 0),
    gauge(
      'troupe_sync_stalled_seconds',
      'How long an open transaction has held up what followers are told of changes.',
      followers?.stalledSeconds ?? 0,
    ),
    gauge('troupe_worker_runs', 'Runs that this process works on.', worker?.load ?? 0),
    gauge('troupe_worker_capacity', 'Runs that this process would work on at once.', worker?.capacity ?? 0),
    gauge('troupe_pool_connections', 'Connections to the database.', pools('total')),
    gauge('troupe_pool_idle_connections', 'Connections that nobody uses.', pools('idle')),
    gauge('troupe_pool_waiting', 'Callers that wait for a connection.', pools('waiting')),
  ];
}

function gaugesOfAll(load: Load | null): Family[] {
  const up = gauge('troupe_database_up', 'Whether the database answered within a second.', load ? 1 : 0);
  if (!load) return [up];
  const runs = Object.entries(load.runs).map(([status, value]) => ({ labels: { status }, value }));
  return [
    up,
    gauge('troupe_runs', 'Runs that have not ended, by status.', runs),
    gauge('troupe_queue_depth', 'Runs that a worker could take now.', load.due),
    gauge('troupe_queue_oldest_seconds', 'How long the oldest of them has waited.', load.oldestDueMs / 1_000),
    gauge(
      'troupe_runs_waiting_for_code',
      'Runs in the queue whose code tools no worker has.',
      load.waitingForCode,
    ),
    gauge('troupe_workers', 'Workers that are there.', load.workers),
    gauge('troupe_workers_capacity', 'Runs that all workers would work on at once.', load.capacity),
    gauge('troupe_jobs_due', 'Jobs that could begin now.', load.dueJobs),
    gauge('troupe_jobs_dead', 'Jobs that have failed for good.', load.deadJobs),
    gauge('troupe_trigger_changes', 'Changes that triggers have yet to judge.', load.changes),
    gauge('troupe_trigger_deliveries_open', 'Deliveries that have yet to be made.', load.openDeliveries),
    gauge(
      'troupe_trigger_deliveries_late_seconds',
      'How long the oldest delivery that could be made now has waited.',
      load.lateDeliveryMs / 1_000,
    ),
    gauge(
      'troupe_trigger_deliveries_dead',
      'Deliveries that were given up and are kept.',
      load.deadDeliveries,
    ),
  ];
}
