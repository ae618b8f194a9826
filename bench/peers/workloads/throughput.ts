/**
 * W1: keeps a number of runs in flight and reads the counters at the end of every window.
 * Stops at enough quiet windows or when the time is up.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Spent } from '../counters.ts';
import { QUIET_PERCENT, type Throughput, WANTED_WINDOWS, type Window } from '../results.ts';
import { type Measured, runOnce, warmUp } from './measured.ts';

const LEVELS = [1, 16, 64];
const WINDOW_MS = 2_000;
const MAX_WINDOW_MS = 30_000;
const DRAIN_MS = 20_000;

export async function measureThroughput(measured: Measured): Promise<Throughput> {
  await warmUp(measured);
  const levels: Throughput['levels'] = {};
  for (const level of LEVELS) levels[level] = await measureLevel(measured, level);
  return { levels };
}

async function measureLevel(measured: Measured, level: number): Promise<Window[]> {
  const { counters } = measured;
  let stopped = false;
  let failure: unknown;
  let latencies: number[] = [];
  const lane = async () => {
    while (!stopped) {
      const began = performance.now();
      await runOnce(measured);
      latencies.push(performance.now() - began);
      // A run without I/O would otherwise starve the timers.
      await new Promise(setImmediate);
    }
  };
  const lanes = Array.from({ length: level }, () =>
    lane().catch((error) => {
      failure = error;
      stopped = true;
    }),
  );

  await pause(level === 1 ? 200 : 1_500);
  const warm = performance.now() + DRAIN_MS;
  while (latencies.length < level && !stopped && performance.now() < warm) await pause(50);

  // Slow runs finish in cohorts, so a window holds at least four latencies.
  const latency = quantile(latencies, 0.5) ?? MAX_WINDOW_MS;
  const windowMs = Math.min(MAX_WINDOW_MS, Math.max(WINDOW_MS, 4 * latency));
  const wanted = windowMs > 10_000 ? 1 : WANTED_WINDOWS;
  const until = performance.now() + Math.max(measured.seconds * 1_000, windowMs);
  const windows: Window[] = [];
  const enough = () => windows.filter((one) => one.foreignPercent <= QUIET_PERCENT).length >= wanted;
  do {
    const before = await counters.read();
    latencies = [];
    await pause(windowMs);
    const ended = latencies;
    const spent = counters.between(before, await counters.read());
    // A level without a window has no figure.
    if (ended.length > 0) windows.push(toWindow(ended, spent));
  } while (!stopped && !enough() && performance.now() < until);
  stopped = true;
  await Promise.race([Promise.all(lanes), pause(DRAIN_MS, undefined, { ref: false })]);
  if (failure) throw failure;
  return windows;
}

function toWindow(latencies: number[], spent: Spent): Window {
  const runs = latencies.length;
  return {
    runs,
    runsPerSecond: (runs / spent.ms) * 1_000,
    p50Ms: quantile(latencies, 0.5)!,
    p99Ms: quantile(latencies, 0.99)!,
    appCpuMs: spent.appCpuMs / runs,
    postgresCpuMs: spent.postgresCpuMs / runs,
    serviceCpuMs: spent.serviceCpuMs / runs,
    walBytes: spent.walBytes / runs,
    serviceBytes: spent.serviceBytes / runs,
    transactions: spent.transactions / runs,
    foreignPercent: spent.foreignPercent,
  };
}

function quantile(values: number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
