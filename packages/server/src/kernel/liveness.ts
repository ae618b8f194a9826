import { hostname } from 'node:os';
import { type Logger, messageOf } from '../base/index.ts';
import {
  beat,
  type Database,
  forgetWorker,
  lockHolders,
  postgresUptimeMs,
  reap,
  rowlessHolders,
} from '../store/index.ts';

export const BEAT_MS = 200;
/** Lock free and heart still for so long: gone. */
const GONE_MS = 700;
/** Lock held but heart still for so long: hung. */
const HUNG_MS = 3_000;
/** Older than this, a worker no longer trusts itself to be alive in the eyes of others. */
const TRUST_MS = 2_000;
/** After Postgres or the connection was away, everybody gets so long to show up. */
const AMNESTY_MS = 2_000;
const ROWLESS_EVERY = 5;

interface Observed {
  beat: number | null;
  /** When the counter was last seen to change, on this process's monotonic clock. */
  since: number;
}

export interface LivenessOptions {
  incarnation: string;
  logger: Logger;
  load(): { capacity: number; load: number; draining: boolean };
  /** Runs of a dead worker went back to the queue. */
  onReaped(count: number): void;
  /** The heart had stopped for longer than others wait: find out which runs are still ours, before anything is begun. */
  verify(): Promise<void>;
  onReap?: (when: 'before' | 'after') => void | Promise<void>;
}

/**
 * Shows this worker alive and watches the others. A worker holds an advisory lock for as long as its connection lives and
 * counts up a heartbeat; observers time the counter on their own clock, never by the database's.
 * Both must be silent before anybody is declared gone: a cut connection or a restart of Postgres frees the locks of the living.
 */
export class Liveness {
  readonly #db: Database;
  readonly #options: LivenessOptions;
  readonly #seen = new Map<string, Observed>();
  #count = 0;
  #ackAt = Number.NEGATIVE_INFINITY;
  #judgeFrom = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | null = null;
  #verifying: Promise<void> | null = null;
  #waiters: (() => void)[] = [];
  #failing = false;
  #stopped = false;

  constructor(db: Database, options: LivenessOptions) {
    this.#db = db;
    this.#options = options;
  }

  async start(): Promise<void> {
    const uptime = await postgresUptimeMs(this.#db);
    this.#judgeFrom = performance.now() + Math.max(0, AMNESTY_MS - uptime);
    await this.#beat();
    this.#schedule();
  }

  /** Whether others still believe this worker alive. */
  fresh(): boolean {
    return performance.now() - this.#ackAt < TRUST_MS && this.#verifying === null;
  }

  /** Resolves once this worker is known to be alive and its runs are known to be its own. */
  async confirmed(): Promise<void> {
    while (!this.fresh() && !this.#stopped) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Own connection was away: whatever was seen of others before says nothing. */
  amnesty(): void {
    this.#judgeFrom = performance.now() + AMNESTY_MS;
    this.#seen.clear();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().finally(() => {
        this.#beating = null;
        this.#schedule();
      });
    }, BEAT_MS);
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    try {
      const self = {
        incarnation: this.#options.incarnation,
        host: hostname(),
        pid: process.pid,
        beat: ++this.#count,
        ...this.#options.load(),
      };
      const others = await beat(this.#db, self);
      this.#acknowledged(sentAt);
      if (this.#failing) {
        this.#failing = false;
        this.amnesty();
      }
      await this.#observe(others);
    } catch (error) {
      if (!this.#failing) this.#options.logger.warn({ error: messageOf(error) }, 'heartbeat failed');
      this.#failing = true;
    }
  }

  #acknowledged(sentAt: number): void {
    const gap = sentAt - this.#ackAt;
    this.#ackAt = sentAt;
    if (gap > TRUST_MS && gap !== Number.POSITIVE_INFINITY) {
      this.amnesty();
      this.#verifying = this.#options
        .verify()
        .catch(() => {
          // Unknown is not trusted: the next acknowledged beat tries again.
          this.#ackAt = Number.NEGATIVE_INFINITY + 1;
        })
        .finally(() => {
          this.#verifying = null;
          this.#wakeWaiters();
        });
    } else if (this.#verifying === null) this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  async #observe(others: { incarnation: string; beat: number }[]): Promise<void> {
    const now = performance.now();
    const present = new Set<string>();
    const look = (incarnation: string, count: number | null) => {
      present.add(incarnation);
      const known = this.#seen.get(incarnation);
      if (!known || known.beat !== count) this.#seen.set(incarnation, { beat: count, since: now });
    };
    for (const other of others) look(other.incarnation, other.beat);
    if (this.#count % ROWLESS_EVERY === 0) {
      for (const incarnation of await rowlessHolders(this.#db))
        if (incarnation !== this.#options.incarnation) look(incarnation, null);
      for (const incarnation of this.#seen.keys())
        if (!present.has(incarnation)) this.#seen.delete(incarnation);
    }
    if (now < this.#judgeFrom) return;
    const silent = [...this.#seen].filter(([, observed]) => now - observed.since >= GONE_MS);
    if (silent.length === 0) return;
    const holders = await lockHolders(
      this.#db,
      silent.map(([incarnation]) => incarnation),
    );
    for (const [incarnation, observed] of silent) {
      const hung = holders.has(incarnation);
      if (hung && now - observed.since < HUNG_MS) continue;
      await this.#reap(incarnation, observed.beat, hung);
    }
  }

  async #reap(incarnation: string, seenBeat: number | null, hung: boolean): Promise<void> {
    await this.#options.onReap?.('before');
    const count = await reap(this.#db, incarnation, seenBeat, hung);
    await this.#options.onReap?.('after');
    this.#seen.delete(incarnation);
    if (count === null) return;
    this.#options.logger.warn(
      { worker: incarnation, runs: count, hung },
      'took the runs of a dead worker back into the queue',
    );
    if (count > 0) this.#options.onReaped(count);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#beating;
    this.#wakeWaiters();
    await forgetWorker(this.#db, this.#options.incarnation).catch(() => {});
  }
}
