import { type Overview, type Queue, type WaitsFor, type Worker, waitsFor } from '@troupe/protocol';
import type { Overview as Counts, DeadJob, Queue as Queued, WorkerRow } from '../../store/index.ts';

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

export function presentWorker({ draining, silentMs, startedAt, lastBeatAt, ...worker }: WorkerRow): Worker {
  return {
    ...worker,
    state: silentMs > SILENT_MS ? 'silent' : draining ? 'draining' : 'working',
    startedAt: startedAt.toISOString(),
    lastBeatAt: lastBeatAt.toISOString(),
  };
}

export function presentQueue(
  { oldest, now, ...queue }: Queued,
  failedJobs: { total: number; newest: DeadJob[] } | null,
): Queue {
  return {
    ...queue,
    oldest: oldest.map((run) => ({
      ...run,
      dueAt: run.dueAt.toISOString(),
      createdAt: run.createdAt.toISOString(),
    })),
    failedJobs: failedJobs && {
      total: failedJobs.total,
      newest: failedJobs.newest.map((job) => ({
        ...job,
        createdAt: job.createdAt.toISOString(),
        lastTriedAt: job.lastTriedAt.toISOString(),
      })),
    },
    now: now.toISOString(),
  };
}
