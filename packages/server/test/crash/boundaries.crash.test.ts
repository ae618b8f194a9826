import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { BOUNDARIES, type Boundary } from '../../src/kernel/probe.ts';
import { agent, everyKind } from './agents.ts';
import { CrashFixture, settleAll } from './fixture.ts';
import type { Strike } from './orders.ts';
import { prepare, SCENARIOS, type Scenario, type When } from './scenarios.ts';
import { endAll } from './worker-processes.ts';

// A worker process is killed right before and right after every place where the state on disk changes.

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

interface Case {
  boundary: Boundary;
  when: When;
  scenario: Scenario;
  title: string;
}

const cases: Case[] = BOUNDARIES.flatMap((boundary) =>
  (['before', 'after'] as const).flatMap((when) =>
    SCENARIOS[boundary].map((scenario) => ({ boundary, when, scenario, title: scenario.title })),
  ),
);

/**
 * What one run writes by itself, and is still with its worker or nobody's: one process dies for all of these, when each run has come to a place
 * of its own. (After a retry the run is in the queue again, and whoever lives on takes it.)
 */
const OF_ONE_RUN: Boundary[] = ['answer', 'result', 'recover', 'fallback', 'finish'];
const together = cases.filter(({ boundary }) => OF_ONE_RUN.includes(boundary));
/** With TROUPE_TEST_LONG each of the others has a process of its own, too. */
const apart = process.env.TROUPE_TEST_LONG ? cases : cases.filter((one) => !together.includes(one));

describe.concurrent('a worker killed', () => {
  it.each(apart)('$when $boundary: $title', async ({ boundary, when, scenario }) => {
    await using fixture = await CrashFixture.open(postgresUrl);
    const { run, ends } = await survive(fixture, boundary, when, scenario);
    expect(ends[run]).toBe(scenario.ends ?? 'completed');
    expect(new Set(Object.values(ends))).toEqual(new Set([scenario.ends ?? 'completed']));
    expect(await doubtful(fixture, run)).toBe(scenario.inDoubt?.[when] ?? 0);
    await fixture.check();
  });
});

/** Those for whom another worker died before have that die for all of them, too. */
const groups = [
  { how: 'one after the other', group: together.filter(({ scenario }) => scenario.earlier) },
  { how: 'once', group: together.filter(({ scenario }) => !scenario.earlier) },
];

describe.each(groups)('a worker killed with many runs, $how, of which this one stands', ({ group }) => {
  let fixture: CrashFixture;
  let ends: Record<string, string>;
  const runs = new Map<Case, string>();

  beforeAll(async () => {
    fixture = await CrashFixture.open(postgresUrl);
    for (const one of group) {
      const { agent: its = agent, text = everyKind, door } = one.scenario;
      runs.set(one, await fixture.startAgent(its, text, door));
    }
    const earlier = group.flatMap(({ scenario }) => scenario.earlier ?? []);
    if (earlier.length > 0) await dieAt(earlier);
    for (const { next } of earlier) await next?.(fixture);
    await dieAt(group.map(({ boundary, when, scenario }) => ({ ...scenario, boundary, when })));
    await fixture.worker();
    ends = await fixture.finish();
  });
  afterAll(() => fixture?.[Symbol.asyncDispose]());

  async function dieAt(places: Pick<Strike, 'boundary' | 'when' | 'occurrence'>[]): Promise<void> {
    const stops: Record<string, Strike> = {};
    // Nobody answers a run that stands: it would be taken up again.
    const answered: string[] = [];
    for (const [index, { boundary, when, occurrence = 1 }] of places.entries()) {
      const run = runs.get(group[index]!)!;
      stops[run] = { boundary, when, occurrence };
      if (boundary === 'answer' && occurrence === 4) answered.push(run);
    }
    const victim = await fixture.worker({ stops });
    await until('the victim is dead', async () => {
      await fixture.attend(() => settleAll(fixture, answered));
      return !victim.alive;
    });
    expect(await victim.died).toEqual({ code: null, signal: 'SIGKILL' });
    expect(new Set(victim.struck!.runs)).toEqual(new Set(Object.keys(stops)));
  }

  it.each(group)('$when $boundary: $title', async (one) => {
    const run = runs.get(one)!;
    expect(ends[run]).toBe(one.scenario.ends ?? 'completed');
    expect(await doubtful(fixture, run)).toBe(one.scenario.inDoubt?.[one.when] ?? 0);
  });

  it('and nothing is done twice or left undone', () => fixture.check());
});

/** How many calls of the run are in doubt. */
function doubtful(fixture: CrashFixture, run: string): Promise<number> {
  return fixture.count(`troupe.tool_calls where run_id = $1 and status = 'in_doubt'`, [run]);
}

async function survive(fixture: CrashFixture, boundary: Boundary, when: When, scenario: Scenario) {
  const { occurrence = 1, job = {}, outside = settleAll } = scenario;
  const victim = fixture.enlist();
  const survivor = fixture.enlist();
  const run = await prepare(fixture, scenario);

  await fixture.worker({ ...job, strike: { boundary, when, occurrence, run } }, victim);
  const act = async () => {
    await fixture.attend(outside);
    return !victim.alive;
  };
  const meanwhile = scenario.provoke?.(fixture, victim, run) ?? until('the victim is dead', act);
  const [death] = await Promise.all([victim.died, meanwhile]);
  expect(death).toEqual({ code: null, signal: 'SIGKILL' });
  expect(victim.struck).toMatchObject({ boundary, when });

  await scenario.afterwards?.(fixture, run, when);
  await fixture.worker({}, survivor);
  return { run, ends: await fixture.finish(outside) };
}
