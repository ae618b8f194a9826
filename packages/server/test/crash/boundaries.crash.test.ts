import { BOUNDARIES, type Boundary } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { agent, everyKind } from './agents.ts';
import type { Strike } from './orders.ts';
import { prepare, SCENARIOS, type Scenario, type When } from './scenarios.ts';
import { Scene, settleAll } from './scene.ts';
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

/** What one run writes by itself. One process dies for all of these: each run has come to another place when it does. */
const OF_ONE_RUN: Boundary[] = ['answer', 'result', 'recover', 'retry', 'fallback', 'finish'];
const together = cases.filter(({ boundary }) => OF_ONE_RUN.includes(boundary));
/** With TROUPE_TEST_LONG each of the others has a process of its own, too. */
const apart = process.env.TROUPE_TEST_LONG ? cases : cases.filter((one) => !together.includes(one));

describe.concurrent('a worker killed', () => {
  it.each(apart)('$when $boundary: $title', async ({ boundary, when, scenario }) => {
    await using scene = await Scene.open(postgresUrl);
    const { run, ends } = await survive(scene, boundary, when, scenario);
    expect(ends[run]).toBe(scenario.ends ?? 'completed');
    expect(new Set(Object.values(ends))).toEqual(new Set([scenario.ends ?? 'completed']));
    expect(await doubtful(scene, run)).toBe(scenario.inDoubt?.[when] ?? 0);
    await scene.check();
  });
});

describe('a worker killed with many runs, of which this one stands', () => {
  let scene: Scene;
  let ends: Record<string, string>;
  const runs = new Map<Case, string>();

  beforeAll(async () => {
    scene = await Scene.open(postgresUrl);
    const workers = [scene.enlist(), scene.enlist(), scene.enlist()] as const;
    for (const one of together) {
      const { agent: its = agent, text = everyKind } = one.scenario;
      runs.set(one, await scene.start(its, text));
    }
    // The first dies for all; those for whom it was an earlier worker have another one die.
    const [later, sooner] = [together.filter(hasEarlier), together.filter((one) => !hasEarlier(one))];
    await dieOf(
      workers[0],
      [...sooner.map(placeOf), ...later.map((one) => one.scenario.earlier!)],
      [...sooner, ...later],
    );
    for (const { scenario } of later) await scenario.earlier!.next?.(scene);
    await dieOf(workers[1], later.map(placeOf), later);
    await scene.worker({}, workers[2]);
    ends = await scene.finish();
  });
  afterAll(() => scene?.[Symbol.asyncDispose]());

  async function dieOf(victim: ReturnType<Scene['enlist']>, places: Strike[], dying: Case[]): Promise<void> {
    const stops = Object.fromEntries(dying.map((one, n) => [runs.get(one)!, places[n]!]));
    // Nobody answers one that stands: it would be taken up again.
    const last = dying.flatMap((one, n) =>
      places[n]!.boundary === 'answer' && places[n]!.occurrence === 4 ? [runs.get(one)!] : [],
    );
    await scene.worker({ stops }, victim);
    await until('the victim is dead', async () => {
      await scene.attend(() => settleAll(scene, last));
      return !victim.alive;
    });
    expect(await victim.died).toEqual({ code: null, signal: 'SIGKILL' });
    expect(new Set(victim.struck!.runs)).toEqual(new Set(Object.keys(stops)));
  }

  it.each(together)('$when $boundary: $title', async (one) => {
    const run = runs.get(one)!;
    expect(ends[run]).toBe(one.scenario.ends ?? 'completed');
    expect(await doubtful(scene, run)).toBe(one.scenario.inDoubt?.[one.when] ?? 0);
  });

  it('and nothing is done twice or left undone', () => scene.check());
});

const hasEarlier = ({ scenario }: Case) => scenario.earlier !== undefined;
const placeOf = ({ boundary, when, scenario: { occurrence = 1 } }: Case): Strike => ({
  boundary,
  when,
  occurrence,
});

/** How many calls of the run are in doubt. */
function doubtful(scene: Scene, run: string): Promise<number> {
  return scene.count(`troupe.tool_calls where run_id = $1 and status = 'in_doubt'`, [run]);
}

async function survive(scene: Scene, boundary: Boundary, when: When, scenario: Scenario) {
  const { occurrence = 1, job = {}, outside = settleAll } = scenario;
  const victim = scene.enlist();
  const survivor = scene.enlist();
  const run = await prepare(scene, scenario);

  await scene.worker({ ...job, strike: { boundary, when, occurrence, run } }, victim);
  const act = async () => {
    await scene.attend(outside);
    return !victim.alive;
  };
  const meanwhile = scenario.provoke?.(scene, victim, run) ?? until('the victim is dead', act);
  const [death] = await Promise.all([victim.died, meanwhile]);
  expect(death).toEqual({ code: null, signal: 'SIGKILL' });
  expect(victim.struck).toMatchObject({ boundary, when });

  await scenario.afterwards?.(scene, run, when);
  await scene.worker({}, survivor);
  return { run, ends: await scene.finish(outside) };
}
