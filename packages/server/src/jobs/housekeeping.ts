import {
  purgeBudgetLeases,
  purgeIdempotencyKeys,
  purgeWorkers,
  releaseJobsOfTheGone,
} from '../store/index.ts';
import type { CronEntry, Task } from './task.ts';

/** How long a process that lost its connection has to come back before its jobs go to others. */
const GRACE_SECONDS = 30;

/** Removes what nobody needs any more. */
const purge: Task = async (_payload, { db, logger }) => {
  const workers = await purgeWorkers(db);
  const leases = await purgeBudgetLeases(db);
  const answers = await purgeIdempotencyKeys(db);
  if (workers + leases + answers > 0) logger.info({ workers, leases, answers }, 'purged');
};

/** Frees the jobs of processes that died. */
const releaseJobs: Task = async (_payload, { db, logger }) => {
  const jobs = await releaseJobsOfTheGone(db, GRACE_SECONDS);
  if (jobs > 0) logger.warn({ jobs }, 'took the jobs of a dead process back into the queue');
};

export const houseTasks: Record<string, Task> = { purge, release_jobs: releaseJobs };

export const housekeeping: CronEntry[] = [
  { task: 'purge', pattern: '17 * * * *' },
  { task: 'release_jobs', pattern: '* * * * *' },
];
