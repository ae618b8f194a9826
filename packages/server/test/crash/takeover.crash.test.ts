import { contention, until } from '@troupe/testing';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, script } from './agents.ts';
import { CrashFixture } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

const VICTIMS = 10;
const RUNS_EACH = 4;
const AT_ONCE = 2;

it('the runs of killed workers are taken again within 1.5 s (p95)', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  await fixture.startAgents(agent, script([{ text: 'Done.' }]), VICTIMS * RUNS_EACH);
  const job = { capacity: RUNS_EACH, hold: ['model'] };
  const victims = await Promise.all(Array.from({ length: VICTIMS }, () => fixture.worker(job)));
  await until(
    'every run is with a model',
    async () => (await fixture.effects('true')) === VICTIMS * RUNS_EACH,
  );
  await Promise.all([fixture.worker(), fixture.worker()]);

  const times: number[] = [];
  const busy: number[] = [];
  while (victims.length > 0) {
    const dying = await Promise.all(
      victims.splice(0, AT_ONCE).map(async (victim) => ({ victim, runs: await fixture.heldBy(victim) })),
    );
    for (const { runs } of dying) expect(runs).toHaveLength(RUNS_EACH);
    const killedAt = Date.now();
    for (const { victim } of dying) victim.signal('SIGKILL');
    const runs = dying.flatMap((each) => each.runs);
    await until('all are taken', async () => (await fixture.takenAgain(runs, 0)).length === runs.length);
    times.push(...(await fixture.takenAgain(runs, killedAt)));
    busy.push(contention());
  }
  times.sort((a, b) => a - b);
  const [median, p95] = [times[Math.floor(times.length * 0.5)]!, times[Math.floor(times.length * 0.95)]!];
  console.info(`takeover after SIGKILL: p50 ${Math.round(median)} ms, p95 ${Math.round(p95)} ms`);
  expect(times).toHaveLength(VICTIMS * RUNS_EACH);
  expect(p95 / Math.max(...busy)).toBeLessThanOrEqual(1_500);
  await fixture.finish();
  await fixture.check();
});
