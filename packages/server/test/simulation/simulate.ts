import { Violation } from './invariants.ts';
import { RULES, type Rules, Simulation } from './simulation.ts';

export interface Played {
  seed: number;
  /** What was violated; null where all went well. */
  violation: string | null;
  /** How often what happened. */
  counts: Map<string, number>;
  /** Empty unless asked for. */
  trace: string[];
}

/** Plays one seed. The same seed with the same rules is the same course of events, down to the last call. */
export function simulate(seed: number, rules: Rules = RULES, tracing = false): Played {
  const simulation = new Simulation(seed, rules, tracing);
  let violation: string | null = null;
  try {
    simulation.play();
  } catch (error) {
    violation =
      error instanceof Violation ? error.message : `the simulation broke: ${(error as Error).stack}`;
  }
  return { seed, violation, counts: simulation.counts, trace: simulation.trace };
}

const TRACE_LINES = 60;

/** What to tell of a seed that went wrong: what, how it came about, and how to see it again. */
export function report(seed: number, rules: Rules = RULES): string {
  const { violation, trace } = simulate(seed, rules, true);
  return [
    `seed ${seed}: ${violation}`,
    `Run it again: TROUPE_SEED=${seed} npx vitest run packages/server/test/simulation`,
    ...(trace.length > TRACE_LINES ? [`… ${trace.length - TRACE_LINES} lines before`] : []),
    ...trace.slice(-TRACE_LINES),
  ].join('\n');
}
