import { type Logger, messageOf } from '../base/index.ts';
import { type Database, expireUnclaimed, sweep, takeEnded } from '../store/index.ts';
import type { Probe } from './probe.ts';
import type { Telemetry } from './telemetry.ts';

const EVERY_MS = 500;
const MOST = 100;
/** So many sweeps go by between looks for runs that no worker can take. */
const UNCLAIMED_EVERY = 10;

export interface SweeperOptions {
  logger: Logger;
  probe: Probe | undefined;
  /** The code tools that this worker has. */
  codeTools: readonly string[];
  telemetry: Telemetry | undefined;
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
  #count = 0;
  /** Of what ended before, nobody has told the model calls and the tools: it is left to the purge. */
  readonly #began = performance.now();

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
      // From the first sweep on, so that a worker that has just come is known to have been there.
      if (this.#count++ % UNCLAIMED_EVERY === 0)
        await expireUnclaimed(this.#db, this.#options.codeTools, MOST);
      const { telemetry } = this.#options;
      const ended = telemetry ? await takeEnded(this.#db, performance.now() - this.#began, MOST) : [];
      if (ended.length > 0) telemetry!.ended(ended);
      full = swept.runs === MOST || ended.length === MOST;
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
