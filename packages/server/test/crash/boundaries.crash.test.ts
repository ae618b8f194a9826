import { BOUNDARIES, type Boundary } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { agent, everyKind } from './agents.ts';
import { SCENARIOS, type Scenario, type When } from './scenarios.ts';
import { Scene, settleAll } from './scene.ts';
import { endAll } from './worker-processes.ts';

// A worker process is killed right before and right after every place where the state on disk changes.

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

const cases = BOUNDARIES.flatMap((boundary) =>
  (['before', 'after'] as const).flatMap((when) =>
    SCENARIOS[boundary].map((scenario) => ({ boundary, when, scenario, title: scenario.title })),
  ),
);

describe.concurrent('a worker killed', () => {
  it.each(cases)('$when $boundary: $title', async ({ boundary, when, scenario }) => {
    await using scene = await Scene.open(postgresUrl);
    const { run, ends } = await survive(scene, boundary, when, scenario);
    expect(ends[run]).toBe(scenario.ends ?? 'completed');
    expect(new Set(Object.values(ends))).toEqual(new Set([scenario.ends ?? 'completed']));
    const doubtful = await scene.count(`troupe.tool_calls where run_id = $1 and status = 'in_doubt'`, [run]);
    expect(doubtful).toBe(scenario.inDoubt?.[when] ?? 0);
    await scene.check();
  });
});

async function survive(scene: Scene, boundary: Boundary, when: When, scenario: Scenario) {
  const { occurrence = 1, job = {}, outside = settleAll } = scenario;
  const victim = scene.enlist();
  const survivor = scene.enlist();
  const run = await (scenario.prepare?.(scene) ??
    scene.startMany(scenario.agent ?? agent, scenario.text ?? everyKind, 2).then(([first]) => first!));

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
