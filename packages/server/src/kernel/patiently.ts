import { setTimeout as delay } from 'node:timers/promises';
import * as store from '../store/index.ts';

const CONTENTION_TRIES = 8;
const LONGEST_PAUSE_MS = 500;

/** Deadlocks, lock timeouts and changed circumstances: nothing was written, so the same may be tried again. */
export async function patiently<Answer>(action: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      if (attempt >= CONTENTION_TRIES || !store.isContention(error)) throw error;
      await delay(5 * attempt * (0.5 + Math.random()));
    }
  }
}

/**
 * The same, and for as long as the signal lets it while the database cannot be reached. Whether it was written is not known then, so
 * this is for what may be done twice. `attempt` is 1 at first.
 */
export async function persistently<Answer>(
  action: (attempt: number) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  for (let attempt = 1, pause = 20; ; attempt++) {
    try {
      return await patiently(() => action(attempt));
    } catch (error) {
      if (signal.aborted || !store.isConnectionError(error)) throw error;
      await delay(pause, undefined, { signal });
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}
