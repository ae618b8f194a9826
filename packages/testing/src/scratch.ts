import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;

/**
 * Where a test run keeps its databases: in memory, where the machine has such a place with room. Postgres is set as in
 * production, fsync included; nothing here survives a power cut, which no test can cause.
 */
export function scratchDirectory(): string | undefined {
  if (!hasRoom()) return undefined;
  // Of a run that was killed: it would take memory until the machine is started again.
  for (const name of readdirSync(MEMORY)) {
    const pid = /^troupe-tests-(\d+)$/.exec(name)?.[1];
    if (pid && !isAlive(Number(pid))) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  const directory = join(MEMORY, `troupe-tests-${process.pid}`);
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o755); // tests run Postgres as other users
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Containers often have one of 64 MB from which nothing can be executed. */
function hasRoom(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .findLast(([, path]) => path === MEMORY);
    const { bavail, bsize } = statfsSync(MEMORY);
    return mount?.[2] === 'tmpfs' && !mount[3]!.includes('noexec') && bavail * bsize > NEEDED_BYTES;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
