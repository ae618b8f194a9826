import { setTimeout as delay } from 'node:timers/promises';
import {
  type BudgetReport,
  type Database,
  type Lease,
  leaseBudget,
  leasedBy,
  reportBudgets,
} from '../store/index.ts';
import { costOf } from './think.ts';

export interface Denied {
  budget: string;
  policy: 'stop' | 'fallback' | 'wait';
  /** What the budget was when it refused; a larger one since then is a reason to ask again. */
  amount?: number;
}

export interface Reservation {
  /** What the model may use; less than asked for where the budget is nearly spent. */
  outputTokens: number;
  /** What was really used; null gives all of it back. */
  settle(used: { inputTokens: number; outputTokens: number; cost: number } | null): void;
}

interface Wanted {
  inputTokens: number;
  outputTokens: number;
  price: { inputPrice: number; outputPrice: number };
}

/** The step that a reservation pays for. */
export interface Spender {
  run: string;
  step: number;
}

interface Share {
  unit: 'tokens' | 'cost';
  /** Leased and free to reserve. */
  free: number;
  // Totals since the worker began.
  granted: number;
  spent: number;
  returned: number;
  reported: number;
  lastUsed: number;
  /** The last spending that was not reported. */
  spender: Spender | null;
}

/** A share is leased in pieces of so many reservations, so that the budget's row is touched seldom. */
const CHUNK = 8;
/** A model needs at least so many tokens to say anything. */
const LEAST_OUTPUT = 16;
const REPORT_EVERY_MS = 500;
const IDLE_MS = 1_000;
/** How long a reservation waits for other workers to give back what they hold but do not use. */
const PATIENCE_MS = 4_000;

/**
 * Budgets are reserved before a model call and settled after it, from a share that this worker leased: what is leased
 * can be spent by nobody else, so the limit is never exceeded, and no row is written per step. Unused shares go back.
 */
