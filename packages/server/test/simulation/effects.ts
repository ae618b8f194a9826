import { Violation } from './invariants.ts';
import type { ModelStore } from './model-store.ts';

interface Execution {
  worker: string;
  began: number;
}

/** What was really done in the world outside, whatever the ledger says: the truth that the ledger is held to. */
export class EffectLog {
  readonly #executions = new Map<string, Execution[]>();
  readonly #settled = new Set<string>();
  readonly #allowedAgain = new Map<string, number>();
  readonly #store: ModelStore;

  constructor(store: ModelStore) {
    this.#store = store;
  }

  of(run: string, call: string): Execution[] {
    return this.#executions.get(`${run}/${call}`) ?? [];
  }

  /** Somebody outside said what came of a call. */
  settled(run: string, call: string): void {
    this.#settled.add(`${run}/${call}`);
  }

  wasSettled(run: string, call: string): boolean {
    return this.#settled.has(`${run}/${call}`);
  }

  /** A person decided that a call in doubt is to be made (again). */
  letAgain(run: string, call: string): void {
    const key = `${run}/${call}`;
    this.#allowedAgain.set(key, (this.#allowedAgain.get(key) ?? 0) + 1);
  }

  allowed(run: string, call: string): number {
    return 1 + (this.#allowedAgain.get(`${run}/${call}`) ?? 0);
  }

  /** An effect begins; from here on it may have happened. Answers its number. */
  begin(run: string, call: string, by: { worker: string; epoch: number }, now: number): number {
    const row = this.#store.runs.get(run);
    const record = row?.calls.get(call);
    const { worker } = by;
    if (!record) throw new Violation('an effect began before its call was on disk', { run, call, worker });
    if (record.waitsFor !== null)
      throw new Violation('a worker executed a call that waits for somebody outside', { run, call, worker });
    // A cancel may be on its way to a worker that still holds the run in good faith; its result says so.
    if (!['requested', 'running', 'canceled'].includes(record.status))
      throw new Violation(`an effect began after it was recorded as ${record.status}`, { run, call, worker });
    if (record.status !== 'canceled' && (row!.worker !== worker || row!.epoch !== by.epoch))
      throw new Violation('an effect was begun by a worker that had lost the run', { run, call, ...by });
    const executions = this.of(run, call);
    executions.push({ worker, began: now });
    this.#executions.set(`${run}/${call}`, executions);
    if (record.effect === 'once' && executions.length > this.allowed(run, call))
      throw new Violation('a once effect was executed again', { run, call, executions: executions.length });
    return executions.length;
  }
}
