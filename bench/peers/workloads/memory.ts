/** W4: resident memory after start, and after a series of runs. */
import { setTimeout as pause } from 'node:timers/promises';
import { rssMb } from '../processes.ts';
import type { Memory } from '../results.ts';
import { type Measured, runSequentially } from './measured.ts';

const IDLE_MS = 1_500;
const RUNS = 1_000;

export async function measureMemory(measured: Measured): Promise<Memory> {
  await pause(IDLE_MS);
  const idleRssMb = rssMb(process.pid);
  const runs = await runSequentially(measured, RUNS, measured.seconds);
  const rssAfterMb = rssMb(process.pid);
  // V8 seldom returns pages, so RSS hardly shrinks: the heap after a collection shows what is kept.
  globalThis.gc?.();
  const heapAfterMb = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
  return { idleRssMb, rssAfterMb, heapAfterMb, runs, serviceRssMb: measured.counters.serviceRssMb() };
}
