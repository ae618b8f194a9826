import { describe, expect, test } from 'vitest';
import { checkFigures } from './ratios.ts';
import { renderReport } from './report.ts';
import type { DoorCost, Results, Sample, SystemResults, Window } from './results.ts';

const QUIET = { foreignPercent: 0 };

function windows(runsPerSecond: number, more: Partial<Window> = {}): Window[] {
  const costs = { appCpuMs: 1, postgresCpuMs: 1, serviceCpuMs: 0, serviceBytes: 0, transactions: 11 };
  const one = { runs: 1, runsPerSecond, p50Ms: 1, p99Ms: 1, walBytes: 14 * 1_024, ...costs, ...QUIET };
  return [0, 1, 2].map(() => ({ ...one, ...more }));
}

function levels(one: number, sixteen: number, sixtyFour: number) {
  return { levels: { 1: windows(one), 16: windows(sixteen), 64: windows(sixtyFour) } };
}

function samples(ms: number, walBytes: number): Sample[] {
  return [0, 1, 2, 3, 4].map(() => ({ ms, walBytes, serviceBytes: 0, appCpuMs: 1, ...QUIET }));
}

function cost(postgresCpuMs: number): DoorCost[] {
  return [{ actions: 1, appCpuMs: 1, postgresCpuMs, walBytes: 1_000, ...QUIET }];
}

/** Every figure exactly at its bound. */
function atBounds(): SystemResults {
  const trial = {
    uninterruptedMs: 1_000,
    killAfterTools: 250,
    newWorkerReadyMs: 500,
    finishedBeforeKill: 0,
    allFinishedMs: 2_000,
    unfinished: 0,
    allFinishedManuallyMs: null,
    toolsRecorded: 250,
    toolsRepeated: 100,
    toolsRepeatedAfterNextStep: 0,
  };
  return {
    durability: 'all',
    durable: false,
    W1: levels(60, 100, 150),
    W2: { sizes: { 200: samples(10, 1_000), 50000: samples(12, 1_200) } },
    W3: [trial],
    W4: { idleRssMb: 130, rssAfterMb: 200, heapAfterMb: 64, runs: 1_000, serviceRssMb: 0 },
    W5: { doors: { session: cost(1), network: cost(1.6), route: cost(1.6), space: cost(1.6) } },
  };
}

function resultsWith(troupe: SystemResults): Results {
  const peer = (durable: boolean, W1: SystemResults['W1']) => ({ durability: '', durable, W1: W1! });
  return {
    startedAt: '2026-01-02T03:04:05.000Z',
    endedAt: '2026-01-02T03:14:05.000Z',
    machine: {
      cpu: 'CPU',
      cores: 2,
      memoryGb: 8,
      system: 'Linux',
      node: 'v24',
      postgres: '18',
      fsync: 'on',
      synchronousCommit: 'on',
      walSyncMethod: 'fdatasync',
    },
    versions: {},
    settings: { seconds: 1, trials: 1, poolSize: 20 },
    complete: true,
    systems: {
      troupe,
      'floor:one-statement': peer(false, levels(100, 100, 100)),
      slow: peer(true, levels(1, 25, 1)),
      best: peer(true, levels(26, 1, 37.5)),
      'not-durable': peer(false, levels(1_000, 1_000, 1_000)),
    },
  };
}

function verdicts(troupe: SystemResults): string[] {
  return checkFigures(resultsWith(troupe)).map(({ name, verdict }) => `${verdict}: ${name}`);
}

const failed = (troupe: SystemResults) => verdicts(troupe).filter((line) => line.startsWith('fail'));

describe('the bounds', () => {
  test('hold for figures at the bound', () => {
    const all = verdicts(atBounds());
    expect(all).toHaveLength(16);
    expect(all.filter((line) => !line.startsWith('pass'))).toEqual([]);
  });

  test('compare each level with the durable peer that is fastest at it', () => {
    const slower = { ...atBounds(), W1: levels(59, 99, 149) };
    expect(failed(slower)).toEqual([
      'fail: W1 at 1: runs/s, × floor',
      'fail: W1 at 1: runs/s, × best',
      'fail: W1 at 16: runs/s, × floor',
      'fail: W1 at 16: runs/s, × slow',
      'fail: W1 at 64: runs/s, × floor',
      'fail: W1 at 64: runs/s, × best',
    ]);
  });

  test('fail for a turn that grows with the history', () => {
    const W2 = { sizes: { 200: samples(10, 1_000), 50000: samples(12.1, 1_201) } };
    expect(failed({ ...atBounds(), W2 })).toHaveLength(2);
  });

  test('fail for a late takeover, a lost run and a repeated step', () => {
    const [trial] = atBounds().W3 as [never];
    const failures = (more: object) =>
      failed({ ...atBounds(), W3: [{ ...(trial as object), ...more } as never] });
    expect(failures({ allFinishedMs: 2_001 })).toHaveLength(1);
    expect(failures({ allFinishedMs: null, unfinished: 1 })).toHaveLength(1);
    expect(failures({ toolsRepeatedAfterNextStep: 1 })).toHaveLength(1);
    expect(failed({ ...atBounds(), W3: [{ error: 'the worker died' }] })).toEqual(['fail: W3 trial 1']);
  });

  test('fail for a door that costs more than a session', () => {
    const W5 = { doors: { session: cost(1), network: cost(1.7), route: cost(0), space: cost(9) } };
    expect(failed({ ...atBounds(), W5 })).toEqual([
      'fail: W5: CPU of a network tool call, × session tool call',
      'fail: W5: CPU of a space post, × session tool call',
    ]);
  });

  test('are not met and not missed if nothing was measured', () => {
    const all = verdicts({ durability: '', durable: false, W1: { error: 'it did not start' } });
    expect(all.every((line) => line.startsWith('none'))).toBe(true);
  });

  test('ignore windows in which other processes were busy', () => {
    const busy = windows(1, { foreignPercent: 50 });
    const W1 = { levels: { 1: [...busy, ...windows(60)], 16: windows(100), 64: windows(150) } };
    expect(failed({ ...atBounds(), W1 })).toEqual([]);
    const onlyBusy = { levels: { 1: busy, 16: windows(100), 64: windows(150) } };
    const results = resultsWith({ ...atBounds(), W1: onlyBusy });
    expect(renderReport(results, checkFigures(results))).toContain('| troupe | 1* | 100 | 150 |');
  });
});
