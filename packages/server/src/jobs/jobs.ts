import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, messageOf } from '../base/index.ts';
import { type Database, releaseJobsOf, releaseJobsOfTheGone } from '../store/index.ts';
import { openRunner, type Runner } from './runner.ts';
import type { CronEntry, Task } from './task.ts';

export interface JobsOptions {
  db: Database;
  logger: Logger;
  tasks: Record<string, Task>;
  crontab: CronEntry[];
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** A runner that lasted this long was a good one. */
const GOOD_MS = 5_000;
/** At the start, jobs taken longer ago by somebody who is gone are freed at once. */
const START_GRACE_SECONDS = 5;

/**
 * Sees to it that jobs are carried out for as long as the process lives. Graphile Worker does the work, one runner at a
 * time; where that breaks or loses its connection it is replaced, and the old one finishes in the background what it
 * has begun. Nothing that happens to a runner reaches the process.
 */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #hurry = new AbortController();
  /** Runners that were replaced and are still at a job. */
  readonly #retiring = new Map<Runner, Promise<void>>();
  #current: Runner | null = null;
  #supervising: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #stop: () => void = () => {};
  readonly #stopped = new Promise<'stopped'>((resolve) => {
    this.#stop = () => resolve('stopped');
  });

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** Resolves when jobs are being carried out; from then on failures are mended, not thrown. */
  async start(): Promise<void> {
    await releaseJobsOfTheGone(this.#options.db, START_GRACE_SECONDS);
    this.#current = await this.#open();
    this.#supervising = this.#supervise(this.#current);
  }

  #open(): Promise<Runner> {
    return openRunner({
      ...this.#options,
      signal: this.#hurry.signal,
      others: [...this.#retiring.keys()].map(({ name }) => name),
    });
  }

  async #supervise(first: Runner): Promise<void> {
    const { logger } = this.#options;
    let runner: Runner | null = first;
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      const began = performance.now();
      if (runner) {
        const reason = await Promise.race([runner.broken, this.#stopped]);
        if (reason === 'stopped') return;
        logger.warn({ reason }, 'jobs are interrupted; starting them again');
        this.#retire(runner);
        if (performance.now() - began > GOOD_MS) pause = FIRST_PAUSE_MS;
      }
      this.#current = null;
      const waited = delay(pause * (0.5 + Math.random()), 'waited' as const, { ref: false });
      if ((await Promise.race([waited, this.#stopped])) === 'stopped') return;
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      runner = await this.#open().catch((error: unknown) => {
        logger.debug({ error: messageOf(error) }, 'jobs could not be started yet');
        return null;
      });
      this.#current = runner;
      if (runner) logger.info('jobs are carried out again');
    }
  }

  #retire(runner: Runner): void {
    const finish = async () => {
      await runner.stop();
      // What it could not mark as done is done again; better than in four hours.
      await releaseJobsOf(this.#options.db, runner.name).catch(() => {});
    };
    this.#retiring.set(
      runner,
      finish().finally(() => this.#retiring.delete(runner)),
    );
  }

  /** Takes no more jobs and finishes those under way; after half of the time they are told to hurry. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    this.#stop();
    const finish = async () => {
      await this.#supervising;
      if (this.#current) this.#retire(this.#current);
      for (const runner of this.#retiring.keys()) runner.hurry();
      await Promise.all(this.#retiring.values());
    };
    const hurry = setTimeout(() => this.#hurry.abort(), graceMs / 2);
    const timer = new AbortController();
    await Promise.race([finish(), delay(graceMs, undefined, { signal: timer.signal }).catch(() => {})]);
    clearTimeout(hurry);
    timer.abort();
  }
}
