import { EventEmitter } from 'node:events';
import type { Json } from '@troupe/protocol';
import type { Runner as GraphileRunner, RunnerOptions, WorkerEvents } from 'graphile-worker';
import { Counter, type Logger, messageOf } from '../base/index.ts';
import { type Database, holdJobLocks } from '../store/index.ts';
import { graphile } from './graphile.ts';
import { graphileLogger } from './logger.ts';
import type { CronEntry, Task } from './task.ts';

/** Jobs at once in one process. Most of their time they wait for somebody else, a webhook for example. */
const CONCURRENCY = 10;
/** Asking for a job and marking it as done take a millisecond or two. One more hears what is new. */
const CONNECTIONS = 4;
/** A job that was due at a time begins within this of it. New ones are announced and begin at once. */
const POLL_MS = 1_000;
/** So long without one successful question for work, and the runner is taken for broken. */
const FAILING_MS = 10_000;
const NEVER_MS = 2 ** 31 - 1;

const jobsDone = new Counter(
  'troupe_jobs_total',
  'Jobs that this process carried out, by task and outcome.',
  ['task', 'outcome'],
);

export interface RunnerSetup {
  db: Database;
  logger: Logger;
  tasks: Record<string, Task>;
  crontab: CronEntry[];
  /** Aborted when the process stops. */
  signal: AbortSignal;
  /** Names of runners of this process that are still at a job: they are shown alive too. */
  others: string[];
}

/** One life of Graphile Worker, from a working connection to its loss. */
export interface Runner {
  /** Under which name it takes jobs. */
  name: string;
  /** Resolves with the reason once it should be replaced. */
  broken: Promise<string>;
  /** Takes nothing new and finishes what is under way; resolves when that is on disk, however long it takes. */
  stop(): Promise<void>;
  /** No longer waits for a database that does not answer. */
  hurry(): void;
}

export async function openRunner(setup: RunnerSetup): Promise<Runner> {
  const { db, logger } = setup;
  // Its loss is how we learn that the database was away; its lock is how others learn that we are alive.
  const keeper = await db.connectDirect('jobs-keeper');
  const lost = new Promise<string>((resolve) => keeper.once('end', () => resolve('the connection was lost')));
  const jobs = db.createJobsPool(CONNECTIONS);
  const events: WorkerEvents = new EventEmitter();
  let name = '';
  events.once('pool:create', ({ workerPool }) => {
    name = workerPool.id;
  });
  const failing = watchFailing(events);
  let started: GraphileRunner | null = null;
  try {
    const runner = await graphile().run(optionsOf(setup, jobs.pool, events));
    started = runner;
    await holdJobLocks(keeper, [name, ...setup.others]);
    const ended = runner.promise.then(
      () => 'it stopped by itself',
      (error: unknown) => `it stopped: ${messageOf(error)}`,
    );
    return {
      name,
      broken: Promise.race([lost, ended, failing]),
      hurry: () => jobs.hurry(),
      async stop() {
        await runner.stop().catch((error) => logger.debug({ error: messageOf(error) }, 'stopping the jobs'));
        await jobs.end(Number.POSITIVE_INFINITY);
        await keeper.end().catch(() => {});
      },
    };
  } catch (error) {
    // Otherwise it polls without a database for as long as the process lives. A job that it has begun ends in the background.
    void started?.stop().catch(() => {});
    await jobs.end(0);
    await keeper.end().catch(() => {});
    throw error;
  }
}

function optionsOf(setup: RunnerSetup, pgPool: RunnerOptions['pgPool'], events: WorkerEvents): RunnerOptions {
  return {
    pgPool: pgPool!,
    events,
    logger: graphileLogger(setup.logger),
    concurrency: CONCURRENCY,
    pollInterval: POLL_MS,
    // The process decides what a signal means, and when a task is told to hurry.
    noHandleSignals: true,
    gracefulShutdownAbortTimeout: NEVER_MS,
    // No local queue and no batches: with them, a restart of Postgres under load stopped it for good in 10 of 10 trials.
    preset: { worker: { localQueue: { size: -1 }, completeJobBatchDelay: -1, failJobBatchDelay: -1 } },
    taskList: Object.fromEntries(
      Object.entries(setup.tasks).map(([name, task]) => [name, adapt(name, task, setup)]),
    ),
    parsedCronItems: graphile().parseCronItems(
      setup.crontab.map(({ task, pattern, queue }) => ({
        task,
        match: pattern,
        identifier: task,
        ...(queue ? { options: { queueName: queue, jobKey: queue } } : {}),
      })),
    ),
  };
}

function adapt(name: string, task: Task, { db, logger, signal }: RunnerSetup) {
  return async (payload: unknown, { job }: { job: { attempts: number; max_attempts: number } }) => {
    const lastAttempt = job.attempts >= job.max_attempts;
    try {
      await task(payload as Json, { db, logger, signal, attempt: job.attempts, lastAttempt });
      jobsDone.add(1, name, 'done');
    } catch (error) {
      const about = { task: name, attempt: job.attempts, error: messageOf(error) };
      jobsDone.add(1, name, lastAttempt ? 'failed_for_good' : 'failed');
      if (lastAttempt) logger.error(about, 'a job failed for good');
      else logger.warn(about, 'a job failed and will be tried again');
      throw error;
    }
  };
}

/** Resolves when asking for work has failed for long: some failures Graphile Worker remembers and never gets over. */
function watchFailing(events: WorkerEvents): Promise<string> {
  return new Promise((resolve) => {
    let since: number | null = null;
    const fine = () => {
      since = null;
    };
    events.on('worker:getJob:empty', fine);
    events.on('job:start', fine);
    events.on('worker:getJob:error', ({ error }) => {
      since ??= performance.now();
      if (performance.now() - since > FAILING_MS) resolve(`it cannot get jobs: ${messageOf(error)}`);
    });
  });
}
