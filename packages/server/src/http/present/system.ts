import { type Overview, type Queue, type WaitsFor, type Worker, waitsFor } from '@troupe/protocol';
import type { Overview as Counts, DeadJob, Queue as Queued, WorkerRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

/** Workers judge one another sooner; this is for people. */
const SILENT_MS = 3_000;

export function presentOverview({ waiting, calls, failed, now, ...counts }: Counts): Overview {
  const byWhat = Object.fromEntries(waitsFor.options.map((word) => [word, calls[word] ?? 0]));
  return {
    ...counts,
    waiting: { runs: waiting, calls: byWhat as Record<WaitsFor, number> },
    failed24h: failed,
    now: now.toISOString(),
  };
}

export function presentWorker({ draining, silentMs, ...worker }: WorkerRow): Worker {
  const state = silentMs > SILENT_MS ? 'silent' : draining ? 'draining' : 'working';
  return { ...isoTimes(worker), state };
}

export function presentQueue(
  { oldest, now, ...queue }: Queued,
  failedJobs: { total: number; newest: DeadJob[] } | null,
): Queue {
  return {
    ...queue,
    oldest: oldest.map(isoTimes),
    failedJobs: failedJobs && { total: failedJobs.total, newest: failedJobs.newest.map(isoTimes) },
    now: now.toISOString(),
  };
}
