import { ApiError } from './errors.ts';
import { pauseOrOnline } from './online.ts';
import { pauseBefore } from './transport.ts';

/** Asks for as long as it takes, unless the answer is one that asking again cannot change. */
export async function insist<Answer>(ask: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
      await pauseOrOnline(pauseBefore(attempt, error), signal);
    }
  }
}
