import { setTimeout as delay } from 'node:timers/promises';
import { isConnectionError, isContention } from '../store/index.ts';
import { commitGroups, commits } from './meters.ts';

/** Below this many items the cost of the call itself outweighs what a second core saves. */
const WORTH_A_CALL = 8;

interface Waiting<Item, Verdict> {
  item: Item;
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

/**
 * Collects the commits of all runs of a process and sends them as one call, a few calls in flight. No timer: the calls
 * in flight are the pacing, so a lone run waits for nobody and a busy process sends full batches.
 *
 * A batch that fails is sent again one by one, so that one bad item harms only itself. A lost connection leaves open
 * whether the batch was written; sending it again is safe because every item carries its fence.
 */
export class GroupCommit<Item, Verdict> {
  readonly #send: (items: Item[]) => Promise<Verdict[]>;
  readonly #kind: string;
  readonly #key: ((item: Item) => string) | undefined;
  readonly #most: number;
  readonly #mostInFlight: number;
  #waiting: Waiting<Item, Verdict>[] = [];
  #inFlight = 0;
  #scheduled = false;
  #closed = false;

  constructor(
    send: (items: Item[]) => Promise<Verdict[]>,
    options: {
      kind?: string;
      /** Items with the same key go in different batches. */
      key?: (item: Item) => string;
      mostItems?: number;
      mostInFlight?: number;
    } = {},
  ) {
    this.#send = send;
    this.#kind = options.kind ?? 'other';
    this.#key = options.key;
    this.#most = options.mostItems ?? 32;
    this.#mostInFlight = options.mostInFlight ?? 2;
  }

  submit(item: Item): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Items that wait for the database give up; for a process that ends while it is away. */
  close(): void {
    this.#closed = true;
  }

  // One turn of the event loop gathers what the other runs of this turn commit as well.
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#mostInFlight) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#waiting.length > 0 && this.#inFlight < this.#mostInFlight) {
        // Two large batches at once use two cores where one would use one; small ones are not worth a call of their own.
        const free = this.#mostInFlight - this.#inFlight;
        const share = Math.max(Math.ceil(this.#waiting.length / free), WORTH_A_CALL);
        void this.#flush(Math.min(share, this.#most));
      }
    });
  }

  async #flush(count: number): Promise<void> {
    const batch = this.#take(count);
    this.#inFlight++;
    commitGroups.observe(batch.length, this.#kind);
    try {
      const verdicts = await this.#send(batch.map((waiting) => waiting.item));
      for (let i = 0; i < batch.length; i++) this.#answer(batch[i]!, verdicts[i]!);
    } catch (error) {
      await this.#oneByOne(batch, error);
    } finally {
      this.#inFlight--;
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  #answer(waiting: Waiting<Item, Verdict>, verdict: Verdict): void {
    const refused = (verdict as { ok?: unknown } | null)?.ok === false;
    commits.add(1, this.#kind, refused ? 'refused' : 'committed');
    waiting.resolve(verdict);
  }

  #take(count: number): Waiting<Item, Verdict>[] {
    const key = this.#key;
    if (!key) return this.#waiting.splice(0, count);
    const keys = new Set<string>();
    const batch: Waiting<Item, Verdict>[] = [];
    this.#waiting = this.#waiting.filter((waiting) => {
      if (batch.length >= count || keys.has(key(waiting.item))) return true;
      keys.add(key(waiting.item));
      batch.push(waiting);
      return false;
    });
    return batch;
  }

  async #oneByOne(batch: Waiting<Item, Verdict>[], first: unknown): Promise<void> {
    let known: unknown = batch.length === 1 ? first : undefined;
    for (const waiting of batch) {
      let pause = 20;
      for (;;) {
        if (known !== undefined && (this.#closed || !(isConnectionError(known) || isContention(known)))) {
          commits.add(1, this.#kind, 'failed');
          waiting.reject(known);
          break;
        }
        if (known !== undefined) {
          await delay(pause);
          pause = Math.min(pause * 2, 500);
        }
        try {
          const [verdict] = await this.#send([waiting.item]);
          this.#answer(waiting, verdict!);
          break;
        } catch (error) {
          known = error;
        }
      }
      known = undefined;
    }
  }
}