export class Budgets {
  readonly #db: Database;
  readonly #worker: string;
  readonly #shares = new Map<string, Share>();
  readonly #leasing = new Map<string, Promise<Lease>>();
  #reporting = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(db: Database, worker: string) {
    this.#db = db;
    this.#worker = worker;
  }

  async reserve(budgets: string[], wanted: Wanted, spender: Spender): Promise<Reservation | Denied> {
    const taken: { share: Share; amount: number }[] = [];
    const giveBack = () => {
      for (const { share, amount } of taken) share.free += amount;
    };
    let outputTokens = wanted.outputTokens;
    for (const budget of budgets) {
      const got = await this.#take(budget, wanted, outputTokens);
      if ('policy' in got) {
        giveBack();
        return got;
      }
      if (got.share) taken.push({ share: got.share, amount: got.amount });
      outputTokens = got.outputTokens;
    }
    let open = true;
    return {
      outputTokens,
      settle: (used) => {
        if (!open) return;
        open = false;
        if (!used) giveBack();
        else {
          for (const { share, amount } of taken) {
            const spent = share.unit === 'tokens' ? used.inputTokens + used.outputTokens : used.cost;
            share.spent += spent;
            share.spender = spender;
            share.free += amount - spent;
          }
        }
        this.#reportSoon();
      },
    };
  }

  async #take(
    budget: string,
    wanted: Wanted,
    outputTokens: number,
  ): Promise<{ share: Share | null; amount: number; outputTokens: number } | Denied> {
    const began = performance.now();
    for (;;) {
      const share = this.#shares.get(budget);
      const full = share ? amountOf(share.unit, wanted, outputTokens) : 0;
      if (share && share.free >= full) return this.#reserved(share, full, outputTokens);

      const pending = this.#leasing.get(budget);
      if (pending) {
        await pending.catch(() => {});
        continue;
      }
      const want = share
        ? full * CHUNK - share.free
        : CHUNK * Math.max(...UNITS.map((unit) => amountOf(unit, wanted, outputTokens)));
      const lease = await this.#lease(budget, want);
      if (lease.unlimited) return { share: null, amount: 0, outputTokens };
      if (lease.granted > 0) continue;
      // The budget has no more to give: a shorter answer may still fit into what this worker holds.
      const fitting = share ? fitInto(share, wanted, outputTokens) : 0;
      if (share && fitting > 0) return this.#reserved(share, amountOf(share.unit, wanted, fitting), fitting);
      // What other workers hold, or other runs of this one have reserved, may come back unspent.
      const reserved = share ? share.granted - share.spent - share.returned - share.free : 0;
      if ((!lease.others && reserved <= 0) || performance.now() - began > PATIENCE_MS) {
        // The warning comes before the event that the budget is exhausted. A failed report is repeated by its timer.
        await this.report().catch(() => {});
        return { budget, policy: lease.onExhausted ?? 'stop', amount: lease.amount ?? 0 };
      }
      await delay(50);
    }
  }

  /** One question at a time per budget: a second one that knows as little would be granted the same again. */
  #lease(budget: string, want: number): Promise<Lease> {
    const known = this.#shares.get(budget)?.granted ?? 0;
    const leasing = leaseBudget(this.#db, budget, this.#worker, known, want)
      .then((lease) => {
        if (lease.granted > 0) this.#grant(budget, lease);
        return lease;
      })
      .finally(() => this.#leasing.delete(budget));
    this.#leasing.set(budget, leasing);
    return leasing;
  }

  #reserved(share: Share, amount: number, outputTokens: number) {
    share.free -= amount;
    share.lastUsed = performance.now();
    return { share, amount, outputTokens };
  }

  #grant(budget: string, lease: Lease): void {
    let share = this.#shares.get(budget);
    if (!share) {
      share = {
        unit: lease.unit!,
        free: 0,
        granted: 0,
        spent: 0,
        returned: 0,
        reported: 0,
        lastUsed: performance.now(),
        spender: null,
      };
      this.#shares.set(budget, share);
    }
    share.free += lease.granted;
    share.granted += lease.granted;
    this.#reportSoon();
  }

  #reportSoon(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.report().catch(() => this.#reportSoon());
    }, REPORT_EVERY_MS);
  }

  /**
   * Tells the database what was spent, and gives idle shares back (all of them when the worker stops).
   * One report after the other: an older one that arrived later would take back what the newer one told.
   */
  report(all = false): Promise<void> {
    this.#reporting = this.#reporting.catch(() => {}).then(() => this.#report(all));
    return this.#reporting;
  }

  async #report(all: boolean): Promise<void> {
    const now = performance.now();
    const entries: BudgetReport[] = [];
    let holding = false;
    for (const [budget, share] of this.#shares) {
      if (share.free > 0) {
        if (all || now - share.lastUsed > IDLE_MS) {
          share.returned += share.free;
          share.free = 0;
        } else holding = true;
      }
      if (share.spent + share.returned === share.reported) continue;
      const { spent, returned, spender } = share;
      entries.push({ budget, spent, returned, ...spender });
    }
    if (entries.length > 0) await reportBudgets(this.#db, this.#worker, entries);
    for (const entry of entries) {
      const share = this.#shares.get(entry.budget);
      if (!share) continue;
      share.reported = entry.spent + entry.returned;
      if (share.spent === entry.spent) share.spender = null;
    }
    if (holding) this.#reportSoon();
  }

  /**
   * This worker may have been taken for dead, and its shares with it: those that are gone are no longer its own.
   * What is still reserved of them belongs to runs that were taken away as well, and comes back to nobody.
   */
  async verify(): Promise<void> {
    await this.#reporting.catch(() => {});
    if (this.#shares.size === 0) return;
    const leased = new Set(await leasedBy(this.#db, this.#worker));
    for (const budget of [...this.#shares.keys()]) if (!leased.has(budget)) this.#shares.delete(budget);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.report(true);
  }
}

const UNITS = ['tokens', 'cost'] as const;

function amountOf(unit: 'tokens' | 'cost', wanted: Wanted, outputTokens: number): number {
  const usage = { inputTokens: wanted.inputTokens, outputTokens };
  return unit === 'tokens' ? usage.inputTokens + usage.outputTokens : costOf({ usage }, wanted.price);
}

/** The longest answer that what is free pays for; 0 where it is not worth asking. */
function fitInto(share: Share, wanted: Wanted, outputTokens: number): number {
  const perToken = share.unit === 'tokens' ? 1 : wanted.price.outputPrice;
  const left = share.free - amountOf(share.unit, wanted, 0) - 1;
  const tokens = perToken === 0 ? outputTokens : Math.min(outputTokens, Math.floor(left / perToken));
  return tokens >= LEAST_OUTPUT ? tokens : 0;
}
