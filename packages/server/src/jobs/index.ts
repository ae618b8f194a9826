/**
 * jobs: what is to be done later and is no run: timers, plans, deliveries, purges. Graphile Worker keeps them in its
 * own schema; runs never go through here. Jobs are added with `addJob` of the store, in a transaction where wanted.
 * Imports: store, base, protocol, `graphile-worker`.
 * Start reading: task.ts (what a task is), jobs.ts (who sees to it that they are carried out), runner.ts.
 */
export { housekeeping, houseTasks } from './housekeeping.ts';
export { Jobs } from './jobs.ts';
export { migrateJobs } from './migrate.ts';
export type { CronEntry, Task } from './task.ts';
