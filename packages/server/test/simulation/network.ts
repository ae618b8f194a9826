import { Violation } from './invariants.ts';
import { Refused } from './model-store.ts';
import type { Random } from './random.ts';
import type { Course, Process, Timeline } from './timeline.ts';

/** How badly things go in one seed. Each number is the chance that it happens to a call. */
export interface Weather {
  /** The connection breaks before the call arrives. */
  unsent: number;
  /** It breaks after the call was carried out. */
  unanswered: number;
  /** It breaks, and the call is carried out later all the same. */
  late: number;
  /** Everything takes long. */
  slow: number;
  /** A notice is lost. */
  deaf: number;
  /** A commit that the database will never take. */
  poison: number;
  /** Something befalls the process at the very moment when its call is carried out. */
  struck: number;
  /** Somebody speaks at the very moment when a commit is carried out. */
  heckled: number;
}

export const CALM: Weather = {
  unsent: 0,
  unanswered: 0,
  late: 0,
  slow: 0,
  deaf: 0,
  poison: 0,
  struck: 0,
  heckled: 0,
};

export function buildWeather(random: Random): Weather {
  if (random.chance(0.1)) return CALM;
  const bad = random.pick([0.02, 0.1, 0.3]);
  return {
    unsent: bad * random.next(),
    unanswered: bad * random.next(),
    late: bad * random.next(),
    slow: bad * random.next(),
    deaf: random.pick([0, 0.3, 1]),
    poison: random.pick([0, 0, 0.01]),
    struck: random.pick([0, 0.01, 0.05]),
    heckled: random.pick([0, 0.1, 0.5]),
  };
}

type CarriedOut<Answer> = { error: Error } | { answer: Answer; heldUpMs: number };

export class ConnectionLost extends Error {}
/** One for all: an error with its stack costs more than the rest of a call. */
const LOST = new ConnectionLost('the connection was lost');
/** The database refuses what it was sent, and will refuse it again. */
export class Poisoned extends Error {}

/** The way to the database and back. */
export class Network {
  weather = CALM;
  /** While Postgres restarts nothing arrives. */
  down = false;
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #count: (what: string) => void;
  readonly #afterCall: (name: string, process: Process | null) => number;

  constructor(
    timeline: Timeline,
    random: Random,
    count: (what: string) => void,
    /** Answers for how much longer than usual the answer is on its way. */
    afterCall: (name: string, process: Process | null) => number,
  ) {
    this.#timeline = timeline;
    this.#random = random;
    this.#count = count;
    this.#afterCall = afterCall;
  }

  /** One call of the store. It is carried out at once and whole, some time between being sent and being answered. */
  *ask<Answer>(process: Process | null, name: string, call: () => Answer): Course<Answer> {
    return (yield (resume, fail) => {
      const fault = this.#fault();
      if (fault !== 'none') this.#count(`fault:${fault}`);
      const stretch = fault === 'slow' ? this.#random.pick([20, 200, 1_500]) : 1;
      const there = this.#random.between(0.2, 6) * stretch;
      const back = this.#random.between(0.2, 6) * stretch;
      if (fault === 'unsent' || fault === 'late' || fault === 'unanswered') {
        this.#timeline.after(there + back, process, () => fail(LOST));
        const later = fault === 'late' ? this.#random.between(10, 3_000) : 0;
        if (fault !== 'unsent')
          this.#timeline.after(there + later, null, () => void this.#carryOut(process, name, call));
        return;
      }
      this.#timeline.after(there, null, () => {
        const result = this.#carryOut(process, name, call);
        if ('error' in result) this.#timeline.after(back, process, () => fail(result.error));
        else this.#timeline.after(back + result.heldUpMs, process, () => resume(result.answer));
      });
    }) as Answer;
  }

  #fault(): 'none' | 'unsent' | 'unanswered' | 'late' | 'slow' {
    const { unsent, unanswered, late, slow } = this.weather;
    // Asked millions of times: no list is made for it.
    let left = this.#random.next() - unsent;
    if (left < 0) return 'unsent';
    left -= unanswered;
    if (left < 0) return 'unanswered';
    left -= late;
    if (left < 0) return 'late';
    left -= slow;
    if (left < 0) return 'slow';
    return 'none';
  }

  #carryOut<Answer>(process: Process | null, name: string, call: () => Answer): CarriedOut<Answer> {
    if (this.down) return { error: LOST };
    try {
      const answer = call();
      return { answer, heldUpMs: this.#afterCall(name, process) };
    } catch (error) {
      if (error instanceof Poisoned) return { error };
      if (error instanceof Refused) throw new Violation(`the database refused ${name}: ${error.message}`);
      throw error;
    }
  }
}
