import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, silentLogger } from '@troupe/server';
import { migrateJobs } from '@troupe/server/parts';
import { until } from '@troupe/testing';
import { openGuardian } from './guard.ts';
import { PREFIX, Register, removeLeftovers, removeRun } from './leftovers.ts';
import { Link } from './link.ts';
import { Member } from './member.ts';
import { freePort, PgBouncer } from './pgbouncer.ts';
import { Postgres } from './postgres.ts';

export interface FleetOptions {
  serve: number;
  work: number;
  pooled: boolean;
  concurrency: number;
  /** Hosts and ports that models, tools and webhooks are reached at. */
  allow: string[];
}

const START_MS = 120_000;

/** Several `serve` and `work` processes on one Postgres, each behind a link of its own. */
export class Fleet {
  readonly directory: string;
  readonly postgres: Postgres;
  readonly pooler: PgBouncer | null;
  readonly members: Member[];
  readonly key: string;
  readonly urls: string[];
  readonly #guardian: ChildProcess;

  private constructor(
    parts: Pick<Fleet, 'directory' | 'postgres' | 'pooler' | 'members' | 'key' | 'urls'>,
    guardian: ChildProcess,
  ) {
    this.directory = parts.directory;
    this.postgres = parts.postgres;
    this.pooler = parts.pooler;
    this.members = parts.members;
    this.key = parts.key;
    this.urls = parts.urls;
    this.#guardian = guardian;
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const parent = realpathSync(tmpdir());
    removeLeftovers(parent);
    const directory = mkdtempSync(join(parent, PREFIX));
    chmodSync(directory, 0o755); // Postgres and PgBouncer run as other users if the harness is root
    const register = new Register(directory);
    const guardian = openGuardian(directory);
    try {
      const postgres = await Postgres.start(directory, register);
      await migrate(postgres.url);
      await migrateJobs(postgres.url, silentLogger);
      const pooler = options.pooled ? await PgBouncer.open(postgres.url, directory, register) : null;
      const key = `tsk_${randomBytes(32).toString('base64url')}`;
      const shared = {
        TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
        TROUPE_BOOTSTRAP_KEY: key,
        TROUPE_OUTGOING_ALLOW: options.allow.join(','),
        LOG_LEVEL: 'info',
      };
      const members: Member[] = [];
      const urls: string[] = [];
      const add = async (role: 'serve' | 'work', name: string, more: Record<string, string>) => {
        const direct = await Link.open(postgres.url);
        const links = [direct];
        const env: Record<string, string> = { ...shared, ...more, DATABASE_URL: direct.via(postgres.url) };
        if (pooler) {
          const pooled = await Link.open(pooler.url);
          links.push(pooled);
          env.DATABASE_URL = pooled.via(pooler.url);
          env.DATABASE_DIRECT_URL = direct.via(postgres.url);
        }
        members.push(new Member({ name, role, env, links, directory, register }));
      };
      for (let n = 1; n <= options.serve; n++) {
        const port = await freePort();
        urls.push(`http://127.0.0.1:${port}`);
        await add('serve', `serve-${n}`, { PORT: String(port) });
      }
      const each = Math.max(1, Math.ceil(options.concurrency / options.work));
      for (let n = 1; n <= options.work; n++)
        await add('work', `work-${n}`, { TROUPE_CONCURRENCY: String(each) });
      const fleet = new Fleet({ directory, postgres, pooler, members, key, urls }, guardian);
      await fleet.ready();
      return fleet;
    } catch (error) {
      removeRun(directory);
      guardian.kill('SIGKILL');
      throw error;
    }
  }

  role(role: 'serve' | 'work'): Member[] {
    return this.members.filter((member) => member.role === role);
  }

  /** Until every server answers that it is ready and every worker has registered. */
  async ready(): Promise<void> {
    for (const url of this.urls)
      await until(`${url} is ready`, async () => (await statusOf(`${url}/readyz`)) === 200, START_MS);
    const pids = () => this.role('work').map(({ pid }) => pid);
    await until(
      'every worker is registered',
      () =>
        this.postgres.withClient(async (client) => {
          const { rows } = await client.query<{ pid: number }>('select pid from troupe.workers');
          const registered = new Set(rows.map((row) => row.pid));
          return pids().every((pid) => pid !== null && registered.has(pid));
        }),
      START_MS,
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
    for (const link of this.members.flatMap((member) => member.links)) link.close();
    await this.pooler?.close();
    await this.postgres.stop();
    removeRun(this.directory);
    this.#guardian.kill('SIGKILL');
  }
}

export async function statusOf(url: string): Promise<number | null> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  await response?.body?.cancel().catch(() => {});
  return response?.status ?? null;
}
