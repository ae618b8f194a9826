import {
  addJob,
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
import { type Purge, runPurges } from './purge.ts';
import { retentionCron, retentionTasks } from './retention.ts';
import type { CronEntry, Task, TaskContext } from './task.ts';

/** How long a process that lost its connection has to come back before its jobs go to others. */
const GRACE_SECONDS = 30;

/** A plan that is so late and that no job will look at gets a new one. */
const LATE_SECONDS = 60;

export interface HouseRules {
  /** For how many days it is known what was deleted, for clients that keep copies. */
  tombstoneDays: number;
  /** How long one purge job may take before the next one continues. */
  purgeMs?: number;
}

/** The task, and its queue: at most one purge job runs at a time, and at most one waits. */
const PURGE = 'purge';

/** All kinds of rows that expire. */
function purges({ tombstoneDays }: HouseRules): Purge[] {
  return [
    { name: 'workers', batch: purgeWorkers },
    { name: 'leases', batch: (db) => purgeBudgetLeases(db) },
    { name: 'answers', batch: purgeIdempotencyKeys },
    { name: 'ends', batch: purgeEndedRuns },
    { name: 'erasures', batch: eraseLateDeliveries },
    { name: 'deliveries', batch: purgeDeliveries },
    // Their index is a BRIN index: a batch reads again what earlier batches deleted, so few large batches are cheaper.
    { name: 'tombstones', batch: (db, limit) => purgeTombstones(db, tombstoneDays, limit), limit: 10_000 },
    { name: 'prompts', batch: (db, limit) => purgePrompts(db, limit), limit: 5_000 },
  ];
}

/** Deletes expired rows. While some are left, the next job follows at once: a backlog does not wait for the cron entry. */
async function purge(rules: HouseRules, context: TaskContext): Promise<void> {
  const { db, logger } = context;
  const { counts, unfinished } = await runPurges(purges(rules), context, rules.purgeMs);
  if (Object.keys(counts).length > 0) logger.info(counts, 'purged');
  if (unfinished) await addJob(db, PURGE, {}, { key: PURGE, queue: PURGE });
  else await restCaptures(db);
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
    [PURGE]: (_payload, context) => purge(rules, context),
    release_jobs: releaseJobs,
    rearm_plans: rearm,
    rearm_batches: rearmLostBatches,
    wake_unbudgeted: wakeUnbudgeted,
    ...retentionTasks(rules.purgeMs),
  };
}

export const housekeeping: CronEntry[] = [
  { task: PURGE, pattern: '17 * * * *', queue: PURGE },
  { task: 'release_jobs', pattern: '* * * * *' },
  { task: 'rearm_plans', pattern: '* * * * *' },
  { task: 'rearm_batches', pattern: '* * * * *' },
  { task: 'wake_unbudgeted', pattern: '* * * * *' },
  retentionCron,
];
