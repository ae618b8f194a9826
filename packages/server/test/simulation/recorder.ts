import { ModelStore } from './model-store.ts';

const METHODS = [
  'start',
  'post',
  'claim',
  'commit',
  'resync',
  'handOver',
  'settle',
  'expire',
  'cancel',
  'absorb',
  'retry',
  'raiseBudget',
  'beat',
  'heldBy',
  'rowlessHolders',
  'lockHolders',
  'reap',
  'disown',
  'forgetWorker',
  'restart',
] as const;
export type Method = (typeof METHODS)[number];

/** One call of the store: what was asked, when by the database's clock, and what it answered. */
export interface Recorded {
  method: Method;
  args: unknown[];
  at: number;
  /** Whose lock was held at that moment. */
  locks: string[];
  answer: unknown;
}

/** A store that writes down every call that reaches it from outside. */
export function recording(log: Recorded[]): typeof ModelStore {
  return class extends ModelStore {
    constructor(now: () => number, newId: () => string) {
      super(now, newId);
      let inside = false;
      for (const method of METHODS) {
        const original = (this[method] as (...args: unknown[]) => unknown).bind(this);
        const recorded = (...args: unknown[]) => {
          if (inside) return original(...args);
          inside = true;
          try {
            const call = { method, args: structuredClone(args), at: now(), locks: [...this.locks] };
            const answer = original(...args);
            log.push({ ...call, answer: structuredClone(answer) });
            return answer;
          } finally {
            inside = false;
          }
        };
        Object.assign(this, { [method]: recorded });
      }
    }
  };
}
