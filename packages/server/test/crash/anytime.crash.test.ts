import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, inject, it } from 'vitest';
import { agent, everyKind } from './agents.ts';
import { Scene, settleAll } from './scene.ts';
import { endAll } from './worker-processes.ts';

const postgresUrl = inject('postgresUrl');
afterAll(endAll);

const KILLS = 6;

it('workers killed at any moment, boundaries or not, leave nothing undone and nothing done twice', async () => {
  await using scene = await Scene.open(postgresUrl);
  const spares = Array.from({ length: KILLS }, () => scene.enlist());
  const workers = await Promise.all([scene.worker({ capacity: 6 }), scene.worker({ capacity: 6 })]);
  for (let kill = 0; kill < KILLS; kill++) {
    await scene.startMany(agent, everyKind, 8);
    // Not to wait for anything: a run of this kind takes about this long.
    await settleAll(scene);
    await delay(Math.random() * 250);
    const [victim] = workers.splice(Math.floor(Math.random() * workers.length), 1);
    victim!.signal('SIGKILL');
    workers.push(await scene.worker({ capacity: 6 }, spares[kill]!));
  }
  const ends = await scene.finish();
  expect(Object.values(ends)).toHaveLength(KILLS * 8);
  const failed = await scene.query<{ code: string }>(
    `select distinct error->>'code' as code from troupe.runs where status <> 'completed'`,
  );
  // Whoever was unlucky three times in the same step.
  expect(failed.filter(({ code }) => code !== 'no_progress')).toEqual([]);
  await scene.check();
});
