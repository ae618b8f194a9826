import {
  eraseLateDeliveries,
  purgeBudgetLeases,
  purgeDeliveries,
  purgeEndedRuns,
  purgeIdempotencyKeys,
  purgePrompts,
  purgeTombstones,
  purgeWorkers,
  rearmBatches,
  rearmPlans,
  releaseJobsOfTheGone,
  restCaptures,
  wakeForDeletedBudgets,
} from '../store/index.ts';
import type { CronEntry, Task, TaskContext } from './task.ts';

/** How long a process that lost its connection has to come back before its jobs go to others. */
const GRACE_SECONDS = 30;

/** A plan that is so late and that no job will look at gets a new one. */
const LATE_SECONDS = 60;

export interface HouseRules {
  /** For how many days it is known what was deleted, for clients that keep copies. */
  tombstoneDays: number;
}

/** Removes what nobody needs any more. */
async function purge({ tombstoneDays }: HouseRules, { db, logger }: TaskContext): Promise<void> {
  const workers = await purgeWorkers(db);
  const leases = await purgeBudgetLeases(db);
  const answers = await purgeIdempotencyKeys(db);
  const ends = await purgeEndedRuns(db);
  const deliveries = await purgeDeliveries(db);
  const tombstones = await purgeTombstones(db, tombstoneDays);
  const prompts = await purgePrompts(db);
  await eraseLateDeliveries(db);
  await restCaptures(db);
  if (workers + leases + answers + ends + deliveries + tombstones + prompts > 0)
    logger.info({ workers, leases, answers, ends, deliveries, tombstones, prompts }, 'purged');
}

/** Frees the jobs of processes that died. */
const releaseJobs: Task = async (_payload, { db, logger }) => {
  const jobs = await releaseJobsOfTheGone(db, GRACE_SECONDS);
  if (jobs > 0) logger.warn({ jobs }, 'took the jobs of a dead process back into the queue');
};

/** Sees to plans whose job failed too often: what is planned is not lost by that. */
const rearm: Task = async (_payload, { db, logger }) => {
  const plans = await rearmPlans(db, LATE_SECONDS);
  if (plans > 0) logger.warn({ plans }, 'plans were late without a job, and have one again');
};

/** The same for batches that have yet to begin or to cancel something. */
const rearmLostBatches: Task = async (_payload, { db, logger }) => {
  const batches = await rearmBatches(db);
  if (batches > 0) logger.warn({ batches }, 'batches had no job, and have one again');
};

/** Lets runs go on that lay down to wait for a budget while it was deleted. */
const wakeUnbudgeted: Task = async (_payload, { db, logger }) => {
  const runs = await wakeForDeletedBudgets(db);
  if (runs > 0) logger.warn({ runs }, 'runs waited for budgets that are gone, and go on');
};

export function houseTasks(rules: HouseRules = { tombstoneDays: 30 }): Record<string, Task> {
  return {
    purge: (_payload, context) => purge(rules, context),
    release_jobs: releaseJobs,
    rearm_plans: rearm,
    rearm_batches: rearmLostBatches,
    wake_unbudgeted: wakeUnbudgeted,
  };
}

export const housekeeping: CronEntry[] = [
  { task: 'purge', pattern: '17 * * * *' },
  { task: 'release_jobs', pattern: '* * * * *' },
  { task: 'rearm_plans', pattern: '* * * * *' },
  { task: 'rearm_batches', pattern: '* * * * *' },
  { task: 'wake_unbudgeted', pattern: '* * * * *' },
];
