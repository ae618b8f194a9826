/** Counters of the measured process, Postgres, a service and the machine, taken together. */
import pg from 'pg';
import { machineBusyMs, rssMb, treeCpuMs, writtenBytes } from './processes.ts';

export interface Reading {
  at: number;
  appCpuMs: number;
  postgresCpuMs: number;
  serviceCpuMs: number;
  serviceBytes: number;
  walBytes: number;
  transactions: number;
  machineBusyMs: number;
}

export interface Spent extends Omit<Reading, 'at' | 'machineBusyMs'> {
  ms: number;
  /** Share of the machine that processes other than the system, its Postgres and its service used. */
  foreignPercent: number;
}

export interface CounterOptions {
  databaseUrl: string;
  postmasterPid: number;
  servicePids: number[];
  cores: number;
}

export class Counters {
  readonly #options: CounterOptions;
  readonly #admin: pg.Client;

  private constructor(options: CounterOptions, admin: pg.Client) {
    this.#options = options;
    this.#admin = admin;
  }

  static async open(options: CounterOptions): Promise<Counters> {
    const admin = new pg.Client({ connectionString: options.databaseUrl });
    await admin.connect();
    return new Counters(options, admin);
  }

  async read(): Promise<Reading> {
    const { rows } = await this.#admin.query<{ wal: string; transactions: string }>({
      name: 'counters',
      text: `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
                    (select xact_commit from pg_stat_database where datname = current_database()) as transactions`,
    });
    const { postmasterPid, servicePids } = this.#options;
    return {
      ...appCpu(),
      postgresCpuMs: treeCpuMs(postmasterPid),
      serviceCpuMs: sum(servicePids.map(treeCpuMs)),
      serviceBytes: sum(servicePids.map(writtenBytes)),
      walBytes: Number(rows[0]!.wal),
      transactions: Number(rows[0]!.transactions),
      machineBusyMs: machineBusyMs(),
    };
  }

  /** The difference of two readings. */
  between(before: Reading, after: Reading): Spent {
    const difference = (key: keyof Reading) => after[key] - before[key];
    const ms = difference('at');
    const own = difference('appCpuMs') + difference('postgresCpuMs') + difference('serviceCpuMs');
    const foreign = Math.max(0, difference('machineBusyMs') - own);
    return {
      ms,
      appCpuMs: difference('appCpuMs'),
      postgresCpuMs: difference('postgresCpuMs'),
      serviceCpuMs: difference('serviceCpuMs'),
      serviceBytes: difference('serviceBytes'),
      walBytes: difference('walBytes'),
      transactions: difference('transactions'),
      foreignPercent: (foreign / (ms * this.#options.cores)) * 100,
    };
  }

  serviceRssMb(): number {
    return sum(this.#options.servicePids.map(rssMb));
  }
}

export function appCpu(): { at: number; appCpuMs: number } {
  const { user, system } = process.cpuUsage();
  return { at: performance.now(), appCpuMs: (user + system) / 1_000 };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
