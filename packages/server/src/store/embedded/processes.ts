import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';

const linux = process.platform === 'linux';

export function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A zombie has its pid but is dead: a container without an init never buries its orphans. */
export async function isAlive(pid: number): Promise<boolean> {
  return isTaken(pid) && (!linux || (await statusOf(pid))?.[0] !== 'Z');
}

/** When the process was born, in ticks since boot: a pid that was given to somebody else has another birth. */
export async function birthOf(pid: number): Promise<string> {
  return (linux && (await statusOf(pid))?.[19]) || '';
}

/** Pids mean something only inside their namespace; two containers can share a directory but not their pids. */
export async function pidNamespace(): Promise<string> {
  return linux ? readlink('/proc/self/ns/pid').catch(() => '') : '';
}

/** Whether the living process `pid` is a Postgres of this data directory, not a stranger with a recycled pid. */
export async function isPostgresOf(pid: number, data: string): Promise<boolean> {
  if (linux) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (name.trim() !== 'postgres') return false;
    const directory = await readlink(`/proc/${pid}/cwd`).catch(() => data); // unreadable: believe the pid file
    return directory === data;
  }
  if (process.platform === 'win32') return true;
  const found = await promisify(execFile)('ps', ['-p', String(pid), '-o', 'comm=']).catch(() => ({
    stdout: '',
  }));
  return basename(found.stdout.trim()) === 'postgres';
}

/** The fields of /proc/<pid>/stat behind the name (which may hold spaces): [0] is the state, [19] the start time. */
async function statusOf(pid: number): Promise<string[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}
