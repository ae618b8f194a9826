import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { messageOf } from '../base/index.ts';
import { isConnectionError, isContention } from './errors.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const QUIET_CHECK_MS = 10;
/** "Try the transaction again": Graphile Worker does that by itself, beginning after 50 ms. */
const TRY_AGAIN = '40001';

/**
 * A pool that waits for the database instead of failing. It is for Graphile Worker, which marks a finished job as done
 * without waiting for the outcome: a rejection there is nobody's, and would end the process whenever Postgres restarts.
 */
export class PatientPool {
  readonly pool: pg.Pool;
  #waiting = 0;
  #patient = true;

  constructor(config: pg.PoolConfig) {
    this.pool = new pg.Pool(config);
    this.pool.on('error', () => {});
    this.pool.on('connect', (client) => {
      client.on('error', () => {});
      makeRetried(client);
    });
    const connect = this.pool.connect.bind(this.pool);
    const patient = () => this.#connect(connect);
    this.pool.connect = ((callback?: ConnectCallback) => {
      if (!callback) return patient();
      void patient().then((client) => callback(undefined, client, releaseOnce(client)));
    }) as pg.Pool['connect'];
  }

  async #connect(connect: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    this.#waiting++;
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
        const client = this.pool.ending
          ? nobody
          : await connect().catch(() => (this.#patient ? null : nobody));
        if (client) return client;
        await delay(pause);
      }
    } finally {
      this.#waiting--;
    }
  }

  /** From now on, where the database does not answer, nobody waits for it: the process is about to stop. */
  hurry(): void {
    this.#patient = false;
  }

  /** Ends when nobody uses a connection any more, or after so long. */
  async end(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs;
    const busy = () => this.#waiting > 0 || this.pool.totalCount > this.pool.idleCount;
    while (busy() && performance.now() < deadline) await delay(QUIET_CHECK_MS);
    this.hurry();
    await Promise.race([this.pool.end(), delay(QUIET_CHECK_MS * 10, undefined, { ref: false })]);
  }
}

/**
 * Of this time that it was lent, and no later one. Graphile Worker gives the connection that it listens on back twice when it breaks while it
 * is given back anyway; nobody would hear of the error of the second time, and the process would end by it.
 */
function releaseOnce(client: pg.PoolClient): (error?: Error | boolean) => void {
  const release = client.release.bind(client);
  let isReleased = false;
  return (error) => {
    if (isReleased) return;
    isReleased = true;
    release(error);
  };
}

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient,
  done: (release?: Error | boolean) => void,
) => void;

/** What broke under a statement, or kept it waiting for too long, is told as an error after which it is sent again. */
function makeRetried(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((...args: unknown[]) => {
    const result = query(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((cause: unknown) => {
      if (!isConnectionError(cause) && !isContention(cause)) throw cause;
      throw Object.assign(new Error(messageOf(cause), { cause }), { code: TRY_AGAIN });
    });
  }) as typeof client.query;
}

/** What is asked for after the end gets no answer, and no error either. */
const nobody = {
  async query(...args: unknown[]) {
    const nothing = { rows: [], rowCount: 0 };
    const callback = args.at(-1);
    if (typeof callback === 'function') callback(undefined, nothing);
    return nothing;
  },
  release() {},
  on() {},
  once() {},
  removeListener() {},
} as unknown as pg.PoolClient;
