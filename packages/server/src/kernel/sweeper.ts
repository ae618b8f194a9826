import { type Logger, messageOf } from '../base/index.ts';
import { type Database, sweep } from '../store/index.ts';
import type { Probe } from './probe.ts';

const EVERY_MS = 500;
const MOST = 100;

export interface SweeperOptions {
  logger: Logger;
  probe: Probe | undefined;
  onQueued(): void;
  /** Children, or calls that waited for them, have ended. */
  onJoins(): void;
}

/** Ends what has waited too long. Every worker sweeps; rows under somebody's lock are skipped, so they do not get in each other's way. */
export class Sweeper {
  readonly #db: Database;
  readonly #options: SweeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(db: Database, options: SweeperOptions) {
    this.#db = db;
    this.#options = options;
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#sweep(), EVERY_MS * (0.5 + Math.random()));
  }

  async #sweep(): Promise<void> {
    const { probe, logger } = this.#options;
    let full = false;
    try {
      if (probe) await probe('expire', 'before', []);
      const swept = await sweep(this.#db, MOST);
      if (probe && swept.runs > 0) await probe('expire', 'after', []);
      if (swept.queued) this.#options.onQueued();
      // What it ended itself was not there yet when it looked.
      if (swept.joins || swept.runs > 0) this.#options.onJoins();
      full = swept.runs === MOST;
    } catch (error) {
      logger.debug({ error: messageOf(error) }, 'sweep failed');
    }
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#sweep(), full ? 1 : EVERY_MS * (0.8 + Math.random() * 0.4));
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
