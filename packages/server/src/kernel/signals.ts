import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, messageOf, StartupError } from '../base/index.ts';
import { type Database, notify, openSignals } from '../store/index.ts';

const BATCH_MS = 3;
/** Postgres takes at most 8,000 bytes in one notice. */
const MOST_IDS = 150;

export interface Hints {
  /** Something was queued. */
  queued?: true;
  /** These runs were canceled, absorbed or steered. */
  runs?: string[];
  /** These threads have something new. */
  threads?: string[];
}

/**
 * The one direct connection of a process: it hears hints, sends hints, and holds the advisory lock that shows the
 * worker alive. Hints are never sent inside a write: there they would serialise all commits. A lost hint costs a poll.
 */
export class Signals {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #lock: string | null;
  readonly #listeners = new Set<(hints: Hints) => void>();
  readonly #onReconnect: () => void;
  #client: Awaited<ReturnType<Database['connectDirect']>> | null = null;
  #pending: { queued: boolean; runs: Set<string>; threads: Set<string> } = {
    queued: false,
    runs: new Set(),
    threads: new Set(),
  };
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(db: Database, options: { logger: Logger; lockFor: string | null; onReconnect?: () => void }) {
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
        const hints = JSON.parse(notice.payload ?? '{}') as Hints;
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
        for (const listener of this.#listeners) listener({ queued: true });
        return;
      } catch (error) {
        this.#logger.debug({ error: messageOf(error) }, 'signal connection not back yet');
        await delay(pause);
      }
    }
  }

  send(hints: Hints): void {
    if (hints.queued) this.#pending.queued = true;
    for (const run of hints.runs ?? []) this.#pending.runs.add(run);
    for (const thread of hints.threads ?? []) this.#pending.threads.add(thread);
    this.#timer ??= setTimeout(() => void this.#flush(), BATCH_MS);
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const { queued, runs, threads } = this.#pending;
    this.#pending = { queued: false, runs: new Set(), threads: new Set() };
    const runIds = [...runs];
    const threadIds = [...threads];
    let first = true;
    while (first || runIds.length > 0 || threadIds.length > 0) {
      const hints: Hints = {
        ...(first && queued ? { queued: true } : {}),
        ...(runIds.length > 0 ? { runs: runIds.splice(0, MOST_IDS) } : {}),
      };
      if (!hints.runs && threadIds.length > 0) hints.threads = threadIds.splice(0, MOST_IDS);
      first = false;
      if (this.#client) await notify(this.#client, JSON.stringify(hints)).catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (this.#timer) await this.#flush();
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }
}
