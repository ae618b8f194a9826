import { readFile, rename, rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { newId, StartupError } from '../../base/index.ts';
import { beat, type Claim, isHeld, myClaim } from './claim.ts';
import { createFile, type EmbeddedHome } from './embedded-home.ts';

const PATIENCE_MS = 120_000;

/**
 * Only one process at a time looks at the directory, makes it or starts it. This orders the processes;
 * it does not guard the data: init is a rename, the postmaster has its own pid file, the owner has the
 * advisory lock, and all three stay right if two processes ever were in here at once.
 */
export async function withStartLock<T>(place: EmbeddedHome, action: () => Promise<T>): Promise<T> {
  const path = place.startLock;
  const mine = JSON.stringify({ ...(await myClaim()), nonce: newId() });
  const giveUp = Date.now() + PATIENCE_MS;
  for (;;) {
    const text = await readIfThere(path);
    const other = text === undefined ? undefined : parse(text);
    if (text === undefined) {
      if (await createFile(place, path, mine)) break;
    } else if (other === undefined || !(await isHeld(path, other))) {
      await removeIfStill(path, text);
    } else if (Date.now() > giveUp) {
      throw new StartupError(
        'home_in_use',
        `${place.home} is being started by process ${other.pid} on ${other.host} since ${other.startedAt}.`,
        { hint: 'Wait for that process or stop it, or set TROUPE_HOME to another directory.' },
      );
    } else {
      await pause(25);
    }
  }
  const stopBeating = beat(path);
  try {
    return await action();
  } finally {
    stopBeating();
    await removeIfStill(path, mine);
  }
}

/** Two processes may find the same dead lock; the slower one must not remove the lock of the faster one. */
async function removeIfStill(path: string, expected: string): Promise<void> {
  const aside = `${path}.${newId()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const taken = await readFile(aside, 'utf8');
  if (taken !== expected) await rename(aside, path);
  else await rm(aside, { force: true });
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
}

function parse(text: string): Claim | undefined {
  try {
    return JSON.parse(text) as Claim;
  } catch {
    return undefined;
  }
}
