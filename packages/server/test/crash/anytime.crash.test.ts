import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, everyKind } from './agents.ts';
import { CrashFixture, settleAll } from './fixture.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

const KILLS = 6;

it('workers killed at any moment, boundaries or not, leave nothing undone and nothing done twice', async () => {
  await using fixture = await CrashFixture.open(postgresUrl);
  const spares = Array.from({ length: KILLS }, () => fixture.enlist());
  const workers = await Promise.all([fixture.worker({ capacity: 6 }), fixture.worker({ capacity: 6 })]);
  for (let kill = 0; kill < KILLS; kill++) {
    await fixture.startAgents(agent, everyKind, 8);
    // Not to wait for anything: a run of this kind takes about this long.
    await settleAll(fixture);
    await delay(Math.random() * 250);
    const [victim] = workers.splice(Math.floor(Math.random() * workers.length), 1);
    victim!.signal('SIGKILL');
    workers.push(await fixture.worker({ capacity: 6 }, spares[kill]!));
  }
  const ends = await fixture.finish();
  expect(Object.values(ends)).toHaveLength(KILLS * 8);
  const failed = await fixture.query<{ code: string }>(
    `select distinct error->>'code' as code from troupe.runs where status <> 'completed'`,
  );
  // Whoever was unlucky three times in the same step.
  expect(failed.filter(({ code }) => code !== 'no_progress')).toEqual([]);
  await fixture.check();
});
