import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, startEmbedded } from '@troupe/server';
import { until } from '@troupe/testing';
import pg from 'pg';
import type { Register } from './leftovers.ts';

const RESTART_MS = 120_000;

/** The Postgres of a run, from the embedded binaries. `startEmbedded` starts it again whenever it ends. */
export class Postgres {
  readonly url: string;
  readonly #pidFile: string;
  readonly #register: Register;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, pidFile: string, register: Register, stop: () => Promise<void>) {
    this.url = url;
    this.#pidFile = pidFile;
    this.#register = register;
    this.#stop = stop;
  }

  static async start(directory: string, register: Register): Promise<Postgres> {
    const home = join(directory, 'home');
    const embedded = await startEmbedded({ home, logger: silentLogger });
    const pidFile = join(home, 'postgres/data/postmaster.pid');
    const postgres = new Postgres(embedded.url, pidFile, register, () => embedded.stop());
    register.add(postgres.pid);
    return postgres;
  }

  get pid(): number {
    return Number(readFileSync(this.#pidFile, 'utf8').split('\n')[0]);
  }

  /**
   * `SIGINT`: a fast restart that ends every session. `SIGQUIT`: an immediate shutdown, with recovery at the next start.
   * `SIGKILL`: the postmaster dies without a word, and its children notice.
   */
  async restart(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
    const before = this.pid;
    process.kill(before, signal);
    await until(
      'Postgres runs again',
      async () => this.#pidOrNull() !== before && (await this.#answers()),
      RESTART_MS,
    );
    this.#register.remove(before);
    this.#register.add(this.pid);
  }

  /** kill -9 of one server process: the postmaster ends all the others and recovers. */
  async killBackend(): Promise<void> {
    const victim = await this.withClient((client) =>
      client.query<{ pid: number }>(
        `select pid from pg_stat_activity where backend_type = 'client backend' and application_name like 'troupe/%'
          order by random() limit 1`,
      ),
    );
    if (!victim.rows[0]) return;
    process.kill(victim.rows[0].pid, 'SIGKILL');
    await until('Postgres has recovered', () => this.#answers(), RESTART_MS);
  }

  /** Terminates the given share of the connections of Troupe; answers how many. */
  async terminateBackends(share: number): Promise<number> {
    const { rowCount } = await this.withClient((client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name like 'troupe/%' and backend_type = 'client backend' and random() < $1`,
        [share],
      ),
    );
    return rowCount ?? 0;
  }

  /** Takes connections until none is left; answers with a function that gives them back. */
  async takeAllConnections(): Promise<() => Promise<void>> {
    const taken: pg.Client[] = [];
    const take = async () => {
      const client = new pg.Client({ connectionString: this.url, application_name: 'chaos/full' });
      client.on('error', () => {});
      await client.connect();
      taken.push(client);
    };
    // In groups: one after the other, the last would come when the first is given back.
    for (let isFull = false; !isFull && taken.length < 500; )
      isFull = (await Promise.allSettled(Array.from({ length: 25 }, take))).some(
        ({ status }) => status === 'rejected',
      );
    return async () => void (await Promise.all(taken.map((client) => client.end().catch(() => {}))));
  }

  /** With a connection of its own, past every link and pooler; connects until it can. */
  async withClient<Result>(use: (client: pg.Client) => Promise<Result>): Promise<Result> {
    let client: pg.Client | null = null;
    await until(
      'Postgres accepts a connection',
      async () => {
        client = new pg.Client({ connectionString: this.url, application_name: 'chaos' });
        client.on('error', () => {});
        return client.connect().then(
          () => true,
          () => false,
        );
      },
      RESTART_MS,
    );
    try {
      return await use(client!);
    } finally {
      await client!.end().catch(() => {});
    }
  }

  async stop(): Promise<void> {
    const { pid } = this;
    await this.#stop();
    this.#register.remove(pid);
  }

  #pidOrNull(): number | null {
    try {
      return this.pid;
    } catch {
      return null;
    }
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url, application_name: 'chaos' });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('select 1');
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}
