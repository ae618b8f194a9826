import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, messageOf } from '../base/index.ts';
import {
  type Database,
  isContention,
  joinChild,
  openJoins,
  type RetryWith,
  type ToldAgent,
  toldAgent,
} from '../store/index.ts';

const MOST = 100;
/** A database that is away keeps nobody. */
const CLOSING_MS = 500;

/** What a message to an agent would run with now. */
export type CurrentOf = (told: ToldAgent) => Promise<RetryWith>;

export interface JoinsOptions {
  logger: Logger;
  current: CurrentOf | undefined;
  /** The call of a run was settled by the end of its child. */
  onSettled(joined: { thread: string; queued: boolean; how: 'completed' | 'failed' }): void;
  /** A child that nobody waits for any more was canceled. */
  onCanceled(run: string, thread: string): void;
  /** Something was written in a thread; `queued`: it started a run. */
  onTold(thread: string, queued: boolean): void;
}

/**
 * Brings children and the calls that wait for them together (`troupe.joins`). Whoever ends leaves a row in its own commit; any process
 * may take it, one transaction each. Called where a process knows of an end, and by every sweep: a process that dies in between costs
 * half a second.
 */
export class Joins {
  readonly #db: Database;
  readonly #options: JoinsOptions;
  #joining: Promise<void> | null = null;
  #again = false;
  #closed = false;

  constructor(db: Database, options: JoinsOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** There may be something to join. */
  soon(): void {
    this.#again = true;
    if (!this.#closed) this.#joining ??= this.#join();
  }

  async #join(): Promise<void> {
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#all();
      }
    } catch (error) {
      // The next sweep looks again.
      this.#options.logger.debug({ error: messageOf(error) }, 'children were not looked for');
    } finally {
      this.#joining = null;
    }
  }

  /** What is left is for others to join. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.race([this.#joining, delay(CLOSING_MS, undefined, { ref: false })]);
  }

  /** Until none is left that this process can take: a child that is canceled leaves rows of its own children. */
  async #all(): Promise<void> {
    for (let done = 1; done > 0; ) {
      done = 0;
      for (const { id, tells } of await openJoins(this.#db, MOST)) {
        if (this.#closed) return;
        if (await this.#one(id, tells)) done++;
      }
    }
  }

  /** One that fails, or whose run somebody holds, is left for the next sweep, and does not keep the others. */
  async #one(join: string, tells: boolean): Promise<boolean> {
    try {
      const joined = await joinChild(this.#db, join, tells ? await this.#currentFor(join) : null);
      if (joined?.settled) this.#options.onSettled(joined);
      if (joined?.canceled) this.#options.onCanceled(joined.canceled, joined.thread);
      if (joined && 'told' in joined && joined.told) this.#options.onTold(joined.told, joined.queued);
      return joined !== null;
    } catch (error) {
      const level = isContention(error) ? 'debug' : 'error';
      this.#options.logger[level]({ join, error: messageOf(error) }, 'a child was not joined');
      return false;
    }
  }

  /** Who cannot be told how things are now is told as they were when it gave the task. */
  async #currentFor(join: string): Promise<RetryWith | null> {
    const { current, logger } = this.#options;
    const told = current ? await toldAgent(this.#db, join) : null;
    if (!told) return null;
    return current!(told).catch((error) => {
      logger.warn({ join, error: messageOf(error) }, 'what an agent runs with now could not be found out');
      return null;
    });
  }
}
