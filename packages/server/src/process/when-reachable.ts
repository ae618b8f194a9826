import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, StartupError } from '../base/index.ts';
import { isConnectionError } from '../store/index.ts';
import type { Program } from './program.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * A step of the start that needs the database, again and again until it answers: processes are started in any order. Anything else that is wrong,
 * such as a wrong password, ends the start, because waiting does not mend it. So does TROUPE_DATABASE_WAIT_SECONDS.
 */
export async function whenReachable<Result>(program: Program, step: () => Promise<Result>): Promise<Result> {
  const { life, logger, config } = program;
  // The embedded PostgreSQL has been started by this process: if it does not answer, it will not.
  const limitMs = config.databaseUrl === null ? 0 : (config.databaseWaitSeconds ?? Infinity) * 1_000;
  const began = performance.now();
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const result = await step();
      life.waiting(false);
      return result;
    } catch (error) {
      const waitedMs = Math.round(performance.now() - began);
      if (!isUnreachable(error) || waitedMs + pause > limitMs) throw error;
      logger.warn({ error: messageOf(error), waitedMs, retryInMs: pause }, 'waiting for the database');
    }
    life.waiting(true);
    await delay(pause, undefined, { signal: life.signal });
    life.signal.throwIfAborted();
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof StartupError ? error.code === 'database_unreachable' : isConnectionError(error);
}
