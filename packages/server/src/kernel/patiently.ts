import { setTimeout as delay } from 'node:timers/promises';
import * as store from '../store/index.ts';

const CONTENTION_TRIES = 8;

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
