import { plainText } from './plain-json.ts';
import type { ModelCall } from './ports.ts';

const LONGEST = 160;

/**
 * The ids that the calls of one answer will have, known while it is being written. Some providers number their calls anew in
 * every answer; within a run the id is the key of the effect. What a call that is given up was to be called is free again.
 */
export class CallIds {
  readonly #step: number;
  readonly #used: ReadonlySet<string>;
  readonly #given = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(step: number, used: ReadonlySet<string>) {
    this.#step = step;
    this.#used = used;
  }

  /** Of a call that is being written. */
  of(given: string): string {
    let id = this.#given.get(given);
    if (id === undefined) {
      id = this.#unique(given);
      this.#given.set(given, id);
    }
    return id;
  }

  /** Of all calls of the answer. Where two have one name, what was being written is the first. */
  all<Call extends ModelCall>(calls: readonly Call[]): Call[] {
    const seen = new Set<string>();
    return calls.map((call) => {
      const id = seen.has(call.id) ? this.#unique(call.id) : this.of(call.id);
      seen.add(call.id);
      return { ...call, id };
    });
  }

  #unique(given: string): string {
    const base = plainText((given || 'call').slice(0, LONGEST));
    let id = base;
    for (let n = 0; this.#used.has(id) || this.#taken.has(id); n++)
      id = n === 0 ? `${base}_${this.#step}` : `${base}_${this.#step}_${n}`;
    this.#taken.add(id);
    return id;
  }
}
