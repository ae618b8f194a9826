import { expect, test } from 'vitest';
import { DOORS } from './clients/history.ts';
import { explain } from './explain.ts';
import { FAULTS } from './nemesis/schedule.ts';
import { run } from './run.ts';

const faults = FAULTS.filter((kind) => kind !== 'pooler.restart');

test('a fleet keeps every promise while every kind of fault happens', { timeout: 900_000 }, async () => {
  const lines: string[] = [];
  const everyMs = 500;
  const options = {
    // As long as one round of all faults takes with this seed, and a few of the next.
    minutes: (1.2 * faults.length * everyMs) / 60_000,
    seed: 20,
    pooled: false,
    concurrency: 10,
    serve: 2,
    work: 2,
    everyMs,
    durationScale: 0.3,
    doors: [...DOORS],
    faults,
    report: null,
    keep: false,
  };
  const log = (line: string) => void lines.push(line);
  const { violations, happened, evidence } = await run(options, log, (outcome) => explain(outcome, log));
  expect(violations, lines.join('\n')).toEqual([]);
  expect(new Set(happened.map(({ kind }) => kind))).toEqual(new Set(faults));
  expect(happened.filter(({ error }) => error !== null)).toEqual([]);
  // Load on every door, so that the promises were at stake.
  expect(new Set(evidence.requests.map(({ door }) => door))).toEqual(new Set(DOORS));
  expect(new Set([...evidence.runs.values()].map(({ door }) => door)).size).toBe(4);
});
