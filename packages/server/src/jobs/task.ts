import type { Json } from '@troupe/protocol';
import type { Logger } from '../base/index.ts';
import type { Database } from '../store/index.ts';

export interface TaskContext {
  db: Database;
  logger: Logger;
  /** The process is about to stop: finish soon or fail, then another process does it. */
  signal: AbortSignal;
  /** 1 for the first try. */
  attempt: number;
  /** Whether a failure is final. */
  lastAttempt: boolean;
}

/**
 * Carries out one kind of job. Where it throws, the job is tried again, after e^attempt seconds.
 * It may be carried out twice, at times at once: its process died, or lost its connection for a while.
 */
export type Task = (payload: Json, context: TaskContext) => Promise<void>;

/** Adds a job of this task whenever the pattern (in UTC) matches; once, however many processes there are. */
export interface CronEntry {
  task: string;
  pattern: string;
  /** Jobs of one queue run one after another, and at most one added by cron waits. */
  queue?: string;
}
