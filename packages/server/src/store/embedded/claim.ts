import { readFile, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { birthOf, isAlive, pidNamespace } from './processes.ts';

/**
 * A file by which a process says "this is mine". Of a process on the same machine we can ask whether it lives.
 * Of one in another container that shares the directory we cannot; its holder touches the file every second,
 * and a file that stays untouched for BEAT_WATCH_MS belongs to nobody.
 */
export interface Claim {
  pid: number;
  host: string;
  pidNamespace: string;
  bornAt: string;
  startedAt: string;
}

const BEAT_MS = 1_000;
const BEAT_WATCH_MS = 6_000;

export async function myClaim(): Promise<Claim> {
  return {
    pid: process.pid,
    host: hostname(),
    pidNamespace: await pidNamespace(),
    bornAt: await birthOf(process.pid),
    startedAt: new Date().toISOString(),
  };
}

export async function readClaim<T extends Claim>(path: string): Promise<T | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

export function beat(path: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, BEAT_MS).unref();
  return () => clearInterval(timer);
}

export async function isHere(claim: Claim): Promise<boolean> {
  return claim.host === hostname() && claim.pidNamespace === (await pidNamespace());
}

export async function isHeld(path: string, claim: Claim): Promise<boolean> {
  if (await isHere(claim)) {
    return (await isAlive(claim.pid)) && (await birthOf(claim.pid)) === claim.bornAt;
  }
  const before = await touchedAt(path);
  for (let waited = 0; waited < BEAT_WATCH_MS; waited += 200) {
    await pause(200);
    const now = await touchedAt(path);
    if (now !== before) return now !== undefined;
  }
  return false;
}

async function touchedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mtimeMs;
}
