import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Logger } from '../../base/index.ts';
import { program } from './binaries.ts';
import { isAlive, isPostgresOf, isTaken } from './processes.ts';

export interface Postmaster {
  pid: number;
  port: number;
}

const FAST_MS = 10_000;
const IMMEDIATE_MS = 5_000;

/** What postmaster.pid says. Lines: pid, data directory, start time, port, socket, address, shared memory, state. */
export async function readPidFile(data: string): Promise<(Postmaster & { ready: boolean }) | undefined> {
  const text = await readFile(pidFile(data), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Math.abs(Number(lines[0])); // negative: single-user mode
  if (!Number.isInteger(pid) || pid === 0) return undefined;
  return { pid, port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === 'ready' };
}

/** The living postmaster of this directory, ready or not. */
export async function findPostmaster(data: string, logger: Logger): Promise<Postmaster | undefined> {
  const found = await readPidFile(data);
  if (!found || !isTaken(found.pid)) return undefined;
  if ((await isAlive(found.pid)) && (await isPostgresOf(found.pid, data))) return found;
  // Postgres asks only whether the pid is taken and would refuse to start. It may be taken by its own zombie, or
  // by a stranger: in a restarted container the small pids come again. Its shared memory still guards the data.
  logger.warn({ pid: found.pid }, 'removing a postmaster.pid whose postmaster is gone');
  await rm(pidFile(data), { force: true });
  return undefined;
}

/** Fast shutdown: sessions are ended, everything is written. Immediate after ten seconds: recovered at the next start. */
export async function stopPostmaster(
  { pid }: Postmaster,
  data: string,
  binaries: string,
  logger: Logger,
): Promise<void> {
  if (process.platform === 'win32') {
    // Signals do not exist there; pg_ctl speaks to the postmaster through its pipe.
    await promisify(execFile)(program(binaries, 'pg_ctl'), ['stop', '-D', data, '-m', 'fast', '-w']);
    return;
  }
  if (!signal(pid, 'SIGINT') || (await isGone(pid, FAST_MS))) return;
  logger.warn({ pid }, 'PostgreSQL did not stop in ten seconds; stopping it without a checkpoint');
  if (!signal(pid, 'SIGQUIT') || (await isGone(pid, IMMEDIATE_MS))) return;
  logger.error({ pid }, 'PostgreSQL did not stop; the next start takes it over');
}

function pidFile(data: string): string {
  return join(data, 'postmaster.pid');
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (await isAlive(pid)) {
    if (Date.now() > deadline) return false;
    await pause(10);
  }
  return true;
}
