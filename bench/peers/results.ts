/** The raw results of one run. */
import type { Machine } from './machine.ts';

/** Three quiet windows or five quiet samples are enough for a figure. */
export const WANTED_WINDOWS = 3;
export const WANTED_SAMPLES = 5;
/** A window is quiet if other processes used at most this share of the machine. Samples of W2 are short: half as much again. */
export const QUIET_PERCENT = 10;
export const QUIET_SAMPLE_PERCENT = 15;

/** Runs that ended in one window, and the cost of each. */
export interface Window {
  runs: number;
  runsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  appCpuMs: number;
  postgresCpuMs: number;
  serviceCpuMs: number;
  walBytes: number;
  serviceBytes: number;
  transactions: number;
  foreignPercent: number;
}

export interface Throughput {
  /** By the number of concurrent runs. */
  levels: Record<string, Window[]>;
}

export interface Sample {
  ms: number;
  walBytes: number;
  serviceBytes: number;
  appCpuMs: number;
  foreignPercent: number;
}

export interface LongHistory {
  /** By the number of messages in the conversation. */
  sizes: Record<string, Sample[]>;
}

export interface CrashTrial {
  /** The same batch without a kill; null after the first trial. */
  uninterruptedMs: number | null;
  killAfterTools: number;
  newWorkerReadyMs: number;
  finishedBeforeKill: number;
  /** From the kill; null if some never finish without manual steps. */
  allFinishedMs: number | null;
  unfinished: number;
  /** With an operator's steps; null if there were none or they did not help. */
  allFinishedManuallyMs: number | null;
  toolsRecorded: number;
  /** Tools in flight at the kill: no system can avoid these. */
  toolsRepeated: number;
  /** The next model call had begun, so the result should have been durable. */
  toolsRepeatedAfterNextStep: number;
}

export interface Memory {
  idleRssMb: number;
  rssAfterMb: number;
  heapAfterMb: number;
  runs: number;
  serviceRssMb: number;
}

/** CPU and WAL of one action through a door. */
export interface DoorCost {
  actions: number;
  appCpuMs: number;
  postgresCpuMs: number;
  walBytes: number;
  foreignPercent: number;
}

export interface Doors {
  /** By door; one entry for each round. */
  doors: Record<string, DoorCost[]>;
}

export interface Failure {
  error: string;
}

export interface SystemResults {
  durability: string;
  durable: boolean;
  skipped?: string;
  W1?: Throughput | Failure;
  W2?: LongHistory | Failure;
  W3?: (CrashTrial | Failure)[];
  W4?: Memory | Failure;
  W5?: Doors | Failure;
}

export interface Results {
  startedAt: string;
  endedAt: string;
  machine: Machine;
  versions: Record<string, string>;
  settings: { seconds: number; trials: number; poolSize: number };
  /** False if systems or workloads were left out. */
  complete: boolean;
  systems: Record<string, SystemResults>;
}

export function succeeded<Result extends object>(result: Result | Failure | undefined): Result | undefined {
  return result && !('error' in result) ? result : undefined;
}

export function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

/** The quiet measurements and a mark: `~` if they are fewer than wanted, `*` if none was quiet. */
export function quietOnes<Measurement extends { foreignPercent: number }>(
  all: Measurement[],
  percent: number,
  wanted: number,
): { used: Measurement[]; mark: '' | '~' | '*' } {
  const quiet = all.filter(({ foreignPercent }) => foreignPercent <= percent);
  if (quiet.length > 0) return { used: quiet, mark: quiet.length < wanted ? '~' : '' };
  const calmest = all.toSorted((a, b) => a.foreignPercent - b.foreignPercent).slice(0, wanted);
  return { used: calmest, mark: '*' };
}
