/** The bounds that Troupe has to meet, checked against the floor and the peers of the same run. */
import { type DoorFigures, doorFigures, historyFigures, remainingMs, throughputFigures } from './figures.ts';
import { type CrashTrial, type Results, type SystemResults, succeeded } from './results.ts';

export interface Figure {
  name: string;
  value: string;
  bound: string;
  verdict: 'pass' | 'fail' | 'none';
}

export const TROUPE = 'troupe';
export const FLOOR = 'floor:one-statement';

/** Runs per second as a multiple of the floor and of the best durable peer, by concurrent runs. */
const THROUGHPUT = [
  { level: 1, floor: 0.6, peer: 2.3 },
  { level: 16, floor: 1, peer: 4 },
  { level: 64, floor: 1.5, peer: 4 },
];
const MAX_WAL_KB = 14;
/** A turn on 50,000 messages as a multiple of one on 200. */
const MAX_HISTORY_RATIO = 1.2;
const SHORT_HISTORY = 200;
const LONG_HISTORY = 50_000;
/** From a kill to the end of all runs, beyond the work that was left. */
const MAX_TAKEOVER_MS = 1_500;
const MAX_IDLE_RSS_MB = 130;
const MAX_HEAP_MB = 64;
/** CPU of an action as a multiple of a session's tool call. */
const MAX_DOOR_RATIO = 1.3;
const DOORS = [
  { door: 'network', action: 'network tool call' },
  { door: 'route', action: 'network route' },
  { door: 'space', action: 'space post' },
];

export function checkFigures({ systems }: Results): Figure[] {
  const troupe = systems[TROUPE];
  if (!troupe || troupe.skipped) return [];
  return [
    ...checkThroughput(troupe, systems),
    ...checkHistory(troupe),
    ...checkCrash(troupe),
    ...checkMemory(troupe),
    ...checkDoors(troupe),
  ];
}

/** The durable peer with the most runs per second. */
export function bestDurablePeer(
  systems: Results['systems'],
  level: number,
): { name: string; runsPerSecond: number } | undefined {
  return Object.entries(systems)
    .filter(([, { durable }]) => durable)
    .map(([name, { W1 }]) => ({ name, runsPerSecond: throughputFigures(W1, level)?.runsPerSecond ?? 0 }))
    .filter(({ runsPerSecond }) => runsPerSecond > 0)
    .toSorted((a, b) => b.runsPerSecond - a.runsPerSecond)[0];
}

function checkThroughput(troupe: SystemResults, systems: Results['systems']): Figure[] {
  const figures = THROUGHPUT.flatMap(({ level, floor, peer }) => {
    const own = throughputFigures(troupe.W1, level)?.runsPerSecond;
    const floorRate = throughputFigures(systems[FLOOR]?.W1, level)?.runsPerSecond;
    const best = bestDurablePeer(systems, level);
    return [
      atLeast(`W1 at ${level}: runs/s, × floor`, divide(own, floorRate), floor),
      atLeast(
        `W1 at ${level}: runs/s, × ${best?.name ?? 'best durable peer'}`,
        divide(own, best?.runsPerSecond),
        peer,
      ),
    ];
  });
  const wal = throughputFigures(troupe.W1, 1)?.walBytes;
  figures.push(atMost('W1: WAL per run, KB', wal === undefined ? undefined : wal / 1_024, MAX_WAL_KB, 1));
  return figures;
}

function checkHistory({ W2 }: SystemResults): Figure[] {
  const short = historyFigures(W2, SHORT_HISTORY);
  const long = historyFigures(W2, LONG_HISTORY);
  return [
    atMost('W2: time at 50,000 messages, × 200', divide(long?.ms, short?.ms), MAX_HISTORY_RATIO),
    atMost('W2: WAL at 50,000 messages, × 200', divide(long?.walBytes, short?.walBytes), MAX_HISTORY_RATIO),
  ];
}

function checkCrash({ W3 }: SystemResults): Figure[] {
  const trials = (W3 ?? []).map((trial) => succeeded<CrashTrial>(trial));
  const uninterruptedMs = trials.find((trial) => trial?.uninterruptedMs)?.uninterruptedMs;
  if (trials.length === 0) {
    return [atMost('W3: all finished after the kill, s beyond the work left', undefined, 1.5)];
  }
  return trials.flatMap((trial, index) => {
    const name = `W3 trial ${index + 1}`;
    if (!trial) return [{ name, value: 'failed', bound: 'recovers', verdict: 'fail' as const }];
    const beyond =
      trial.allFinishedMs === null || !uninterruptedMs
        ? Number.POSITIVE_INFINITY
        : trial.allFinishedMs - remainingMs(uninterruptedMs, trial.killAfterTools);
    return [
      atMost(
        `${name}: all finished after the kill, s beyond the work left`,
        beyond / 1_000,
        MAX_TAKEOVER_MS / 1_000,
      ),
      atMost(`${name}: tools repeated although the run had moved on`, trial.toolsRepeatedAfterNextStep, 0, 0),
    ];
  });
}

function checkMemory({ W4 }: SystemResults): Figure[] {
  const memory = succeeded(W4);
  return [
    atMost('W4: RSS at idle, MB', memory?.idleRssMb, MAX_IDLE_RSS_MB, 0),
    atMost('W4: heap after the runs, MB', memory?.heapAfterMb, MAX_HEAP_MB, 0),
  ];
}

function checkDoors({ W5 }: SystemResults): Figure[] {
  const session = doorFigures(W5, 'session');
  const total = (figures: DoorFigures | undefined) => figures && figures.appCpuMs + figures.postgresCpuMs;
  return DOORS.map(({ door, action }) =>
    atMost(
      `W5: CPU of a ${action}, × session tool call`,
      divide(total(doorFigures(W5, door)), total(session)),
      MAX_DOOR_RATIO,
    ),
  );
}

function atLeast(name: string, value: number | undefined, bound: number): Figure {
  return figure(name, value, `≥ ${bound}`, value !== undefined && value >= bound, 2);
}

function atMost(name: string, value: number | undefined, bound: number, digits = 2): Figure {
  return figure(name, value, `≤ ${bound}`, value !== undefined && value <= bound, digits);
}

function figure(
  name: string,
  value: number | undefined,
  bound: string,
  holds: boolean,
  digits: number,
): Figure {
  if (value === undefined) return { name, value: '–', bound, verdict: 'none' };
  const shown = Number.isFinite(value) ? value.toFixed(digits) : 'never';
  return { name, value: shown, bound, verdict: holds ? 'pass' : 'fail' };
}

function divide(value: number | undefined, by: number | undefined): number | undefined {
  return value === undefined || !by ? undefined : value / by;
}
