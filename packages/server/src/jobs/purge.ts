import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../base/index.ts';
import type { Database } from '../store/index.ts';
import type { TaskContext } from './task.ts';

/** Rows per statement: few enough that a batch holds its locks for milliseconds. */
const BATCH_ROWS = 1_000;
/** A job ends after this time, so that a process that stops does not wait for it. The next job continues. */
const JOB_MS = 20_000;
/** The longest pause after a batch. */
const MAX_PAUSE_MS = 1_000;

/**
 * One kind of row that is deleted when it expires. To add one, write the statement in `store/queries` and add it to the
 * list in `housekeeping.ts`.
 */
export interface Purge {
  /** Names the count in the log. */
  name: string;
  /**
   * Deletes up to `limit` expired rows in one transaction and returns the number of rows. It is called again until it
   * returns less than `limit`, or says that there is no more. Processes may call it at the same time, so it selects `for update skip locked`.
   */
  batch(db: Database, limit: number): Promise<number | { rows: number; more: boolean }>;
  /** Overrides the default of 1,000 rows per batch. */
  limit?: number;
}

export interface Purged {
  /** Deleted rows by name. Purges that deleted nothing are left out. */
  counts: Record<string, number>;
  /** Expired rows are left, because the time was over or the process stops. */
  unfinished: boolean;
}

/**
 * Runs all purges until no expired rows are left, at most for `forMs`. Each batch is a transaction of its own. The purges
 * take turns, so a large backlog of one kind does not delay the others. After a batch the function waits for as long as
 * the batch took, so purging uses at most half of one connection. A purge that fails is skipped and its error is thrown
 * at the end.
 */
export async function runPurges(
  purges: readonly Purge[],
  { db, logger, signal }: Pick<TaskContext, 'db' | 'logger' | 'signal'>,
  forMs = JOB_MS,
): Promise<Purged> {
  const counts: Record<string, number> = {};
  const failures: unknown[] = [];
  const deadline = performance.now() + forMs;
  let left = [...purges];
  while (left.length > 0) {
    const unfinished: Purge[] = [];
    for (const purge of left) {
      if (signal.aborted) return { counts, unfinished: true };
      const limit = purge.limit ?? BATCH_ROWS;
      const began = performance.now();
      try {
        const done = await purge.batch(db, limit);
        const { rows, more } = typeof done === 'number' ? { rows: done, more: done >= limit } : done;
        if (rows > 0) counts[purge.name] = (counts[purge.name] ?? 0) + rows;
        if (!more) continue;
      } catch (error) {
        logger.warn({ purge: purge.name, error: messageOf(error) }, 'purge failed');
        failures.push(error);
        continue;
      }
      unfinished.push(purge);
      await delay(Math.min(performance.now() - began, MAX_PAUSE_MS), undefined, { signal }).catch(() => {});
    }
    left = unfinished;
    // Every purge gets at least one batch per job.
    if (left.length > 0 && performance.now() > deadline) return { counts, unfinished: true };
  }
  if (failures.length > 0) throw failures[0];
  return { counts, unfinished: false };
}
