import type { EventEmitter } from 'node:events';
import pg from 'pg';
import { type Logger, once } from '../base/index.ts';
import { type DatabaseShortage, shortageIn } from './errors.ts';
import { type Kysely, kysely } from './kysely.ts';
import { PatientPool } from './patient-pool.ts';
import { tracksNames } from './pooler.ts';
import type { DB } from './schema.gen.ts';

export interface DatabaseOptions {
  url: string;
  /**
   * Where `url` leads through a transaction pooler: the address of PostgreSQL itself. The kernel, the heartbeat, LISTEN
   * and jobs use it; only the shared pool goes through the pooler. Default: `url`.
   */
  directUrl?: string | undefined;
  applicationName: string;
  /** Connections for everything but the kernel. */
  poolSize?: number;
  /** Connections for the kernel's commits and claims. */
  kernelPoolSize?: number;
  logger: Logger;
  /** Told of every statement of the kernel, before it is sent. */
  onStatement?: (name: string) => void;
}

/** The tables, or a transaction on them: what a query takes that may be part of a larger change. */
export type Rows = Kysely<DB>;

export interface Statement {
  name: string;
  text: string;
  values: unknown[];
  /** Planned for these values each time, where one plan for all of them would be bad for most. */
  plannedAnew?: true;
}

// Sequences and counters are bigint in the database and stay far below 2^53.
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === pg.types.builtins.INT8) return Number;
    return pg.types.getTypeParser(oid, format);
  },
} as pg.CustomTypesConfig;

/**
 * The connections of one process. The kernel has its own pool, and the heartbeat yet another, so that slow requests
 * that use up the shared pool delay neither a commit nor a sign of life.
 */
export class Database {
  readonly pool: pg.Pool;
  readonly kernel: pg.Pool;
  readonly liveness: pg.Pool;
  readonly #options: DatabaseOptions;
  /** Whether the shared pool may name statements. A pooler that hands names on to whichever session it takes may not be given any. */
  #namesStatements = true;
  #shortage: { code: DatabaseShortage; at: number } | null = null;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.pool = this.#createPool({
      ...(options.directUrl ? this.#pooledConfig() : this.#config(options.applicationName)),
      max: options.poolSize ?? 10,
    });
    // The kernel only ever looks rows up by their keys; plans made while tables were small must not say otherwise.
    const kernel = this.#config(`${options.applicationName}/kernel`, ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off', 'plan_cache_mode=force_generic_plan']);
    this.kernel = this.#createPool({ ...kernel, max: options.kernelPoolSize ?? 6, idleTimeoutMillis: 0 });
    this.liveness = this.#createPool({ ...this.#config(`${options.applicationName}/liveness`), max: 2 });
  }

  get rows(): Kysely<DB> {
    return this.#rows();
  }

  readonly #rows = once(() => {
    const { Kysely, PostgresDialect } = kysely();
    return new Kysely<DB>({ dialect: new PostgresDialect({ pool: this.pool }) }).withSchema('troupe');
  });

  /** Straight to PostgreSQL, with the settings of a session. */
  #config(applicationName: string, settings: string[] = []): pg.ClientConfig {
    // The driver would take options in the address instead of ours; they are put together, and ours come last.
    const { url, options } = splitOptions(this.#options.directUrl ?? this.#options.url);
    return {
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      lock_timeout: 10_000,
      idle_in_transaction_session_timeout: 30_000,
      options: [options, ...['synchronous_commit=on', 'jit=off', ...settings].map((setting) => `-c ${setting}`)]
        .join(' ')
        .trim(),
      types,
    };
  }

  /** Through a transaction pooler, which knows no sessions and refuses settings for one. */
  #pooledConfig(): pg.ClientConfig {
    return { connectionString: this.#options.url, connectionTimeoutMillis: 5_000, keepAlive: true, types };
  }

  #createPool(config: pg.PoolConfig): pg.Pool {
    const pool = new pg.Pool({ idleTimeoutMillis: 60_000, ...config });
    pool.on('error', (error) => this.#options.logger.debug({ error: error.message }, 'idle connection lost'));
    // Also while it is lent: what is sent over it then fails, and says so; nobody else would hear of it, and the process would end by it.
    pool.on('connect', (client) => {
      client.on('error', () => {});
      // Every error that PostgreSQL answers with, whoever asked.
      (client as unknown as { connection: EventEmitter }).connection.on('errorMessage', (error) => {
        const code = shortageIn(error);
        if (code) this.#shortage = { code, at: performance.now() };
      });
    });
    return pool;
  }

  /** A connection of one's own, outside every pool; the caller handles its errors and ends it. */
  async connectDirect(purpose: string): Promise<pg.Client> {
    const client = new pg.Client(this.#config(`${this.#options.applicationName}/${purpose}`));
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** Direct connections for Graphile Worker; the caller ends the pool. */
  createJobsPool(max: number): PatientPool {
    return new PatientPool({
      ...this.#config(`${this.#options.applicationName}/jobs`),
      max,
      idleTimeoutMillis: 60_000,
    });
  }

  /** The last error that says that no writes are taken, and how long ago it was; null where there was none. */
  get shortage(): { code: DatabaseShortage; agoMs: number } | null {
    const last = this.#shortage;
    return last && { code: last.code, agoMs: performance.now() - last.at };
  }

  /** Writes are taken again. */
  forgetShortage(): void {
    this.#shortage = null;
  }

  /** How many connections there are, how many are unused, and how many callers wait for one. */
  usage(): { pool: string; total: number; idle: number; waiting: number }[] {
    const pools = { shared: this.pool, kernel: this.kernel, liveness: this.liveness };
    return Object.entries(pools).map(([pool, { totalCount, idleCount, waitingCount }]) => ({
      pool,
      total: totalCount,
      idle: idleCount,
      waiting: waitingCount,
    }));
  }

  async run<Row extends pg.QueryResultRow>(statement: Statement, pool: pg.Pool = this.kernel): Promise<Row[]> {
    this.#options.onStatement?.(statement.name);
    const { name, text, values, plannedAnew } = statement;
    const isNamed = !plannedAnew && (this.#namesStatements || pool !== this.pool);
    return (await pool.query<Row>(isNamed ? { name, text, values } : { text, values })).rows;
  }

  /** Finds out whether statements can be named on the way to the shared pool's sessions. To be called before the first one. */
  async checkPooler(): Promise<void> {
    const { url, directUrl, logger } = this.#options;
    if (directUrl === undefined || directUrl === url) return;
    this.#namesStatements = await tracksNames(this.pool);
    if (this.#namesStatements) return;
    const hint = 'PgBouncer tracks them from 1.21 on, with max_prepared_statements above 0';
    logger.warn({ hint }, 'the pooler does not track prepared statements; working without them');
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.pool.end(), this.kernel.end(), this.liveness.end()]);
  }
}

/** An address without the `options` that it may carry, and these. */
function splitOptions(address: string): { url: string; options: string } {
  const url = new URL(address);
  const options = url.searchParams.get('options') ?? '';
  url.searchParams.delete('options');
  return { url: url.href, options };
}
