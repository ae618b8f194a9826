/** From windows and samples to one figure each: the median of the quiet ones. */
import {
  type DoorCost,
  type Doors,
  type Failure,
  type LongHistory,
  median,
  QUIET_PERCENT,
  QUIET_SAMPLE_PERCENT,
  quietOnes,
  type Sample,
  succeeded,
  type Throughput,
  WANTED_SAMPLES,
  WANTED_WINDOWS,
  type Window,
} from './results.ts';

/** Tool calls of a batch of W3: 100 runs with five each. */
const CRASH_TOOLS = 500;

/** `~`: fewer quiet measurements than wanted. `*`: none was quiet. */
export type Marked<Measurement> = Measurement & { mark: '' | '~' | '*' };
export type DoorFigures = Marked<DoorCost>;

export function throughputFigures(
  W1: Throughput | Failure | undefined,
  level: number,
): Marked<Window> | undefined {
  return medians(succeeded(W1)?.levels[level], QUIET_PERCENT, WANTED_WINDOWS);
}

export function historyFigures(
  W2: LongHistory | Failure | undefined,
  size: number,
): Marked<Sample> | undefined {
  return medians(succeeded(W2)?.sizes[size], QUIET_SAMPLE_PERCENT, WANTED_SAMPLES);
}

export function doorFigures(W5: Doors | Failure | undefined, door: string): DoorFigures | undefined {
  return medians(succeeded(W5)?.doors[door], QUIET_PERCENT, WANTED_WINDOWS);
}

/** W3: the part of an undisturbed batch that was left at the kill. */
export function remainingMs(uninterruptedMs: number, killAfterTools: number): number {
  return uninterruptedMs * (1 - killAfterTools / CRASH_TOOLS);
}

/** The median of every field by itself. */
function medians<Measurement extends { foreignPercent: number }>(
  all: Measurement[] | undefined,
  quietPercent: number,
  wanted: number,
): Marked<Measurement> | undefined {
  if (!all?.length) return undefined;
  const { used, mark } = quietOnes(all, quietPercent, wanted);
  const fields = Object.keys(used[0]!).map((key) => [
    key,
    median(used.map((one) => one[key as keyof Measurement] as number)),
  ]);
  return { ...(Object.fromEntries(fields) as Measurement), mark };
}
