import type { Random } from '../random.ts';

/** Every kind of fault. `pooler.restart` needs a pooler. */
export const FAULTS = [
  'serve.kill',
  'serve.stop',
  'serve.term',
  'work.kill',
  'work.stop',
  'work.term',
  'postgres.restart',
  'postgres.crash',
  'postgres.kill',
  'backend.kill',
  'backends.terminate',
  'connections.full',
  'link.cut',
  'link.slow',
  'link.stall',
  'link.refuse',
  'link.half-close',
  'pooler.restart',
  'model.429',
  'model.500',
  'model.garbled',
  'model.cut',
  'model.hang',
  'model.error-in-stream',
  'tool.fail',
  'tool.lose',
  'tool.hang',
  'webhook.fail',
  'webhook.lose',
  'webhook.hang',
] as const;
export type FaultKind = (typeof FAULTS)[number];

/** One fault: when it begins, how long it lasts, and on which member of the fleet. */
export interface Planned {
  atMs: number;
  kind: FaultKind;
  durationMs: number;
  /** Which one, where there are several; taken modulo their number. */
  target: number;
  /** The share of requests or connections that is affected. */
  share: number;
}

/** How long a fault of this kind lasts, from and to. */
const DURATIONS: Partial<Record<FaultKind, [number, number]>> = {
  'serve.kill': [200, 2_000],
  'work.kill': [200, 2_000],
  'serve.stop': [500, 6_000],
  'work.stop': [500, 6_000],
  'connections.full': [1_000, 4_000],
  'link.slow': [1_000, 5_000],
  'link.stall': [500, 5_000],
  'link.refuse': [500, 3_000],
};
const OTHERS: [number, number] = [1_000, 4_000];

export interface ScheduleOptions {
  kinds: readonly FaultKind[];
  lengthMs: number;
  /** Between the beginnings of two faults, on average. */
  everyMs: number;
  /** Multiplies the time that faults last. */
  durationScale: number;
  random: Random;
}

/** Every kind once in a random order, then every kind again, until the time is over. */
export function schedule({ kinds, lengthMs, everyMs, durationScale, random }: ScheduleOptions): Planned[] {
  const planned: Planned[] = [];
  let round: FaultKind[] = [];
  if (kinds.length === 0) return planned;
  for (let at = everyMs * random.between(0.5, 1); at < lengthMs; at += everyMs * random.between(0.5, 1.5)) {
    if (round.length === 0) round = random.shuffle([...kinds]);
    const kind = round.pop()!;
    const [from, to] = DURATIONS[kind] ?? OTHERS;
    planned.push({
      atMs: Math.round(at),
      kind,
      durationMs: Math.round(random.int(from, to) * durationScale),
      target: random.int(0, 1_000),
      share: Math.round(random.between(0.2, 0.8) * 100) / 100,
    });
  }
  return planned;
}

export function describe({ atMs, kind, durationMs, target, share }: Planned): string {
  return `${(atMs / 1_000).toFixed(1).padStart(7)} s  ${kind.padEnd(22)} ${String(durationMs).padStart(5)} ms  target ${target}  share ${share}`;
}
