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
import { runsTakenOver, workersReaped } from './meters.ts';
import { AMNESTY_MS, isDead, Trust, Watch } from './trust.ts';

export const BEAT_MS = 200;
const ROWLESS_EVERY = 5;

export interface LivenessOptions {
  incarnation: string;
  logger: Logger;
  load(): { capacity: number; load: number; draining: boolean; codeTools: readonly string[] };
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
  readonly #trust = new Trust(performance.now());
  readonly #watch = new Watch();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | null = null;
  #waiters: (() => void)[] = [];
  #failing = false;
  #stopped = false;

  constructor(db: Database, options: LivenessOptions) {
    this.#db = db;
    this.#options = options;
  }

  async start(): Promise<void> {
    const uptime = await postgresUptimeMs(this.#db);
    this.#watch.judgeFrom(performance.now() + Math.max(0, AMNESTY_MS - uptime));
    await this.#beat();
    this.#schedule();
  }

  /** Whether others still believe this worker alive. */
  fresh(): boolean {
    return this.#trust.fresh(performance.now());
  }

  /** Resolves once this worker is known to be alive and its runs are known to be its own. */
  async confirmed(): Promise<void> {
    while (!this.fresh() && !this.#stopped) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Own connection was away: whatever was seen of others before says nothing. */
  amnesty(): void {
    this.#watch.amnesty(performance.now());
  }

  #schedule(): void {
    if (this.#stopped) return;
    const now = performance.now();
    // If a worker is due to be judged before the next beat, that beat comes early. The time after which it is judged stays the same.
    const due = this.#watch.nextDue(now);
    const pause = due === null ? BEAT_MS : Math.min(BEAT_MS, Math.ceil(due - now));
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().finally(() => {
        this.#beating = null;
        this.#schedule();
      });
    }, pause);
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
    if (this.#trust.stoodStill(sentAt) > AMNESTY_MS) this.amnesty();
    const stop = this.#trust.acknowledged(sentAt);
    if (stop !== null) {
      void this.#options
        .verify()
        .then(
          () => this.#trust.verified(stop, true),
          () => this.#trust.verified(stop, false),
        )
        .finally(() => this.#wakeWaiters());
    } else if (!this.#trust.doubtful) this.#wakeWaiters();
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
      this.#watch.look(incarnation, count, now);
    };
    for (const other of others) look(other.incarnation, other.beat);
    if (this.#count % ROWLESS_EVERY === 0) {
      for (const incarnation of await rowlessHolders(this.#db))
        if (incarnation !== this.#options.incarnation) look(incarnation, null);
      this.#watch.keep(present);
    }
    const silent = this.#watch.silent(now);
    if (silent.length === 0) return;
    const holders = await lockHolders(
      this.#db,
      silent.map(({ incarnation }) => incarnation),
    );
    for (const one of silent) {
      const hung = holders.has(one.incarnation);
      if (isDead(one, hung)) await this.#reap(one.incarnation, one.beat, hung);
    }
  }

  async #reap(incarnation: string, seenBeat: number | null, hung: boolean): Promise<void> {
    await this.#options.onReap?.('before');
    const count = await reap(this.#db, incarnation, seenBeat, hung);
    await this.#options.onReap?.('after');
    this.#watch.forget(incarnation);
    if (count === null) return;
    workersReaped.add(1, hung ? 'hung' : 'gone');
    runsTakenOver.add(count);
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
