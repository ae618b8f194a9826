import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { furnish, until } from '@troupe/testing';
import pg from 'pg';
import { inject } from 'vitest';
import { StartupError, silentLogger } from '../../src/base/index.ts';
import {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  startEmbedded,
} from '../../src/store/embedded/index.ts';
import { after } from '../after.ts';

export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65534;

/** What a holder process printed. */
export interface Told {
  url: string;
  version: string;
  adopted: boolean;
  code: string;
  message: string;
  hint: string;
}

export interface Holder {
  pid: number;
  told: Told;
  process: ChildProcess;
}

const holders: ChildProcess[] = [];

/** An empty directory that others may pass, gone after the test together with a Postgres left in it. */
export function tempDirectory(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-embedded-')));
  chmodSync(path, 0o755);
  after(async () => {
    for (const found of findHomes(path)) await killPostmaster(found);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  });
  return path;
}

/** A home whose first start is past, for tests that are about later ones. */
export async function usedHome(): Promise<string> {
  const home = tempDirectory();
  await furnish(home, inject('homesDirectory'));
  return home;
}

/** Starts in this process; stopped after the test. */
export async function start(home: string, more: Partial<EmbeddedOptions> = {}): Promise<EmbeddedPostgres> {
  const postgres = await startEmbedded({ home, logger: silentLogger, ...more });
  after(() => postgres.stop());
  return postgres;
}

export async function refusal(home: string, more: Partial<EmbeddedOptions> = {}): Promise<StartupError> {
  const error = await start(home, more).then(
    () => new Error('it started'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StartupError)) throw error;
  return error;
}

/** Starts in a process of its own, as `uid` if given; resolves when that process has told its result. */
export async function hold(home: string, more: { uid?: number; binaries?: string } = {}): Promise<Holder> {
  const script = fileURLToPath(new URL('holder.ts', import.meta.url));
  const args = [script, home, ...(more.binaries ? [more.binaries] : [])];
  const as = more.uid === undefined ? {} : { uid: more.uid, gid: more.uid };
  return listen(spawn(process.execPath, args, { ...as, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] }));
}

export function lastHolder(): ChildProcess {
  return holders.at(-1)!;
}

export async function listen(child: ChildProcess): Promise<Holder> {
  holders.push(child);
  after(() => kill(child));
  for await (const line of createInterface({ input: child.stdout! })) {
    return { pid: child.pid!, told: JSON.parse(line) as Told, process: child };
  }
  throw new Error(`the holder ended without a word (${child.exitCode ?? child.signalCode})`);
}

export async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = once(child, 'exit');
  child.kill(signal);
  await end;
}

export async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

export function postmasterPid(home: string): number | undefined {
  const path = join(home, 'postgres/data/postmaster.pid');
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split('\n')[0]) : undefined;
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export async function killPostmaster(home: string): Promise<void> {
  const pid = postmasterPid(home);
  if (pid === undefined || !isRunning(pid)) return;
  if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(home)) return;
  process.kill(pid, 'SIGKILL');
  await until(`postmaster ${pid} is gone`, () => !isRunning(pid));
}

function findHomes(below: string): string[] {
  const found = execFileSync('find', [below, '-type', 'd', '-path', '*/postgres/data', '-prune']);
  const suffix = '/postgres/data';
  return found
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((path) => path.slice(0, -suffix.length));
}
