/** One measured process: the adapter, its state, and runs that are checked. */
import type { Adapter } from '../adapter.ts';
import type { Counters } from '../counters.ts';
import { checkAnswer } from '../scenario.ts';

/** The shape of a run of W1: six model calls and five tool calls. */
export const W1_RUN = { tools: 5, toolMs: 0 };

export interface Measured {
  adapter: Adapter<unknown>;
  state: unknown;
  counters: Counters;
  /** How long one figure may be sampled. */
  seconds: number;
}

let ids = 0;
export function nextId(prefix: string): string {
  return `${prefix}${(ids++).toString(36)}x${process.pid}`;
}

export async function runOnce({ adapter, state }: Measured): Promise<void> {
  const id = nextId('r');
  checkAnswer(id, await adapter.run(state, id, W1_RUN));
}

/** Runs one after the other; stops at the count or when the time is up. */
export async function runSequentially(measured: Measured, count: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1_000;
  let done = 0;
  while (done < count && performance.now() < until) {
    await runOnce(measured);
    done++;
  }
  return done;
}

export function warmUp(measured: Measured): Promise<number> {
  return runSequentially(measured, 30, 8);
}
