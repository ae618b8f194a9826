import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '@troupe/protocol';
import { type Logger, messageOf, newId, StartupError } from '../base/index.ts';
import { type Database, type LockFor, notify, openSignals } from '../store/index.ts';

const BATCH_MS = 3;
/** Postgres takes at most 8,000 bytes in one notice. */
const MOST_IDS = 150;
const MOST_BYTES = 7_500;
const MOST_PIECES = 10_000;

export interface Hints {
  /** Something was queued. */
  queued?: true;
  /** Budgets were set or deleted. */
  budgets?: true;
  /** These runs were canceled, absorbed or steered. */
  runs?: string[];
  /** These threads have something new. */
  threads?: string[];
  /** Somebody reads these threads as they are written. */
  watch?: string[];
  /** Somebody begins to, and wants all that is being written there. */
  whole?: string[];
  /** Pieces of what models are writing, each far below the size of a notice. Whoever shows them knows their form. */
  live?: Json[];
}

interface Pending {
  queued: boolean;
  budgets: boolean;
  runs: Set<string>;
  threads: Set<string>;
  watch: Set<string>;
  whole: Set<string>;
  live: Json[];
}

const nothing = (): Pending => ({
  queued: false,
  budgets: false,
  runs: new Set(),
  threads: new Set(),
  watch: new Set(),
  whole: new Set(),
  live: [],
});

/**
 * The one direct connection of a process: it hears hints, sends hints, and holds the advisory lock that shows the
 * process alive. Hints are never sent inside a write: there they would serialise all commits. A lost hint costs a poll.
 */
export class Signals {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #lock: LockFor;
  readonly #listeners = new Set<(hints: Hints) => void>();
  readonly #onReconnect: () => void;
  #client: Awaited<ReturnType<Database['connectDirect']>> | null = null;
  /** So that what is meant for other processes is not heard by the one that said it. */
  readonly #id = newId();
  #pending = nothing();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | null = null;
  #closed = false;

  constructor(db: Database, options: { logger: Logger; lockFor: LockFor; onReconnect?: () => void }) {
    this.#db = db;
    this.#logger = options.logger;
    this.#lock = options.lockFor;
    this.#onReconnect = options.onReconnect ?? (() => {});
  }

  listen(listener: (hints: Hints) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async connect(): Promise<void> {
    const client = await this.#db.connectDirect('signals');
    try {
      if (!(await openSignals(client, this.#lock))) {
        throw new StartupError(
          'direct_connection_needed',
          'The database connection goes through a transaction pooler, which loses locks and notices.',
          { hint: 'Set DATABASE_DIRECT_URL to an address that reaches PostgreSQL directly.' },
        );
      }
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    client.on('notification', (notice) => {
      try {
        const { from, ...hints } = JSON.parse(notice.payload ?? '{}') as Hints & { from?: string };
        if (from === this.#id) return;
        for (const listener of this.#listeners) listener(hints);
      } catch {
        // not ours
      }
    });
    client.once('end', () => {
      if (this.#client !== client) return;
      this.#client = null;
      if (!this.#closed) void this.#reconnect();
    });
    this.#client = client;
  }

  async #reconnect(): Promise<void> {
    this.#logger.warn({}, 'signal connection lost, connecting again');
    for (let pause = 20; !this.#closed; pause = Math.min(pause * 2, 500)) {
      try {
        await this.connect();
        this.#onReconnect();
        for (const listener of this.#listeners) listener({ queued: true, budgets: true });
        return;
      } catch (error) {
        this.#logger.debug({ error: messageOf(error) }, 'signal connection not back yet');
        await delay(pause);
      }
    }
  }

  send(hints: Hints): void {
    const pending = this.#pending;
    if (hints.queued) pending.queued = true;
    if (hints.budgets) pending.budgets = true;
    for (const name of ['runs', 'threads', 'watch', 'whole'] as const) {
      for (const id of hints[name] ?? []) pending[name].add(id);
    }
    for (const piece of hints.live ?? []) pending.live.push(piece);
    // Whoever misses a piece asks for all of it.
    if (pending.live.length > MOST_PIECES) pending.live = [];
    this.#flushSoon();
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => void this.#flush(), BATCH_MS);
  }

  /** One after the other: what comes up while a slow connection takes its time is gathered. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#send().finally(() => {
      this.#flushing = null;
      this.#timer = undefined;
      if (!this.#closed && !isEmpty(this.#pending)) this.#flushSoon();
    });
    return this.#flushing;
  }

  async #send(): Promise<void> {
    const pending = this.#pending;
    this.#pending = nothing();
    for (const notice of noticesOf(pending, this.#id)) {
      if (this.#client) await notify(this.#client, JSON.stringify(notice)).catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#flushing;
    if (!isEmpty(this.#pending)) await this.#flush();
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }
}

function isEmpty({ queued, budgets, live, runs, threads, watch, whole }: Pending): boolean {
  return (
    !queued && !budgets && live.length === 0 && [runs, threads, watch, whole].every(({ size }) => size === 0)
  );
}

/** In one notice where it fits. What a thread has new goes before what is being written there now, as it happened. */
function noticesOf(pending: Pending, from: string): object[] {
  const forOthers = ['threads', 'watch', 'whole', 'live'] as const;
  const told = forOthers.filter((name) => [...pending[name]].length > 0);
  if (!pending.queued && !pending.budgets && pending.runs.size === 0 && told.length > 1) {
    const all = { from, ...Object.fromEntries(told.map((name) => [name, [...pending[name]]])) };
    if (Buffer.byteLength(JSON.stringify(all)) <= MOST_BYTES) return [all];
  }
  const notices: object[] = [];
  // Before what is queued, which they hold for.
  if (pending.budgets) notices.push({ from, budgets: true });
  if (pending.queued && pending.runs.size === 0) notices.push({ queued: true });
  for (const [index, runs] of portions(pending.runs).entries())
    notices.push({ ...(pending.queued && index === 0 ? { queued: true } : {}), runs });
  for (const name of ['threads', 'watch', 'whole'] as const) {
    for (const ids of portions(pending[name])) notices.push({ from, [name]: ids });
  }
  let live: Json[] = [];
  let bytes = 0;
  for (const piece of pending.live) {
    const size = Buffer.byteLength(JSON.stringify(piece)) + 1;
    if (live.length === 0 || bytes + size > MOST_BYTES) {
      live = [];
      bytes = 0;
      notices.push({ from, live });
    }
    live.push(piece);
    bytes += size;
  }
  return notices;
}

function portions(ids: Set<string>): string[][] {
  const all = [...ids];
  const portioned: string[][] = [];
  for (let at = 0; at < all.length; at += MOST_IDS) portioned.push(all.slice(at, at + MOST_IDS));
  return portioned;
}
